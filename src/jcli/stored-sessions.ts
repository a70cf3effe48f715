import { isSameJson } from "../chain/index.ts";
import { HookCallError, HookgateError } from "../errors.ts";
import type { Log } from "../log.ts";
import { RepeatLog } from "../log-limit.ts";
import { settlesWithin } from "../wait.ts";
import type { OnError } from "./definition.ts";
import type { LifecycleEvent } from "./event.ts";
import type { LifecycleHook } from "./hook.ts";
import type { LifecycleRunOptions } from "./host.ts";
import type { SessionHooks, SessionHooksOptions } from "./session.ts";
import { closeParts, createFailingHook, type SessionCopy, toCalled, toParts } from "./session-copy.ts";
import {
  assertSessionId,
  assertAllowed,
  checkSessionHook,
  isSessionId,
  type SavedHook,
  toSavedHook,
} from "./session-entry.ts";
import { type KeptSession, type SessionHookStore, type SessionNews, UnreadableSessionError } from "./session-store.ts";

/** Options of {@link StoredSessionHooks}. */
export interface StoredSessionHooksOptions extends SessionHooksOptions {
  readonly store: SessionHookStore;
  /**
   * What an event comes to while the store cannot be asked and nothing is known of the session's hooks: `abort` ends it with
   * `stop`, for a guard may be among them; `skip` goes on without them.
   */
  readonly onStoreError: OnError;
  /** Whether requests must not wait for each other, as on Workers. */
  readonly isolatesRequests: boolean;
  /** Of how many sessions it is known at once what hooks they have, 1 or more. @default 10000 */
  readonly maxCopies?: number | undefined;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

const NO_HOOKS: readonly LifecycleHook[] = [];
/** How long an event waits for the store, in milliseconds. */
const LOOK_MS = 3000;
/** How long what is known is used without asking the store again, once it has failed, in milliseconds. */
const PAUSE_MS = 1000;
/** Each of them means that another process or call has changed the session's hooks meanwhile. */
const MAX_ATTEMPTS = 256;
/** How often it is looked again when news arrive while it is looked; after that the next event looks. */
const MAX_LOOKS = 4;

/** A look at the store that is under way. */
interface Look {
  readonly sessionId: string;
  /** The latest version that was told of meanwhile. */
  toldVersion: number;
}

/**
 * The hooks of sessions that are kept in a store, which several gateways may share. Every change is a write to the store
 * first. What was read is kept here too, and used for as long as no news of a change arrives, at most for the store's
 * `maxAgeMs`; counts are of this process alone.
 */
export class StoredSessionHooks {
  readonly #options: StoredSessionHooksOptions;
  readonly #store: SessionHookStore;
  readonly #maxAgeMs: number;
  readonly #now: () => number;
  readonly #repeats: RepeatLog;
  readonly #unsubscribe: () => void;
  /** What is known of sessions, those that were looked at last at the end. */
  readonly #copies = new Map<string, SessionCopy>();
  readonly #looks = new Set<Look>();
  readonly #loads = new Map<string, Promise<SessionCopy>>();
  readonly #writes = new Map<string, Promise<unknown>>();
  #failedAtMs = -Infinity;

  constructor(options: StoredSessionHooksOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#maxAgeMs = options.store.maxAgeMs;
    this.#now = options.now;
    this.#repeats = new RepeatLog({ log: options.log, now: options.now });
    this.#unsubscribe = options.store.subscribe((news) => this.#hear(news));
  }

  /** The hooks of a session as far as they are known here, by session index. */
  hooks(sessionId: string): readonly LifecycleHook[] {
    return this.#copies.get(sessionId)?.hooks ?? NO_HOOKS;
  }

  /**
   * The hooks of a session that are to be called at an event: at once where what is known is good, otherwise when the store
   * has been asked. Where it cannot be asked those that are known, and with them a hook that fails with
   * `store_unavailable`. It does not reject.
   */
  find(
    sessionId: string,
    event: LifecycleEvent,
    options: Pick<LifecycleRunOptions, "signal" | "timeoutMs">,
  ): readonly LifecycleHook[] | Promise<readonly LifecycleHook[]> {
    const copy = this.#copies.get(sessionId);
    if (copy !== undefined && this.#now() - copy.checkedAtMs < this.#maxAgeMs) return copy.hooks;
    // It could not have registered any.
    if (!isSessionId(sessionId)) return NO_HOOKS;
    return this.#lookFor(sessionId, event, options);
  }

  /**
   * Reads what the store has of a session.
   * @throws {HookgateError} `ERR_STORE_UNAVAILABLE`
   */
  async refresh(sessionId: string): Promise<void> {
    if (isSessionId(sessionId)) await this.#read(sessionId);
  }

  /**
   * Adds a hook at the end of a session's list. Calls that are under way do not see it.
   * @param request - As for `SessionHooks.register`.
   * @returns its session index
   * @throws {HookgateError} as `SessionHooks.register`, and `ERR_STORE_UNAVAILABLE`
   */
  async register(sessionId: string, request: unknown): Promise<number> {
    assertSessionId(sessionId);
    const { ports, maxHooks } = this.#options;
    const checked = checkSessionHook(request, ports);
    assertAllowed(checked.definition, this.#options);
    const hooks = await this.#change(sessionId, (before) => {
      if (before.length >= maxHooks) throw new HookgateError("ERR_OVERLOADED", `a session may have ${maxHooks} hooks`);
      return [...before, toSavedHook(checked)];
    });
    return hooks.length - 1;
  }

  /**
   * Removes a hook; the indices of those after it shift. Calls that are under way still reach it.
   * @throws {HookgateError} `ERR_INVALID_PARAMS` when the session has no hook of that index, `ERR_STORE_UNAVAILABLE`
   */
  async remove(sessionId: string, sessionIndex: number): Promise<void> {
    await this.#change(sessionId, (before) => {
      if (before[sessionIndex] !== undefined) return before.toSpliced(sessionIndex, 1);
      throw new HookgateError("ERR_INVALID_PARAMS", `the session has no hook of index ${sessionIndex}`);
    });
  }

  /**
   * Forgets a session and its hooks.
   * @throws {HookgateError} `ERR_STORE_UNAVAILABLE`
   */
  async end(sessionId: string): Promise<void> {
    if (isSessionId(sessionId)) await this.#change(sessionId, removeAll);
  }

  /**
   * Takes over the hooks of sessions that were kept in this process alone: what the store has already is not doubled.
   * @returns what could not be taken over and why, one sentence each
   */
  async adopt(previous: SessionHooks): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const id of previous.ids()) {
      const own = previous.save(id);
      try {
        await this.#change(id, (before) => {
          const added = own.filter((hook) => !before.some((other) => isSameJson(hook, other)));
          return added.length === 0 ? before : [...before, ...added];
        });
      } catch (error) {
        if (!(error instanceof HookgateError)) throw error;
        problems.push(error.message);
      }
    }
    return problems;
  }

  /** Lets go of what it knows; what the store has stays. */
  close(): void {
    this.#unsubscribe();
    this.#repeats.flush();
    for (const { parts } of this.#copies.values()) closeParts(parts);
    this.#copies.clear();
  }

  async #lookFor(
    sessionId: string,
    event: LifecycleEvent,
    { signal, timeoutMs = LOOK_MS }: Pick<LifecycleRunOptions, "signal" | "timeoutMs">,
  ): Promise<readonly LifecycleHook[]> {
    const known = this.#copies.get(sessionId);
    // While it is down nobody who has something to go by waits for it.
    const isPaused = known !== undefined && this.#now() - this.#failedAtMs < PAUSE_MS;
    let found: SessionCopy | undefined;
    if (!isPaused) {
      const loading = this.#load(sessionId).then(
        (copy) => void (found = copy),
        (error: unknown) => this.#fail(sessionId, error),
      );
      const wait = Math.min(LOOK_MS, timeoutMs);
      const isDone = await settlesWithin(signal === undefined ? loading : orAborted(loading, signal), wait);
      if (!isDone) this.#fail(sessionId, new HookgateError("ERR_STORE_UNAVAILABLE", `no answer within ${wait} ms`));
    }
    return found === undefined ? this.#without(sessionId, event) : found.hooks;
  }

  /** What is called while the store cannot be asked. */
  #without(sessionId: string, event: LifecycleEvent): readonly LifecycleHook[] {
    const copy = this.#copies.get(sessionId);
    const why = `the store of session hooks (${this.#store.name}) cannot be asked`;
    const message = copy === undefined ? `${why}: what hooks the session has is not known` : `${why}: ${LAST_KNOWN}`;
    const error = new HookCallError("store_unavailable", message);
    const onError = copy === undefined ? this.#options.onStoreError : "skip";
    return [createFailingHook({ event, error, onError }), ...(copy?.hooks ?? NO_HOOKS)];
  }

  #load(sessionId: string): Promise<SessionCopy> {
    if (this.#options.isolatesRequests) return this.#read(sessionId);
    const load = this.#loads.get(sessionId) ?? this.#read(sessionId).finally(() => this.#loads.delete(sessionId));
    this.#loads.set(sessionId, load);
    return load;
  }

  async #read(sessionId: string): Promise<SessionCopy> {
    const look: Look = { sessionId, toldVersion: 0 };
    this.#looks.add(look);
    try {
      for (let looks = 1; ; looks += 1) {
        look.toldVersion = 0;
        const startedAtMs = this.#now();
        const kept = (await this.#store.get(sessionId)) ?? NOTHING_KEPT;
        const isOutdated = look.toldVersion > kept.version;
        if (isOutdated && looks < MAX_LOOKS) continue;
        this.#failedAtMs = -Infinity;
        return this.#keep(sessionId, kept, isOutdated ? -Infinity : startedAtMs);
      }
    } finally {
      this.#looks.delete(look);
    }
  }

  /** Keeps what was read at a time, unless what is known is of later. */
  #keep(sessionId: string, kept: KeptSession, checkedAtMs: number): SessionCopy {
    const before = this.#copies.get(sessionId);
    if (before !== undefined && kept.version < before.version && checkedAtMs < before.keptAtMs) return before;
    const isSame = before !== undefined && kept.version === before.version;
    const copy = isSame ? { ...before, checkedAtMs } : this.#toCopy(sessionId, kept, checkedAtMs);
    this.#copies.delete(sessionId);
    this.#copies.set(sessionId, copy);
    this.#evict();
    return copy;
  }

  #toCopy(sessionId: string, kept: KeptSession, checkedAtMs: number): SessionCopy {
    const before = this.#copies.get(sessionId)?.parts ?? [];
    const onLeftOut = (index: number, problem: string): void =>
      this.#options.log.warn("a hook of a session may not run here", { session: sessionId, index, problem });
    const parts = toParts(kept, { rules: this.#options, before, onLeftOut });
    return { version: kept.version, parts, hooks: toCalled(parts), checkedAtMs, keptAtMs: this.#now() };
  }

  #evict(): void {
    const { maxCopies = MAX_COPIES } = this.#options;
    for (const [sessionId, { parts }] of this.#copies) {
      if (this.#copies.size <= maxCopies) return;
      this.#copies.delete(sessionId);
      closeParts(parts);
    }
  }

  /** Changes a session's hooks: one change after the other in this process, and again where another was faster. */
  async #change(sessionId: string, edit: Edit): Promise<readonly SavedHook[]> {
    if (this.#options.isolatesRequests) return this.#write(sessionId, edit);
    const before = this.#writes.get(sessionId) ?? Promise.resolve();
    const write = before.then(() => this.#write(sessionId, edit));
    // Whether it failed is the affair of who asked for it.
    const done = write.then(nothing, nothing);
    this.#writes.set(sessionId, done);
    try {
      return await write;
    } finally {
      if (this.#writes.get(sessionId) === done) this.#writes.delete(sessionId);
    }
  }

  async #write(sessionId: string, edit: Edit): Promise<readonly SavedHook[]> {
    const { maxSessions } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { version, hooks: before } = await this.#get(sessionId, edit);
      const hooks = edit(before);
      if (hooks === before) return hooks;
      const result = await this.#store.replace({ session: sessionId, version, hooks, maxSessions });
      if (result.outcome === "full") {
        throw new HookgateError("ERR_OVERLOADED", `${maxSessions} sessions have hooks already`);
      }
      if (result.outcome === "conflict") continue;
      this.#keep(sessionId, { version: result.version, hooks }, this.#now());
      return hooks;
    }
    throw new HookgateError("ERR_CONFLICT", "the session's hooks are changed by too many at once: try again");
  }

  /** What is to be changed. What nobody can read can be taken away as a whole. */
  async #get(sessionId: string, edit: Edit): Promise<KeptSession> {
    try {
      return (await this.#store.get(sessionId)) ?? NOTHING_KEPT;
    } catch (error) {
      if (edit === removeAll && error instanceof UnreadableSessionError) return { version: error.version, hooks: [{}] };
      throw error;
    }
  }

  /** What is known to be of before is looked at again with the next event. */
  #hear(news: SessionNews | undefined): void {
    for (const look of this.#looks) {
      if (news === undefined) look.toldVersion = Infinity;
      else if (look.sessionId === news.session) look.toldVersion = Math.max(look.toldVersion, news.version);
    }
    if (news === undefined) {
      this.#failedAtMs = -Infinity;
      for (const copy of this.#copies.values()) copy.checkedAtMs = -Infinity;
      return;
    }
    const copy = this.#copies.get(news.session);
    if (copy !== undefined && copy.version < news.version) copy.checkedAtMs = -Infinity;
  }

  #fail(sessionId: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const fields = { store: this.#store.name, error: message.slice(0, 300) };
    if (error instanceof UnreadableSessionError) {
      // The store is up: other sessions are looked at as ever.
      this.#repeats.warn(sessionId, NOT_LOOKED_UP, { ...fields, session: sessionId });
      return;
    }
    this.#failedAtMs = this.#now();
    this.#repeats.warn("", NOT_LOOKED_UP, fields);
  }
}

const MAX_COPIES = 10_000;

/** Makes a session's next list of hooks of the one before; the same one where nothing is to be changed. */
type Edit = (hooks: readonly SavedHook[]) => readonly SavedHook[];

const removeAll: Edit = (before) => (before.length === 0 ? before : []);

const NOT_LOOKED_UP = "the hooks of a session cannot be looked up";

const LAST_KNOWN = "the hooks that were known last are called";

const NOTHING_KEPT: KeptSession = { version: 0, hooks: [] };

function nothing(): void {}

/** Resolves when the work has settled, and before when the signal aborts. */
function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener("abort", end);
      resolve();
    };
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    void work.then(end);
  });
}
