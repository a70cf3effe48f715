import { DurableObject } from "cloudflare:workers";
import type { ReplayStore } from "../../src/signing/replay.ts";
import { createShardedReplayStore } from "../../src/signing/shard.ts";

/** How long expired keys may stay before the alarm takes them away, in milliseconds. */
const SWEEP_MS = 60_000;

/**
 * One part of the keys of a {@link createReplayStore}: a Durable Object with SQLite storage. A Worker that uses the store
 * exports this class and lists it in `new_sqlite_classes` of a migration.
 */
export class ReplayShard extends DurableObject {
  /** Milliseconds since the epoch; tests put another clock here. */
  now: () => number = Date.now;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS seen (key TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) WITHOUT ROWID;
       CREATE INDEX IF NOT EXISTS seen_expires_at ON seen (expires_at);`,
    );
  }

  /**
   * Inserts a key unless it is there and has not expired.
   * @returns undefined when `expiresAtMs` has passed by this object's clock
   */
  async insert(key: string, expiresAtMs: number): Promise<boolean | undefined> {
    const nowMs = this.now();
    if (!(expiresAtMs > nowMs)) return undefined;
    const { sql } = this.ctx.storage;
    sql.exec("DELETE FROM seen WHERE key = ? AND expires_at <= ?", key, nowMs);
    const { rowsWritten } = sql.exec("INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING", key, expiresAtMs);
    if (rowsWritten > 0 && (await this.ctx.storage.getAlarm()) === null) await this.#sweepLater(expiresAtMs);
    return rowsWritten > 0;
  }

  /** Takes expired keys away. It may run twice for one alarm, and sets the next one itself. */
  override async alarm(): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec("DELETE FROM seen WHERE expires_at <= ?", this.now());
    const { next } = sql.exec<{ next: number | null }>("SELECT MIN(expires_at) AS next FROM seen").one();
    if (next !== null) await this.#sweepLater(next);
  }

  async #sweepLater(expiresAtMs: number): Promise<void> {
    await this.ctx.storage.setAlarm(Math.max(expiresAtMs, this.now() + SWEEP_MS));
  }
}

/**
 * Makes a replay store that every isolate shares. Keys go to one of 16 objects by a hash of the whole key: the beginning
 * of an id is the time, which would send all keys of a moment to one of them.
 * @param namespace - The binding of {@link ReplayShard}.
 */
export function createReplayStore(namespace: DurableObjectNamespace<ReplayShard>): ReplayStore {
  return createShardedReplayStore((shard) => namespace.getByName(`replay-${shard}`));
}
