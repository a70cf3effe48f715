import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isHookgateError } from "../../src/errors.ts";
import {
  type KeptSession,
  type OnSessionNews,
  readSession,
  type SessionChange,
  type SessionHookStore,
  SessionListeners,
  type SessionReplacement,
  type SessionStorage,
  SessionTable,
  sessionsUnavailable,
  toRowChange,
} from "../../src/jcli/index.ts";
import { openPrivately, transact } from "./private-database.ts";

/** Options of {@link SqliteSessionStore}. */
export interface SqliteSessionStoreOptions {
  /** The database file; it is made when it is not there. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How long what was read may be used when another process may have changed it, in milliseconds. */
const MAX_AGE_MS = 1000;

/**
 * The hooks of sessions in a SQLite file, which is opened with the first call. What this process changes it tells of at
 * once; what another process of the machine changes is seen within a second.
 */
export class SqliteSessionStore implements SessionHookStore {
  readonly name = "sqlite";
  readonly maxAgeMs: number = MAX_AGE_MS;
  readonly #options: SqliteSessionStoreOptions;
  readonly #listeners = new SessionListeners();
  #database: DatabaseSync | undefined;
  #table: SessionTable | undefined;
  #isClosed = false;

  constructor(options: SqliteSessionStoreOptions) {
    this.#options = options;
  }

  async get(session: string): Promise<KeptSession | undefined> {
    const row = this.#use((table) => table.get(session));
    return row && readSession(row);
  }

  async replace(change: SessionChange): Promise<SessionReplacement> {
    const row = toRowChange(change);
    const result = this.#use((table) => table.replace(row));
    if (result.outcome === "replaced") {
      this.#listeners.tell({ session: change.session, version: result.version });
    }
    return result;
  }

  subscribe(listener: OnSessionNews): () => void {
    return this.#listeners.add(listener);
  }

  /** Lets go of the file. */
  close(): void {
    this.#isClosed = true;
    this.#database?.close();
    this.#database = undefined;
    this.#table = undefined;
  }

  /** Works on the table; whatever goes wrong there makes the store unavailable. */
  #use<T>(work: (table: SessionTable) => T): T {
    if (this.#isClosed) throw sessionsUnavailable("it is closed");
    try {
      return work((this.#table ??= this.#open()));
    } catch (error) {
      if (isHookgateError(error)) throw error;
      throw sessionsUnavailable("its database cannot be used", error);
    }
  }

  #open(): SessionTable {
    const database = (this.#database ??= openPrivately(this.#options.path, true));
    const statements = new Map<string, StatementSync>();
    const exec: SessionStorage["sql"]["exec"] = (sql, ...values) => {
      const statement = statements.get(sql) ?? database.prepare(sql);
      statements.set(sql, statement);
      return statement.all(...values);
    };
    const storage: SessionStorage = { sql: { exec }, transactionSync: (work) => transact(database, work) };
    return new SessionTable({ storage, now: this.#options.now });
  }
}
