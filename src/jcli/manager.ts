import { type ChainHook, type ChainOutcome, type ChainRules, Current, runChain, type Trace } from "../chain/index.ts";
import { HookgateError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import { RepeatLog } from "../log-limit.ts";
import { MAX_DELAY_MS, settlesWithin } from "../wait.ts";
import { BackgroundQueue } from "./background.ts";
import { assertEvent, type HookContext, type HostContext, toHookContext } from "./context.ts";
import { HookCounters } from "./counters.ts";
import type { HookType, OnError } from "./definition.ts";
import { type EventSpec, LIFECYCLE, LIFECYCLE_EVENTS, type LifecycleEvent } from "./event.ts";
import type { FileHook } from "./file.ts";
import type { HookFilter } from "./filter.ts";
import {
  BUILTIN_TYPE,
  type BuiltinHandler,
  createBuiltinCall,
  type HookLevel,
  labelOf,
  LifecycleHook,
  type LifecycleHookStatus,
  nameOf,
} from "./hook.ts";
import type { LifecycleManagerOptions } from "./manager-options.ts";
import type { LifecycleHost, LifecycleOutcome, LifecycleRunOptions } from "./host.ts";
import { createLifecycleRules, type LifecycleState, toEffective } from "./merge.ts";
import { createCall, type LifecyclePorts, typesOf } from "./port.ts";
import type { HookResult } from "./result.ts";
import { SessionHooks, type SessionHooksOptions } from "./session.ts";
import { StoredSessionHooks } from "./stored-sessions.ts";

/** Options of {@link LifecycleManager.addBuiltin}. */
export interface BuiltinHookOptions {
  /** What the hook is called in lists. */
  readonly name: string;
  /** Deadline of one attempt, in milliseconds, 1 to 2^31 - 1. @default 10000 */
  readonly timeoutMs?: number;
  /** How often a failed attempt is made again. @default 0 */
  readonly retryCount?: number;
  /** @default "skip" */
  readonly onError?: OnError;
  /** @default every call */
  readonly filter?: HookFilter;
}

/** A hook's status, with its place in the list. */
export interface ListedHook extends LifecycleHookStatus {
  readonly index: number;
}

type Level = Exclude<HookLevel, "session">;

/** Hooks in calling order. */
type Chain = readonly LifecycleHook[];

const monotonic = (): number => performance.now();

/** Calls the hooks of a `hooks.yaml`: builtins first, then the user's, the project's and the session's. */
export class LifecycleManager implements LifecycleHost {
  /** The hooks of sessions where they are in a store; absent without one. */
  readonly storedSessions: StoredSessionHooks | undefined;
  readonly #sessions: SessionHooks;
  readonly #options: LifecycleManagerOptions;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #repeats: RepeatLog;
  readonly #ports: LifecyclePorts;
  readonly #chainTimeoutMs: number;
  readonly #background: BackgroundQueue;
  readonly #closing = new AbortController();
  readonly #counters = new Map<string, HookCounters>();
  readonly #rules: ReadonlyMap<LifecycleEvent, ChainRules<LifecycleState, HookResult>>;
  #levels: Readonly<Record<Level, readonly LifecycleHook[]>> = { builtin: [], user: [], project: [] };
  #chains = new Map<LifecycleEvent, readonly LifecycleHook[]>();

  /** @throws {RangeError} when a bound is out of range */
  constructor(options: LifecycleManagerOptions = {}) {
    const { ports = {}, chainTimeoutMs = 30_000, maxBackgroundEvents = 256, log = silentLog } = options;
    const {
      sessionPorts = ports,
      sessionTypes = typesOf(sessionPorts),
      maxSessionHooks = 64,
      maxSessions = 10_000,
    } = options;
    this.#options = options;
    this.#log = log;
    this.#now = options.now ?? monotonic;
    this.#repeats = new RepeatLog({ log, now: this.#now });
    this.#ports = ports;
    this.#chainTimeoutMs = assertBound("chainTimeoutMs", chainTimeoutMs, MAX_DELAY_MS);
    const maxJobs = assertBound("maxBackgroundEvents", maxBackgroundEvents, Number.MAX_SAFE_INTEGER);
    this.#background = new BackgroundQueue({ maxJobs, log });
    const sessionOptions = {
      ports: sessionPorts,
      types: sessionTypes.filter((type) => typesOf(sessionPorts).includes(type)),
      maxHooks: assertBound("maxSessionHooks", maxSessionHooks, Number.MAX_SAFE_INTEGER),
      maxSessions: assertBound("maxSessions", maxSessions, Number.MAX_SAFE_INTEGER),
    };
    this.#sessions = new SessionHooks(sessionOptions);
    this.storedSessions = toStored(options, sessionOptions);
    const onIgnored = (hook: ChainHook<LifecycleState>, fields: readonly string[]): void => this.#ignore(hook, fields);
    this.#rules = new Map(
      LIFECYCLE_EVENTS.map((event) => [event, createLifecycleRules(LIFECYCLE[event], { onIgnored })]),
    );
  }

  /**
   * The hooks registered at run time. A session's are forgotten when its `session_end` has been told.
   * @throws {TypeError} where they are in a store: they are changed by `storedSessions` then
   */
  get sessions(): SessionHooks {
    if (this.storedSessions === undefined) return this.#sessions;
    throw new TypeError("sessions: the hooks of sessions are in a store; use storedSessions");
  }

  /** The types that hooks of files can have here. */
  get types(): readonly HookType[] {
    return typesOf(this.#ports);
  }

  /**
   * Adds a hook of this process, after the builtins that are there.
   * @throws {TypeError} when the name is empty
   * @throws {RangeError} when a number is out of its bounds
   */
  addBuiltin(event: LifecycleEvent, handler: BuiltinHandler, options: BuiltinHookOptions): void {
    const { name, timeoutMs = 10_000, retryCount = 0, onError = "skip", filter } = options;
    if (typeof name !== "string" || name === "") throw new TypeError("addBuiltin: name must not be empty");
    assertBound("timeoutMs", timeoutMs, MAX_DELAY_MS);
    const place = {
      level: "builtin",
      event,
      position: this.#levels.builtin.filter((hook) => hook.event === event).length,
    } as const;
    const hook = new LifecycleHook({
      ...place,
      type: BUILTIN_TYPE,
      label: name,
      timeoutMs,
      retryCount,
      onError,
      filter,
      call: createBuiltinCall(handler),
      counters: this.#countersOf(nameOf(place)),
    });
    this.#replace("builtin", [...this.#levels.builtin, hook]);
  }

  /**
   * Replaces a level's hooks with those of its file. The hooks of other levels and all counters stay; calls that are under
   * way do not see the change.
   * @throws {RangeError} when a hook's type cannot run here; then nothing is replaced
   */
  load(level: "user" | "project", hooks: readonly FileHook[]): void {
    this.#replace(
      level,
      hooks.map(({ event, index, definition }) => {
        const place = { level, event, position: index } as const;
        const counters = this.#countersOf(nameOf(place));
        return new LifecycleHook({
          ...definition,
          ...place,
          label: labelOf(definition),
          call: createCall(definition, this.#ports),
          counters,
        });
      }),
    );
  }

  /** The hooks in the order of the events, and of each event in calling order; with a session's own where one is named. */
  hooks(sessionId?: string): readonly ListedHook[] {
    const own = sessionId === undefined ? [] : (this.storedSessions ?? this.#sessions).hooks(sessionId);
    return LIFECYCLE_EVENTS.flatMap((event) => [
      ...this.#chainOf(event),
      ...own.filter((hook) => hook.event === event),
    ]).map((hook, index) => ({ index, ...hook.status() }));
  }

  async run(given: HostContext, options: LifecycleRunOptions = {}): Promise<LifecycleOutcome> {
    if (this.#closing.signal.aborted) throw new HookgateError("ERR_CLOSED", "the lifecycle manager is closed");
    assertEvent(given.event);
    const spec = LIFECYCLE[given.event];
    let chain = this.#chainFor(given, options);
    let left = options;
    // What is told goes on beside the host; the others wait for their hooks, in the time that there is.
    if (chain instanceof Promise && (!spec.isNotification || spec.event === "session_end")) {
      const startedAtMs = this.#now();
      chain = await chain;
      const { signal, timeoutMs, onResult } = options;
      if (timeoutMs !== undefined) left = { signal, onResult, timeoutMs: timeoutMs - (this.#now() - startedAtMs) };
    }
    if (spec.event === "session_end" && given.session_id !== undefined) {
      if (this.storedSessions === undefined) this.#sessions.end(given.session_id);
      else await this.#endStored(this.storedSessions, given.session_id);
    }
    const context = toHookContext(given, this.#options.cwd ?? "/");
    if (spec.isNotification || chain instanceof Promise) {
      this.#tell(spec, chain, context);
      return { result: {}, halted: false, trace: toTrace([]) };
    }
    const outcome = await this.#call(chain, context, left);
    if (outcome.aborted)
      throw new HookgateError("ERR_ABORTED", `the host aborted ${spec.event}`, { cause: options.signal?.reason });
    return toOutcome(outcome, spec);
  }

  async flush(timeoutMs: number): Promise<void> {
    await settlesWithin(this.#background.drained(), timeoutMs);
  }

  /** Cuts background hooks and refuses what comes later. Idempotent. */
  async close(): Promise<void> {
    this.#background.close();
    this.#closing.abort();
    await this.#background.drained();
    this.#repeats.flush();
    this.#sessions.close();
    this.storedSessions?.close();
    for (const hook of Object.values(this.#levels).flat()) hook.close();
  }

  /** Runs a notification's hooks beside the host, those of one session one event after the other. */
  #tell(spec: EventSpec, chain: Chain | Promise<Chain>, given: HookContext): void {
    if (!(chain instanceof Promise) && chain.length === 0) return;
    let context: HookContext;
    try {
      // The hooks run later, when the host may have gone on changing its objects.
      context = structuredClone(given);
    } catch {
      this.#log.warn("event dropped: its context cannot be copied", { event: spec.event });
      return;
    }
    this.#background.push(context.session_id ?? "", async () => {
      const { current } = await this.#call(await chain, context, { signal: this.#closing.signal });
      const { system_message: message } = current.value.result;
      if (message !== undefined) this.#options.onSystemMessage?.(message, context);
    });
  }

  /** The session is over, whether or not its hooks can be taken away: those that stay are gone with the time. */
  async #endStored(sessions: StoredSessionHooks, sessionId: string): Promise<void> {
    try {
      await sessions.end(sessionId);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#repeats.warn("session_end", "the hooks of a session that is over are still kept", { error: message });
    }
  }

  async #call(
    chain: readonly LifecycleHook[],
    context: HookContext,
    { signal, timeoutMs, onResult }: LifecycleRunOptions,
  ): Promise<ChainOutcome<LifecycleState, HookResult>> {
    const rules = this.#rulesOf(context.event, onResult);
    const input = new Current<LifecycleState>({ context: new Current(context), result: {} });
    const { now } = this.#options;
    const outcome = await runChain(chain, input, { rules, signal, timeoutMs, budgetMs: this.#chainTimeoutMs, now });
    this.#count(chain, outcome);
    return outcome;
  }

  #rulesOf(event: LifecycleEvent, onResult: LifecycleRunOptions["onResult"]): ChainRules<LifecycleState, HookResult> {
    const known = onResult === undefined ? this.#rules.get(event) : undefined;
    return (
      known ??
      createLifecycleRules(LIFECYCLE[event], { onIgnored: (hook, fields) => this.#ignore(hook, fields), onResult })
    );
  }

  #count(chain: readonly LifecycleHook[], { records }: ChainOutcome<LifecycleState, HookResult>): void {
    let at = 0;
    for (const record of records) {
      // Records are in the order of the chain, several of one hook where it was retried.
      while (chain[at] !== undefined && chain[at]?.name !== record.hook) at += 1;
      chain[at]?.counters.count(record);
      const { hook, point, kind, error, failed_open } = record;
      if (kind === undefined) continue;
      const fields = { hook, event: point, kind, error, attempt: record.attempt, skipped: failed_open };
      this.#repeats.warn(`${point} ${kind} ${hook}`, "hook gave no verdict", fields);
    }
  }

  #ignore(hook: ChainHook<LifecycleState>, fields: readonly string[]): void {
    const added = hook instanceof LifecycleHook ? hook.counters.ignore(fields) : [];
    if (added.length === 0) return;
    this.#log.warn("fields of the hook's result have no effect", { hook: hook.name, fields: added.join(", ") });
  }

  #chainFor({ event, session_id: id }: HostContext, options: LifecycleRunOptions): Chain | Promise<Chain> {
    const chain = this.#chainOf(event);
    if (id === undefined) return chain;
    const own = this.storedSessions?.find(id, event, options) ?? this.#sessions.hooks(id);
    return own instanceof Promise ? own.then((hooks) => withOwn(chain, event, hooks)) : withOwn(chain, event, own);
  }

  #chainOf(event: LifecycleEvent): readonly LifecycleHook[] {
    let chain = this.#chains.get(event);
    if (chain === undefined) {
      const { builtin, user, project } = this.#levels;
      chain = [...builtin, ...user, ...project].filter((hook) => hook.event === event);
      this.#chains.set(event, chain);
    }
    return chain;
  }

  #replace(level: Level, hooks: readonly LifecycleHook[]): void {
    const before = this.#levels[level].filter((hook) => !hooks.includes(hook));
    this.#levels = { ...this.#levels, [level]: hooks };
    this.#chains = new Map();
    for (const hook of before) hook.close();
  }

  #countersOf(name: string): HookCounters {
    const counters = this.#counters.get(name) ?? new HookCounters();
    this.#counters.set(name, counters);
    return counters;
  }
}

function toStored(options: LifecycleManagerOptions, own: SessionHooksOptions): StoredSessionHooks | undefined {
  const { sessionStore: store, onSessionStoreError: onStoreError = "skip", isolatesRequests = false } = options;
  const { log = silentLog, now = monotonic } = options;
  return store && new StoredSessionHooks({ ...own, store, onStoreError, isolatesRequests, log, now });
}

/** A session's hooks come after all others. */
function withOwn(chain: Chain, event: LifecycleEvent, hooks: Chain): Chain {
  const own = hooks.filter((hook) => hook.event === event);
  return own.length === 0 ? chain : [...chain, ...own];
}

function toOutcome(
  { current, halt, failure, records }: ChainOutcome<LifecycleState, HookResult>,
  spec: EventSpec,
): LifecycleOutcome {
  const trace = toTrace(records);
  if (halt !== undefined) return { result: halt.verdict, halted: true, trace };
  if (failure !== undefined) return { result: toEffective({ action: "stop" }, spec), halted: true, trace };
  return { result: current.value.result, halted: false, trace };
}

function toTrace(records: Trace["records"]): Trace {
  return { id: crypto.randomUUID(), records };
}

function assertBound(name: string, value: number, max: number): number {
  if (Number.isFinite(value) && value >= 1 && value <= max) return value;
  throw new RangeError(`${name}: expected a number from 1 to ${max}, got ${value}`);
}
