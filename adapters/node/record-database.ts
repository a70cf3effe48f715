import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { ChainBounds, ChainState, ListOptions, RecordPage } from "../../src/records/index.ts";
import { NO_HASH, type Sealed } from "../../src/records/index.ts";

/** How long records are kept. */
export interface Retention {
  /** Older ones are deleted, in milliseconds. @default no bound */
  readonly maxAgeMs?: number | undefined;
  /** The oldest beyond so many are deleted. @default no bound */
  readonly maxRecords?: number | undefined;
}

const SCHEMA = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA busy_timeout = 5000;
CREATE TABLE IF NOT EXISTS records (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL, at_ms INTEGER NOT NULL, session TEXT, tool TEXT, outcome TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS records_id ON records (id);
CREATE INDEX IF NOT EXISTS records_at ON records (at_ms);
CREATE INDEX IF NOT EXISTS records_session ON records (session) WHERE session IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_tool ON records (tool, seq, outcome) WHERE tool IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_outcome ON records (outcome);
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, chain TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
`;

/** Rows that one round of retention deletes at most, so that it never holds up writing for long. */
const MAX_DELETED_ROWS = 2000;

type Value = string | number | null;

/** Decision records in a SQLite database. */
export class RecordDatabase {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync | undefined;
  readonly #setState: StatementSync | undefined;
  readonly #statements = new Map<string, StatementSync>();

  /** @throws what SQLite and the file system throw when the file cannot be opened */
  constructor(path: string, { isReadOnly = false }: { readonly isReadOnly?: boolean } = {}) {
    // Only its owner may read what it holds; SQLite would make it by the umask.
    if (!isReadOnly && path !== ":memory:") closeSync(openSync(path, "a", 0o600));
    this.#database = new DatabaseSync(path, { readOnly: isReadOnly });
    if (isReadOnly) return;
    this.#database.exec(SCHEMA);
    this.#insert = this.#database.prepare(
      "INSERT INTO records (seq, id, at_ms, session, tool, outcome, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#setState = this.#database.prepare(
      "INSERT INTO state VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET chain = excluded.chain, seq = excluded.seq, hash = excluded.hash",
    );
  }

  /** The last record that was written, or the state kept under another name. */
  state(key: "head" | "base"): ChainState | undefined {
    const row = this.#prepare("SELECT chain, seq, hash FROM state WHERE key = ?").get(key);
    return row && { chain: String(row["chain"]), seq: Number(row["seq"]), hash: String(row["hash"]) };
  }

  /** Keeps a batch, all of it or nothing. */
  write(batch: readonly Sealed[], retention: Retention = {}): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      for (const { record, text } of batch) {
        const { seq, id, time, session = null, tool = null, action } = record;
        this.#insert?.run(seq, id, Date.parse(time), session, tool, action, text);
      }
      const last = batch.at(-1);
      if (last !== undefined) this.#setState?.run("head", last.record.chain, last.record.seq, last.hash);
      this.#retain(retention);
      this.#database.exec("COMMIT");
    } catch (error) {
      // On a full disk SQLite has ended it already; to end it twice would hide why.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  list(options: ListOptions): RecordPage {
    const { maxRecords } = options;
    const { sql, values } = toListQuery(options);
    const rows = this.#prepare(sql).all(...values);
    const page = rows.slice(0, maxRecords);
    const records = page.map((row) => String(row["body"]));
    return rows.length > maxRecords ? { records, next: String(page.at(-1)?.["seq"]) } : { records };
  }

  get(id: string): string | undefined {
    const row = this.#prepare("SELECT body FROM records WHERE id = ? ORDER BY seq DESC LIMIT 1").get(id);
    return row && String(row["body"]);
  }

  /** Every record, oldest first. One whose columns do not say what it says is given back as no record. */
  *all(): Generator<string> {
    const sql = "SELECT seq, id, at_ms, session, tool, outcome, body FROM records ORDER BY seq";
    for (const row of this.#database.prepare(sql).iterate()) {
      const body = String(row["body"]);
      yield isSame(row, body) ? body : "";
    }
  }

  /** What the chain must fit. */
  bounds(): ChainBounds {
    return { base: this.state("base"), head: this.state("head") };
  }

  close(): void {
    this.#database.close();
  }

  #retain({ maxAgeMs, maxRecords }: Retention): void {
    const newest = Number(this.#prepare("SELECT max(seq) AS seq FROM records").get()?.["seq"] ?? 0);
    let before = maxRecords === undefined ? 0 : newest - maxRecords;
    if (maxAgeMs !== undefined) {
      const row = this.#prepare("SELECT max(seq) AS seq FROM records WHERE at_ms < ?").get(Date.now() - maxAgeMs);
      before = Math.max(before, Number(row?.["seq"] ?? 0));
    }
    const oldest = Number(this.#prepare("SELECT min(seq) AS seq FROM records").get()?.["seq"] ?? 0);
    const last = Math.min(before, oldest + MAX_DELETED_ROWS - 1, newest - 1);
    if (oldest === 0 || last < oldest) return;
    const row = this.#prepare("SELECT body FROM records WHERE seq = ?").get(last);
    const { chain, hash } = readSeal(String(row?.["body"]));
    this.#prepare("DELETE FROM records WHERE seq <= ?").run(last);
    this.#setState?.run("base", chain, last, hash);
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** A query, and what is bound to it. */
export interface ListQuery {
  readonly sql: string;
  readonly values: readonly Value[];
}

/**
 * Records of a time are those from some number on, as long as clocks go forward; of so many the lowest number is looked
 * for, in case one was set back.
 */
const SINCE = `seq >= (SELECT min(seq) FROM (SELECT seq FROM records WHERE at_ms >= ? ORDER BY at_ms LIMIT 10000))`;

/**
 * The query of a page. It walks one index from its newest entry, that of what most narrows the records down; a `+` keeps
 * SQLite from taking another. The outcomes of a tool are in its index, for few of many may be wanted.
 */
export function toListQuery({ session, tool, outcome, sinceMs, cursor, maxRecords }: ListOptions): ListQuery {
  const narrowest = session !== undefined ? "session" : tool !== undefined ? "tool" : "outcome";
  const wanted: readonly (readonly [condition: string, ...values: (Value | undefined)[]])[] = [
    ["session = ?", session],
    [narrowest === "tool" ? "tool = ?" : "+tool = ?", tool],
    [narrowest === "outcome" ? "outcome = ?" : "+outcome = ?", outcome],
    [`+at_ms >= ? AND ${SINCE}`, sinceMs, sinceMs],
    ["seq < ?", cursor === undefined ? undefined : Number(cursor)],
  ];
  const given = wanted.filter(([, value]) => value !== undefined);
  const where = given.length === 0 ? "" : `WHERE ${given.map(([condition]) => condition).join(" AND ")}`;
  const values = given.flatMap(([, ...bound]) => bound.filter((value) => value !== undefined));
  return {
    sql: `SELECT seq, body FROM records ${where} ORDER BY seq DESC LIMIT ?`,
    values: [...values, maxRecords + 1],
  };
}

function readSeal(body: string): { readonly chain: string; readonly hash: string } {
  const { chain, hash } = parse(body);
  return { chain: typeof chain === "string" ? chain : "", hash: typeof hash === "string" ? hash : NO_HASH };
}

function isSame(row: Readonly<Record<string, unknown>>, body: string): boolean {
  const record = parse(body);
  return (
    row["seq"] === record["seq"] &&
    row["id"] === record["id"] &&
    row["at_ms"] === Date.parse(String(record["time"])) &&
    row["session"] === (record["session"] ?? null) &&
    row["tool"] === (record["tool"] ?? null) &&
    row["outcome"] === record["action"]
  );
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
