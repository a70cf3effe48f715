import type { Log } from "../log.ts";
import type { Approval } from "./approval.ts";
import {
  type DeliveryResult,
  EVERYONE,
  MAX_TAKEN,
  Outbox,
  type OutboxExchange,
  type OutboxNotice,
  type OutboxPeer,
  type SqlExec,
  type SqlValue,
} from "./outbox.ts";
import { expireApproval } from "./state.ts";
import { type ApprovalIndex, type ApprovalRow, readApprovals, toApprovalIndex } from "./store.ts";

/** An approval that has changed, without what it is. */
export interface ChangedRow {
  readonly seq: number;
  readonly id: string;
  readonly version: number;
  readonly status: string;
}

/** What came of {@link ApprovalPeer.create}. */
export interface RowCreation {
  readonly outcome: "created" | "id_taken" | "open";
  /** The one that is open for the same call. */
  readonly open?: string;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS approvals (
  id TEXT PRIMARY KEY, version INTEGER NOT NULL, status TEXT NOT NULL, call TEXT NOT NULL, is_open INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL, changed_ms INTEGER NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS approvals_call ON approvals (call) WHERE is_open = 1;
CREATE INDEX IF NOT EXISTS approvals_last ON approvals (call, seq);
CREATE INDEX IF NOT EXISTS approvals_due ON approvals (expires_ms) WHERE is_open = 1;
CREATE INDEX IF NOT EXISTS approvals_settled ON approvals (changed_ms) WHERE is_open = 0;
CREATE INDEX IF NOT EXISTS approvals_status ON approvals (status, id);
CREATE INDEX IF NOT EXISTS approvals_seq ON approvals (seq);
CREATE TABLE IF NOT EXISTS used (key TEXT PRIMARY KEY, expires_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS used_expires ON used (expires_ms);
CREATE TABLE IF NOT EXISTS numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO numbers VALUES ('seq', 0);
`;

const MAX_CHANGES = 500;
const MAX_EXPIRED = 200;
const MAX_PRUNED = 1000;
/** How long what has expired, but for approvals, may stay before an alarm takes it away, in milliseconds. */
const SWEEP_MS = 60_000;
/** How long a call is held for a change, at most, in milliseconds. One timer lets go of all that are held. */
const HOLD_MS = 20_000;

/** How many gateways are asked at once to take what is due, and how often in a row: a request may lead to 32 others. */
const MAX_ASKED = 4;
const MAX_ROUNDS = 2;

/** A database of SQLite that is the actor's own, and its alarm; that of a Durable Object is one. */
export interface ActorStorage {
  readonly sql: { readonly exec: SqlExec };
  /** Runs statements of which all take effect or none. */
  transactionSync<T>(work: () => T): T;
  /** The one alarm there is, in milliseconds since the epoch. */
  getAlarm(): Promise<number | null>;
  setAlarm(timeMs: number): Promise<void>;
}

/** What an {@link ApprovalActor} runs on. */
export interface ApprovalActorOptions {
  readonly storage: ActorStorage;
  /** Has a gateway take what is due. @throws when there is none that could */
  readonly askGateway: () => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
}

/** What a store of approvals asks of the one place where they are. Everything that goes in and out is plain data. */
export interface ApprovalPeer {
  /** @param keepMs - How long settled approvals are kept. */
  create(entry: ApprovalIndex, keepMs: number): Promise<RowCreation>;
  get(id: string): Promise<string | undefined>;
  findOpen(call: string): Promise<string | undefined>;
  /** The one of a call that was asked for last. */
  findLast(call: string): Promise<string | undefined>;
  replace(entry: ApprovalIndex): Promise<boolean>;
  list(query: RowQuery): Promise<readonly ApprovalRow[]>;
  due(nowMs: number, maxRows: number): Promise<readonly ApprovalRow[]>;
  prune(beforeMs: number): Promise<number>;
  /** @returns undefined when `expiresAtMs` has passed by the peer's clock */
  insert(key: string, expiresAtMs: number): Promise<boolean | undefined>;
  /** The number of the last change. */
  lastSeq(): Promise<number>;
  /** Holds the call until the approval has another version, for 20 s at most. It may be let go of early. */
  changed(id: string, version: number): Promise<void>;
  /** What has changed since a change; where nothing has, the call is held until something does, for 20 s at most. */
  changesSince(seq: number): Promise<readonly ChangedRow[]>;
}

/** Which rows are listed, the newest first. */
export interface RowQuery {
  readonly status?: string | undefined;
  readonly cursor?: string | undefined;
  readonly maxRows: number;
}

/**
 * All approvals of a gateway in one place that handles one event at a time, such as a Durable Object: it settles by alarm
 * those whose time is over.
 */
export class ApprovalActor implements ApprovalPeer, OutboxPeer {
  readonly #options: ApprovalActorOptions;
  readonly #outbox: Outbox;
  readonly #held = new Set<() => void>();
  #letGo: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ApprovalActorOptions) {
    this.#options = options;
    const { now, log } = options;
    this.#exec(SCHEMA);
    this.#outbox = new Outbox({ exec: (sql, ...values) => this.#exec(sql, ...values), now, log });
  }

  async create(entry: ApprovalIndex, keepMs: number): Promise<RowCreation> {
    const creation = this.#transact((): RowCreation => {
      const open = entry.isOpen ? this.#bodyOf("call = ? AND is_open = 1", entry.call) : undefined;
      if (open !== undefined) return { outcome: "open", open };
      if (this.#bodyOf("id = ?", entry.id) !== undefined) return { outcome: "id_taken" };
      const { id, version, status, call, isOpen, expiresAtMs, changedAtMs, body } = entry;
      const row = [id, version, status, call, isOpen ? 1 : 0, expiresAtMs, changedAtMs, this.#nextSeq(), body];
      this.#exec("INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ...row);
      this.#exec("INSERT OR REPLACE INTO numbers VALUES ('keep', ?)", keepMs);
      return { outcome: "created" };
    });
    if (creation.outcome === "created") await this.#changed();
    return creation;
  }

  async get(id: string): Promise<string | undefined> {
    return this.#bodyOf("id = ?", id);
  }

  async findOpen(call: string): Promise<string | undefined> {
    return this.#bodyOf("call = ? AND is_open = 1", call);
  }

  async findLast(call: string): Promise<string | undefined> {
    // What is settled does not change again, so the last that changed is the last that was asked for.
    return this.#bodyOf("call = ? ORDER BY seq DESC LIMIT 1", call);
  }

  async replace(entry: ApprovalIndex): Promise<boolean> {
    const isDone = this.#transact(() => this.#replace(entry));
    if (isDone) await this.#changed();
    return isDone;
  }

  async list({ status, cursor, maxRows }: RowQuery): Promise<readonly ApprovalRow[]> {
    const wanted = [["status = ?", status] as const, ["id < ?", cursor] as const].flatMap(([condition, value]) =>
      value === undefined ? [] : [{ condition, value }],
    );
    const where = wanted.length === 0 ? "" : `WHERE ${wanted.map(({ condition }) => condition).join(" AND ")}`;
    const sql = `SELECT id, body FROM approvals ${where} ORDER BY id DESC LIMIT ?`;
    return this.#rows(sql, ...wanted.map(({ value }) => value), maxRows);
  }

  async due(nowMs: number, maxRows: number): Promise<readonly ApprovalRow[]> {
    const sql = "SELECT id, body FROM approvals WHERE is_open = 1 AND expires_ms <= ? ORDER BY expires_ms LIMIT ?";
    const rows = this.#rows(sql, nowMs, maxRows);
    for (const id of readApprovals(rows).unreadable ?? []) {
      // Nobody can approve what cannot be read; were it due for ever, so would be the alarm.
      this.#options.log.error("an approval cannot be read: its time is over", { approval: id });
      this.#exec("UPDATE approvals SET is_open = 0, changed_ms = ? WHERE id = ?", nowMs, id);
    }
    return rows;
  }

  async prune(beforeMs: number): Promise<number> {
    const old = "SELECT id FROM approvals WHERE is_open = 0 AND changed_ms < ? ORDER BY changed_ms LIMIT ?";
    return [...this.#exec(`DELETE FROM approvals WHERE id IN (${old}) RETURNING id`, beforeMs, MAX_PRUNED)].length;
  }

  async insert(key: string, expiresAtMs: number): Promise<boolean | undefined> {
    const nowMs = this.#options.now();
    if (!(expiresAtMs > nowMs)) return undefined;
    this.#exec("DELETE FROM used WHERE key = ? AND expires_ms <= ?", key, nowMs);
    const sql = "INSERT INTO used VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING key";
    const isNew = [...this.#exec(sql, key, expiresAtMs)].length > 0;
    if (isNew) await this.#arm();
    return isNew;
  }

  async lastSeq(): Promise<number> {
    return this.#lastSeq();
  }

  #lastSeq(): number {
    return this.#numberOf("SELECT value FROM numbers WHERE name = 'seq'") ?? 0;
  }

  async changed(id: string, version: number): Promise<void> {
    if (this.#numberOf("SELECT version FROM approvals WHERE id = ?", id) === version) await this.#hold();
  }

  async changesSince(seq: number): Promise<readonly ChangedRow[]> {
    const sql = "SELECT seq, id, version, status FROM approvals WHERE seq > ? ORDER BY seq LIMIT ?";
    if (this.#lastSeq() <= seq) await this.#hold();
    return [...this.#exec(sql, seq, MAX_CHANGES)].map((row) => ({
      seq: Number(row["seq"]),
      id: String(row["id"]),
      version: Number(row["version"]),
      status: String(row["status"]),
    }));
  }

  /**
   * Settles approvals whose time is over, and takes old ones and expired keys away. It may run twice for one alarm, and sets
   * the next one itself.
   */
  async alarm(): Promise<void> {
    const nowMs = this.#options.now();
    const { approvals } = readApprovals(await this.due(nowMs, MAX_EXPIRED));
    const settled = approvals.filter((approval) => this.#expire(approval, nowMs));
    this.#exec("DELETE FROM used WHERE expires_ms <= ?", nowMs);
    const keepMs = this.#keepMs();
    if (keepMs !== undefined) await this.prune(nowMs - keepMs);
    this.#transact(() => this.#outbox.giveUp());
    if (settled.length > 0) await this.#changed();
    else await this.#arm();
    await this.#handOn();
  }

  async enqueue(notice: OutboxNotice, targets: readonly string[]): Promise<void> {
    this.#transact(() => {
      for (const target of targets) this.#outbox.put(notice, target);
    });
    await this.#arm();
    await this.#handOn();
  }

  async exchange(results: readonly DeliveryResult[], maxTaken: number): Promise<OutboxExchange> {
    const exchange = this.#transact(() => {
      for (const result of results) this.#outbox.settle(result);
      return { taken: this.#outbox.take(maxTaken), counts: this.#outbox.counts() };
    });
    await this.#arm({ isExact: true });
    return exchange;
  }

  /** Has gateways take what is due. What none has taken the next alarm hands on. */
  async #handOn(): Promise<void> {
    let due = this.#outbox.dueCount;
    for (let round = 0; due > 0 && round < MAX_ROUNDS; round += 1) {
      const askedAtMs = this.#options.now();
      const { takenCount } = this.#outbox;
      const asked = Array.from({ length: Math.min(MAX_ASKED, Math.ceil(due / MAX_TAKEN)) }, () =>
        this.#options.askGateway(),
      );
      const failed = (await Promise.allSettled(asked)).find((each) => each.status === "rejected");
      due = this.#outbox.dueCount;
      // What is due says nothing: more may have come meanwhile than was taken.
      if (failed !== undefined || (due > 0 && this.#outbox.takenCount === takenCount)) {
        const error = failed === undefined ? "it took nothing" : String(failed.reason).slice(0, 300);
        this.#options.log.error("no gateway tells people and observers of approvals; it is asked again", { error });
        this.#outbox.postpone(askedAtMs);
        return this.#arm({ isExact: true });
      }
    }
  }

  /** Settles one and keeps what is to be told of it in one step: it is told once, however often the alarm comes. */
  #expire(approval: Approval, nowMs: number): boolean {
    return this.#transact(() => {
      const entry = toApprovalIndex(expireApproval(approval, nowMs));
      if (!this.#replace(entry)) return false;
      // What was approved and not used was told of when it was approved.
      if (approval.status === "pending") {
        const { id, body } = entry;
        this.#outbox.put({ approval: id, news: "decided", body, untilMs: Number.MAX_SAFE_INTEGER }, EVERYONE);
      }
      return true;
    });
  }

  #replace({ id, version, status, call, isOpen, expiresAtMs, changedAtMs, body }: ApprovalIndex): boolean {
    const before = this.#numberOf("SELECT version FROM approvals WHERE id = ?", id);
    if (before !== version - 1) return false;
    const row = [version, status, call, isOpen ? 1 : 0, expiresAtMs, changedAtMs, this.#nextSeq(), body, id];
    this.#exec(
      "UPDATE approvals SET version = ?, status = ?, call = ?, is_open = ?, expires_ms = ?, changed_ms = ?, seq = ?, body = ? WHERE id = ?",
      ...row,
    );
    return true;
  }

  /** The alarm first: without it nothing would settle what is kept. */
  async #changed(): Promise<void> {
    await this.#arm();
    this.#release();
  }

  /** Sets the one alarm there is to what is due first; a later one is not, unless the first may be settled. */
  async #arm({ isExact = false } = {}): Promise<void> {
    const keepMs = this.#keepMs();
    const expires = this.#numberOf("SELECT MIN(expires_ms) FROM approvals WHERE is_open = 1");
    const used = this.#numberOf("SELECT MIN(expires_ms) FROM used");
    const settled = this.#numberOf("SELECT MIN(changed_ms) FROM approvals WHERE is_open = 0");
    const nowMs = this.#options.now();
    const old = settled === undefined || keepMs === undefined ? undefined : settled + keepMs + 1;
    const swept = [used, old].filter((time) => time !== undefined).map((time) => Math.max(time, nowMs + SWEEP_MS));
    const times = [expires, this.#outbox.nextMs, ...swept].filter((time) => time !== undefined);
    if (times.length === 0) return;
    const next = Math.min(...times);
    const alarmMs = await this.#options.storage.getAlarm();
    if (alarmMs === null || alarmMs > next || (isExact && alarmMs < next)) await this.#options.storage.setAlarm(next);
  }

  #keepMs(): number | undefined {
    return this.#numberOf("SELECT value FROM numbers WHERE name = 'keep'");
  }

  #hold(): Promise<void> {
    this.#letGo ??= setTimeout(() => this.#release(), HOLD_MS);
    return new Promise((resolve) => void this.#held.add(resolve));
  }

  #release(): void {
    clearTimeout(this.#letGo);
    this.#letGo = undefined;
    for (const resolve of this.#held) resolve();
    this.#held.clear();
  }

  #nextSeq(): number {
    return this.#numberOf("UPDATE numbers SET value = value + 1 WHERE name = 'seq' RETURNING value") ?? 0;
  }

  #bodyOf(where: string, value: string): string | undefined {
    const [row] = this.#exec(`SELECT body FROM approvals WHERE ${where}`, value);
    return row && String(row["body"]);
  }

  #numberOf(sql: string, ...values: SqlValue[]): number | undefined {
    const [row] = this.#exec(sql, ...values);
    const value = row && Object.values(row)[0];
    return typeof value === "number" ? value : undefined;
  }

  #rows(sql: string, ...values: SqlValue[]): readonly ApprovalRow[] {
    return [...this.#exec(sql, ...values)].map((row) => ({ id: String(row["id"]), body: String(row["body"]) }));
  }

  #exec(sql: string, ...values: SqlValue[]): Iterable<Readonly<Record<string, unknown>>> {
    return this.#options.storage.sql.exec(sql, ...values);
  }

  #transact<T>(work: () => T): T {
    return this.#options.storage.transactionSync(work);
  }
}
