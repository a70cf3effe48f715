import { DurableObject } from "cloudflare:workers";
import { type ApprovalIndex, expireApproval, readApproval, toApprovalIndex } from "../../src/approvals/index.ts";
import { isHookgateError } from "../../src/errors.ts";

/** An approval as it leaves the object. */
export interface ApprovalRow {
  readonly id: string;
  readonly body: string;
}

/** An approval that has changed, without what it is. */
export interface ChangedRow {
  readonly seq: number;
  readonly id: string;
  readonly version: number;
  readonly status: string;
}

/** What came of {@link ApprovalsObject.create}. */
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

/**
 * All approvals of a gateway: a Durable Object with SQLite storage, which settles by alarm those whose time is over. A
 * Worker that keeps approvals exports this class and lists it in `new_sqlite_classes` of a migration.
 */
export class ApprovalsObject extends DurableObject {
  /** Milliseconds since the epoch; tests put another clock here. */
  now: () => number = Date.now;
  readonly #held = new Set<() => void>();
  #letGo: ReturnType<typeof setTimeout> | null = null;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.storage.sql.exec(SCHEMA);
  }

  /** @param keepMs - How long settled approvals are kept. */
  async create(entry: ApprovalIndex, keepMs: number): Promise<RowCreation> {
    const creation = this.ctx.storage.transactionSync((): RowCreation => {
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

  get(id: string): string | undefined {
    return this.#bodyOf("id = ?", id);
  }

  findOpen(call: string): string | undefined {
    return this.#bodyOf("call = ? AND is_open = 1", call);
  }

  async replace(entry: ApprovalIndex): Promise<boolean> {
    const isDone = this.ctx.storage.transactionSync(() => this.#replace(entry));
    if (isDone) await this.#changed();
    return isDone;
  }

  list(status: string | undefined, maxRows: number, cursor: string | undefined): readonly ApprovalRow[] {
    const wanted = [["status = ?", status] as const, ["id < ?", cursor] as const].flatMap(([condition, value]) =>
      value === undefined ? [] : [{ condition, value }],
    );
    const where = wanted.length === 0 ? "" : `WHERE ${wanted.map(({ condition }) => condition).join(" AND ")}`;
    const sql = `SELECT id, body FROM approvals ${where} ORDER BY id DESC LIMIT ?`;
    return this.#rows(sql, ...wanted.map(({ value }) => value), maxRows);
  }

  due(nowMs: number, maxRows: number): readonly ApprovalRow[] {
    const sql = "SELECT id, body FROM approvals WHERE is_open = 1 AND expires_ms <= ? ORDER BY expires_ms LIMIT ?";
    return this.#rows(sql, nowMs, maxRows);
  }

  prune(beforeMs: number): number {
    const old = "SELECT id FROM approvals WHERE is_open = 0 AND changed_ms < ? ORDER BY changed_ms LIMIT ?";
    return [...this.#exec(`DELETE FROM approvals WHERE id IN (${old}) RETURNING id`, beforeMs, MAX_PRUNED)].length;
  }

  /** @returns undefined when `expiresAtMs` has passed by this object's clock */
  async insert(key: string, expiresAtMs: number): Promise<boolean | undefined> {
    const nowMs = this.now();
    if (!(expiresAtMs > nowMs)) return undefined;
    this.#exec("DELETE FROM used WHERE key = ? AND expires_ms <= ?", key, nowMs);
    const sql = "INSERT INTO used VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING key";
    const isNew = [...this.#exec(sql, key, expiresAtMs)].length > 0;
    if (isNew) await this.#arm();
    return isNew;
  }

  /** The number of the last change. */
  lastSeq(): number {
    return this.#numberOf("SELECT value FROM numbers WHERE name = 'seq'") ?? 0;
  }

  /** Holds the call until the approval has another version, for 20 s at most. It may be let go of early. */
  async changed(id: string, version: number): Promise<void> {
    if (this.#numberOf("SELECT version FROM approvals WHERE id = ?", id) === version) await this.#hold();
  }

  /** What has changed since a change; where nothing has, the call is held until something does, for 20 s at most. */
  async changesSince(seq: number): Promise<readonly ChangedRow[]> {
    const sql = "SELECT seq, id, version, status FROM approvals WHERE seq > ? ORDER BY seq LIMIT ?";
    if (this.lastSeq() <= seq) await this.#hold();
    return [...this.#exec<ChangedRow & Record<string, SqlStorageValue>>(sql, seq, MAX_CHANGES)];
  }

  /**
   * Settles approvals whose time is over, and takes old ones and expired keys away. It may run twice for one alarm, and sets
   * the next one itself.
   */
  override async alarm(): Promise<void> {
    const nowMs = this.now();
    const settled = this.due(nowMs, MAX_EXPIRED).filter((row) => this.#expire(row, nowMs));
    this.#exec("DELETE FROM used WHERE expires_ms <= ?", nowMs);
    const keepMs = this.#keepMs();
    if (keepMs !== undefined) this.prune(nowMs - keepMs);
    if (settled.length > 0) await this.#changed();
    else await this.#arm();
  }

  #expire({ id, body }: ApprovalRow, nowMs: number): boolean {
    try {
      return this.#replace(toApprovalIndex(expireApproval(readApproval(body), nowMs)));
    } catch (error) {
      if (!isHookgateError(error)) throw error;
      // Nobody can approve what cannot be read; were it due for ever, so would be the alarm.
      console.error({ message: "an approval cannot be read", approval: id });
      this.#exec("UPDATE approvals SET is_open = 0, changed_ms = ? WHERE id = ?", nowMs, id);
      return false;
    }
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

  /** Sets the one alarm there is to what is due first. */
  async #arm(): Promise<void> {
    const keepMs = this.#keepMs();
    const expires = this.#numberOf("SELECT MIN(expires_ms) FROM approvals WHERE is_open = 1");
    const used = this.#numberOf("SELECT MIN(expires_ms) FROM used");
    const settled = this.#numberOf("SELECT MIN(changed_ms) FROM approvals WHERE is_open = 0");
    const nowMs = this.now();
    const old = settled === undefined || keepMs === undefined ? undefined : settled + keepMs + 1;
    const swept = [used, old].filter((time) => time !== undefined).map((time) => Math.max(time, nowMs + SWEEP_MS));
    const times = [...(expires === undefined ? [] : [expires]), ...swept];
    if (times.length === 0) return;
    const next = Math.min(...times);
    const alarmMs = await this.ctx.storage.getAlarm();
    if (alarmMs === null || alarmMs > next) await this.ctx.storage.setAlarm(next);
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
    this.#letGo = null;
    for (const resolve of this.#held) resolve();
    this.#held.clear();
  }

  #nextSeq(): number {
    return this.#numberOf("UPDATE numbers SET value = value + 1 WHERE name = 'seq' RETURNING value") ?? 0;
  }

  #bodyOf(where: string, value: string): string | undefined {
    const [row] = this.#exec<{ body: string }>(`SELECT body FROM approvals WHERE ${where}`, value);
    return row?.body;
  }

  #numberOf(sql: string, ...values: SqlStorageValue[]): number | undefined {
    const [row] = this.#exec(sql, ...values);
    const value = row && Object.values(row)[0];
    return typeof value === "number" ? value : undefined;
  }

  #rows(sql: string, ...values: SqlStorageValue[]): readonly ApprovalRow[] {
    return [...this.#exec<{ id: string; body: string }>(sql, ...values)];
  }

  #exec<T extends Record<string, SqlStorageValue>>(sql: string, ...values: SqlStorageValue[]): SqlStorageCursor<T> {
    return this.ctx.storage.sql.exec<T>(sql, ...values);
  }
}
