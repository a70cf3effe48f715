import {
  type Approval,
  type ApprovalStore,
  assertListOptions,
  ChangeHub,
  readApproval,
  storeUnavailable,
  toApprovalIndex,
} from "../../src/approvals/index.ts";
import type { GatewayStore } from "../../src/config/index.ts";
import { HookgateError, isHookgateError } from "../../src/errors.ts";
import type { ReplayStore } from "../../src/signing/replay.ts";
import { ApprovalDatabase } from "./approval-database.ts";
import { SqliteSessionStore } from "./sqlite-sessions.ts";

/** Options of {@link createSqliteApprovalStore}. */
export interface SqliteApprovalStoreOptions {
  /** The database file; it is made when it is not there. */
  readonly path: string;
  /** How often changes by other processes are looked for while somebody waits, in milliseconds. @default 200 */
  readonly pollMs?: number | undefined;
  /** Milliseconds since the epoch, for single-use keys. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const MAX_CHANGES = 500;

/**
 * Makes a store of approvals, and of the hooks of sessions, in a SQLite database: what it holds outlives the process, also one that is killed. Several
 * processes of one machine may use one file; what another changes is seen within `pollMs`.
 *
 * A file that cannot be opened is no error here: it is opened with the first call that can, and until then the store is
 * not available.
 */
export function createSqliteApprovalStore(options: SqliteApprovalStoreOptions): GatewayStore {
  return new SqliteApprovalStore(options);
}

class SqliteApprovalStore implements GatewayStore {
  readonly name = "sqlite";
  /** One for each request of a host: waiting for the disk would be most of what the gateway does. */
  readonly requests: ReplayStore = { insert: (key, expiresAtMs) => this.#insert(key, expiresAtMs, false) };
  readonly sessionHooks: SqliteSessionStore;
  readonly #path: string;
  readonly #pollMs: number;
  readonly #now: () => number;
  readonly #hub = new ChangeHub();
  #database: ApprovalDatabase | undefined;
  #requests: ApprovalDatabase | undefined;
  #seq = 0;
  #poll: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor({ path, pollMs = 200, now = Date.now }: SqliteApprovalStoreOptions) {
    this.#path = path;
    this.#pollMs = pollMs;
    this.#now = now;
    this.sessionHooks = new SqliteSessionStore({ path, now });
  }

  async create(approval: Approval): ReturnType<ApprovalStore["create"]> {
    const result = this.#use((database) => database.create(toApprovalIndex(approval)));
    if (result === "id_taken") throw new HookgateError("ERR_CONFLICT", `approval ${approval.id} is there already`);
    if (result !== "created") return { isNew: false, open: readApproval(result.open, { call: approval.call }) };
    this.#tellChanges();
    return { isNew: true };
  }

  async get(id: string): Promise<Approval | undefined> {
    const body = this.#use((database) => database.get(id));
    return body === undefined ? undefined : readApproval(body, { id });
  }

  async replace(next: Approval): Promise<boolean> {
    const isDone = this.#use((database) => database.replace(toApprovalIndex(next)));
    if (isDone) this.#tellChanges();
    return isDone;
  }

  async findOpen(call: string): Promise<Approval | undefined> {
    const body = this.#use((database) => database.findOpen(call));
    return body === undefined ? undefined : readApproval(body, { call });
  }

  async findLast(call: string): Promise<Approval | undefined> {
    const body = this.#use((database) => database.findLast(call));
    return body === undefined ? undefined : readApproval(body, { call });
  }

  async list(options: Parameters<ApprovalStore["list"]>[0]): ReturnType<ApprovalStore["list"]> {
    assertListOptions(options);
    return this.#use((database) => database.list(options));
  }

  async due(nowMs: number, maxApprovals: number): ReturnType<ApprovalStore["due"]> {
    return this.#use((database) => database.due(nowMs, maxApprovals));
  }

  async prune(beforeMs: number): Promise<number> {
    return this.#use((database) => database.prune(beforeMs));
  }

  async insert(key: string, expiresAtMs: number): Promise<boolean> {
    return this.#insert(key, expiresAtMs, true);
  }

  #insert(key: string, expiresAtMs: number, isDurable: boolean): boolean {
    const nowMs = this.#now();
    if (!(expiresAtMs > nowMs)) throw new HookgateError("ERR_OVERLOADED", "the store's clock is past the expiry");
    return this.#use((database) => {
      // A database in memory is its connection's own.
      const isApart = !isDurable && this.#path !== ":memory:";
      const own = isApart ? (this.#requests ??= new ApprovalDatabase(this.#path, false)) : database;
      return own.insertKey(key, { expiresAtMs, nowMs });
    });
  }

  async changed(id: string, { version, signal }: Parameters<ApprovalStore["changed"]>[1]): Promise<void> {
    // Nothing can come in between: what others change after this look is found by the next.
    this.#tellChanges();
    if (this.#use((database) => database.versionOf(id)) !== version) return;
    const change = this.#hub.next(id, signal);
    this.#pollOthers();
    await change;
  }

  async subscribe(listener: Parameters<ApprovalStore["subscribe"]>[0]): Promise<() => void> {
    this.#tellChanges();
    const letGo = this.#hub.subscribe(listener);
    this.#pollOthers();
    return letGo;
  }

  async health(): Promise<void> {
    this.#use((database) => database.lastSeq());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#poll);
    this.#hub.close();
    this.#database?.close();
    this.#requests?.close();
    this.sessionHooks.close();
    this.#database = undefined;
  }

  /** Works on the database; whatever goes wrong there makes the store unavailable. */
  #use<T>(work: (database: ApprovalDatabase) => T): T {
    if (this.#isClosed) throw storeUnavailable("it is closed");
    try {
      return work(this.#open());
    } catch (error) {
      if (isHookgateError(error)) throw error;
      throw storeUnavailable("its database cannot be used", error);
    }
  }

  #open(): ApprovalDatabase {
    if (this.#database !== undefined) return this.#database;
    const database = new ApprovalDatabase(this.#path);
    this.#seq = database.lastSeq();
    this.#database = database;
    return database;
  }

  #tellChanges(): void {
    for (let isMore = true; isMore;) {
      const changes = this.#use((database) => database.changesSince(this.#seq, MAX_CHANGES));
      isMore = changes.length === MAX_CHANGES;
      for (const { seq, ...change } of changes) {
        this.#seq = seq;
        this.#hub.tell(change);
      }
    }
  }

  /** One timer for all who wait, for as long as somebody does; it does not keep the process alive. */
  #pollOthers(): void {
    this.#poll ??= setInterval(() => {
      if (this.#hub.size === 0) {
        clearInterval(this.#poll);
        this.#poll = undefined;
        return;
      }
      try {
        this.#tellChanges();
      } catch {
        // Who waits looks for itself then, and is told what is wrong.
        this.#hub.tell(undefined);
      }
    }, this.#pollMs);
    this.#poll.unref();
  }
}
