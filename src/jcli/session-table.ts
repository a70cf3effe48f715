import {
  MAX_SWEPT_SESSIONS,
  SESSION_KEEP_MS,
  SESSION_TOUCH_MS,
  type SessionReplacement,
  type SessionRow,
  type SessionRowChange,
} from "./session-store.ts";

/** A database of SQLite; that of a Durable Object is one. */
export interface SessionStorage {
  readonly sql: {
    /** Runs one statement to its end. */
    exec(sql: string, ...values: (string | number)[]): Iterable<Readonly<Record<string, unknown>>>;
  };
  /** Runs statements of which all take effect or none. */
  transactionSync<T>(work: () => T): T;
}

/** What a {@link SessionTable} runs on. */
export interface SessionTableOptions {
  readonly storage: SessionStorage;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const SCHEMA: readonly string[] = [
  "CREATE TABLE IF NOT EXISTS session_hooks (session TEXT PRIMARY KEY, version INTEGER NOT NULL, used_ms INTEGER NOT NULL, body TEXT NOT NULL)",
  "CREATE INDEX IF NOT EXISTS session_hooks_used ON session_hooks (used_ms)",
  "CREATE TABLE IF NOT EXISTS session_hooks_version (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL)",
  "INSERT OR IGNORE INTO session_hooks_version VALUES (1, 0)",
];

/** The hooks of sessions in a database of SQLite. Each change is one transaction. */
export class SessionTable {
  readonly #options: SessionTableOptions;

  /** @throws what the database throws when it cannot be used */
  constructor(options: SessionTableOptions) {
    this.#options = options;
    for (const sql of SCHEMA) this.#exec(sql);
  }

  /** As `SessionHookStore.get`. */
  get(session: string): SessionRow | undefined {
    const nowMs = this.#options.now();
    const sql = "SELECT version, used_ms, body FROM session_hooks WHERE session = ? AND used_ms > ?";
    const [row] = this.#exec(sql, session, nowMs - SESSION_KEEP_MS);
    if (row === undefined) return undefined;
    if (Number(row["used_ms"]) + SESSION_TOUCH_MS <= nowMs) {
      this.#exec("UPDATE session_hooks SET used_ms = ? WHERE session = ?", nowMs, session);
    }
    return { version: Number(row["version"]), text: String(row["body"]) };
  }

  /** As `SessionHookStore.replace`. */
  replace({ session, version, text, maxSessions }: SessionRowChange): SessionReplacement {
    const nowMs = this.#options.now();
    const overMs = nowMs - SESSION_KEEP_MS;
    return this.#options.storage.transactionSync(() => {
      this.#sweep(session, overMs);
      const before = this.#numberOf("SELECT version FROM session_hooks WHERE session = ?", session) ?? 0;
      if (before !== version) return { outcome: "conflict" };
      const isNew = before === 0 && text !== "";
      const countSql = "SELECT COUNT(*) FROM session_hooks WHERE used_ms > ?";
      if (isNew && (this.#numberOf(countSql, overMs) ?? 0) >= maxSessions) return { outcome: "full" };
      const next = this.#numberOf("UPDATE session_hooks_version SET version = version + 1 RETURNING version") ?? 0;
      if (text === "") this.#exec("DELETE FROM session_hooks WHERE session = ?", session);
      else this.#exec("INSERT OR REPLACE INTO session_hooks VALUES (?, ?, ?, ?)", session, next, nowMs, text);
      return { outcome: "replaced", version: next };
    });
  }

  /** Takes away sessions that are over, the given one among them. */
  #sweep(session: string, overMs: number): void {
    const over = "SELECT session FROM session_hooks WHERE used_ms <= ? ORDER BY used_ms LIMIT ?";
    const sql = `DELETE FROM session_hooks WHERE session IN (${over}) OR (session = ? AND used_ms <= ?)`;
    this.#exec(sql, overMs, MAX_SWEPT_SESSIONS, session, overMs);
  }

  #numberOf(sql: string, ...values: (string | number)[]): number | undefined {
    const [row] = this.#exec(sql, ...values);
    const value = row && Object.values(row)[0];
    return typeof value === "number" ? value : undefined;
  }

  #exec(sql: string, ...values: (string | number)[]): Iterable<Readonly<Record<string, unknown>>> {
    return this.#options.storage.sql.exec(sql, ...values);
  }
}
