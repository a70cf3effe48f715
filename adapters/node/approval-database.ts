import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  APPROVAL_STATUSES,
  type ApprovalChange,
  type ApprovalIndex,
  type ApprovalListOptions,
  type ApprovalPage,
  type ApprovalRow,
  type KeptApprovals,
  readApprovals,
  toApprovalPage,
} from "../../src/approvals/index.ts";
import { openPrivately, transact } from "./private-database.ts";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS approvals (
  id TEXT PRIMARY KEY, version INTEGER NOT NULL, status TEXT NOT NULL, call TEXT NOT NULL, is_open INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL, changed_ms INTEGER NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS approvals_call ON approvals (call) WHERE is_open = 1;
CREATE INDEX IF NOT EXISTS approvals_last ON approvals (call, seq);
CREATE INDEX IF NOT EXISTS approvals_due ON approvals (expires_ms) WHERE is_open = 1;
CREATE INDEX IF NOT EXISTS approvals_settled ON approvals (changed_ms) WHERE is_open = 0;
CREATE INDEX IF NOT EXISTS approvals_status ON approvals (status, id);
CREATE INDEX IF NOT EXISTS approvals_seq ON approvals (seq);
CREATE TABLE IF NOT EXISTS used (key TEXT PRIMARY KEY, expires_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS used_expires ON used (expires_ms);
CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL) STRICT;
INSERT OR IGNORE INTO counter VALUES (1, 0);
`;

const MAX_PRUNED = 1000;
/** How many expired keys an insert deletes: more than it adds, so that they do not pile up. */
const MAX_SWEPT_KEYS = 4;

/** What came of {@link ApprovalDatabase.create}. */
export type RowCreation = "created" | "id_taken" | { readonly open: string };

/**
 * Approvals in a SQLite database that several processes of one machine may have open. Each change is one transaction.
 */
export class ApprovalDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /**
   * @param isDurable - Whether a change is on the disk when it is done; otherwise the system writes it soon, which costs
   * a hundredth of it and outlives the process alone.
   * @throws what SQLite and the file system throw when the file cannot be opened
   */
  constructor(path: string, isDurable = true) {
    this.#database = openPrivately(path, isDurable);
    this.#database.exec(SCHEMA);
  }

  create(entry: ApprovalIndex): RowCreation {
    return transact(this.#database, () => {
      const open = entry.isOpen ? this.findOpen(entry.call) : undefined;
      if (open !== undefined) return { open };
      if (this.get(entry.id) !== undefined) return "id_taken";
      const { id, version, status, call, isOpen, expiresAtMs, changedAtMs, body } = entry;
      this.#prepare("INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
        id,
        version,
        status,
        call,
        isOpen ? 1 : 0,
        expiresAtMs,
        changedAtMs,
        this.#nextSeq(),
        body,
      );
      return "created";
    });
  }

  get(id: string): string | undefined {
    return bodyOf(this.#prepare("SELECT body FROM approvals WHERE id = ?").get(id));
  }

  versionOf(id: string): number | undefined {
    const row = this.#prepare("SELECT version FROM approvals WHERE id = ?").get(id);
    return row && Number(row["version"]);
  }

  replace({ id, version, status, call, isOpen, expiresAtMs, changedAtMs, body }: ApprovalIndex): boolean {
    return transact(this.#database, () => {
      const { changes } = this.#prepare(
        "UPDATE approvals SET version = ?, status = ?, call = ?, is_open = ?, expires_ms = ?, changed_ms = ?, seq = ?, body = ? WHERE id = ? AND version = ?",
      ).run(version, status, call, isOpen ? 1 : 0, expiresAtMs, changedAtMs, this.#nextSeq(), body, id, version - 1);
      return changes === 1;
    });
  }

  findOpen(call: string): string | undefined {
    return bodyOf(this.#prepare("SELECT body FROM approvals WHERE call = ? AND is_open = 1").get(call));
  }

  findLast(call: string): string | undefined {
    // What is settled does not change again, so the last that changed is the last that was asked for.
    const sql = "SELECT body FROM approvals WHERE call = ? ORDER BY seq DESC LIMIT 1";
    return bodyOf(this.#prepare(sql).get(call));
  }

  list({ status, maxApprovals, cursor }: ApprovalListOptions): ApprovalPage {
    const wanted = [["status = ?", status] as const, ["id < ?", cursor] as const].flatMap(([condition, value]) =>
      value === undefined ? [] : [{ condition, value }],
    );
    const where = wanted.length === 0 ? "" : `WHERE ${wanted.map(({ condition }) => condition).join(" AND ")}`;
    const sql = `SELECT id, body FROM approvals ${where} ORDER BY id DESC LIMIT ?`;
    const rows = this.#prepare(sql).all(...wanted.map(({ value }) => value), maxApprovals + 1);
    return toApprovalPage(rows.map(toRow), maxApprovals);
  }

  due(nowMs: number, maxApprovals: number): KeptApprovals {
    const sql = "SELECT id, body FROM approvals WHERE is_open = 1 AND expires_ms <= ? ORDER BY expires_ms LIMIT ?";
    const kept = readApprovals(this.#prepare(sql).all(nowMs, maxApprovals).map(toRow));
    for (const id of kept.unreadable ?? []) {
      // Another process may read it, and have settled it meanwhile.
      const end = "UPDATE approvals SET is_open = 0, changed_ms = ? WHERE id = ? AND is_open = 1 AND expires_ms <= ?";
      this.#prepare(end).run(nowMs, id, nowMs);
    }
    return kept;
  }

  prune(beforeMs: number): number {
    const old = "SELECT id FROM approvals WHERE is_open = 0 AND changed_ms < ? ORDER BY changed_ms LIMIT ?";
    return Number(this.#prepare(`DELETE FROM approvals WHERE id IN (${old})`).run(beforeMs, MAX_PRUNED).changes);
  }

  insertKey(key: string, { expiresAtMs, nowMs }: { readonly expiresAtMs: number; readonly nowMs: number }): boolean {
    return transact(this.#database, () => {
      const old = "SELECT key FROM used WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?";
      this.#prepare(`DELETE FROM used WHERE key IN (${old})`).run(nowMs, MAX_SWEPT_KEYS);
      const sql =
        "INSERT INTO used VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET expires_ms = excluded.expires_ms WHERE used.expires_ms <= ?";
      return this.#prepare(sql).run(key, expiresAtMs, nowMs).changes === 1;
    });
  }

  /** The number of the last change. */
  lastSeq(): number {
    return Number(this.#prepare("SELECT seq FROM counter").get()?.["seq"]);
  }

  /** What has changed since, in order, by whichever process; of an approval that changed twice only the last. */
  changesSince(seq: number, maxChanges: number): readonly (ApprovalChange & { readonly seq: number })[] {
    const sql = "SELECT seq, id, version, status FROM approvals WHERE seq > ? ORDER BY seq LIMIT ?";
    const rows = this.#prepare(sql).all(seq, maxChanges);
    return rows.flatMap((row) => {
      const status = APPROVAL_STATUSES.find((known) => known === row["status"]);
      if (status === undefined) return [];
      return [{ seq: Number(row["seq"]), id: String(row["id"]), version: Number(row["version"]), status }];
    });
  }

  close(): void {
    this.#database.close();
  }

  #nextSeq(): number {
    return Number(this.#prepare("UPDATE counter SET seq = seq + 1 RETURNING seq").get()?.["seq"]);
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

type Row = Readonly<Record<string, unknown>>;

function toRow(row: Row): ApprovalRow {
  return { id: String(row["id"]), body: String(row["body"]) };
}

function bodyOf(row: Row | undefined): string | undefined {
  return row && String(row["body"]);
}
