import {
  type ChainOutcome,
  type ChainRules,
  compareRank,
  Current,
  failClosed,
  failOpen,
  MAX_TIMEOUT_MS,
  runChain,
} from "../chain/index.ts";
import { HookgateError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import { toApprovalDecision, toDecision, toToolCheck, toToolDecision } from "./decision.ts";
import { type HookEvent, type HostEvent, toDocumentedKind } from "./event.ts";
import { EventQueue, type EventQueueOptions, type Observer } from "./fan-out.ts";
import type { Hook } from "./hook.ts";
import type {
  ApprovalDecision,
  HookHost,
  HostCallOptions,
  HostContext,
  LifecycleOutcome,
  LlmRequestDecision,
  LlmResponseDecision,
  ToolCallDecision,
  ToolCheckDecision,
  ToolOutcomeDecision,
} from "./host.ts";
import { createLocalPort } from "./local.ts";
import { type MountedChainHook, MountedHook, type MountedHookStatus } from "./mounted.ts";
import { toLlmRequest, toLlmResponse, toMeta, toToolApproval, toToolCall, toToolOutcome } from "./normalize.ts";
import type { HostPayload, LlmRequest, LlmResponse, Origin, ToolApproval, ToolCall, ToolOutcome } from "./payload.ts";
import { type HookPoint, type InterceptorPoint, INTERCEPTORS } from "./point.ts";
import type { HookPort } from "./port.ts";
import { createApprovalRules, createInterceptorRules, type InterceptorHalt, type InterceptorRules } from "./reply.ts";
import { toTrust, type TrustedHook, type TrustOptions } from "./trust.ts";

/** Deadlines of one hook call by the hook's class, in milliseconds. A value of 0 or less means the default. */
export interface HookTimeouts {
  /** Telling one observer of one event. @default 500 */
  readonly observerMs?: number;
  /** One interceptor. @default 5000 */
  readonly interceptorMs?: number;
  /** One approver. @default 60000 */
  readonly approvalMs?: number;
}

/** Options of {@link HookManager}. */
export interface HookManagerOptions {
  readonly timeouts?: HookTimeouts;
  /** How many events may wait for one observer, 1 to 65536. @default 64 */
  readonly maxQueuedEvents?: number;
  /** @default a log that keeps nothing */
  readonly log?: Log;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: () => number;
  /**
   * The request that is under way, as one object for as long as it is, where none may wait for what another does, as on
   * Workers: each then delivers the events it emitted by itself. @default the events of all wait in one queue
   */
  readonly currentRequest?: (() => object | undefined) | undefined;
  /** Which configuration of the host this is, counted from 1. @default 1 */
  readonly generation?: number | undefined;
  /** Keeps the delivery of events alive after the answer; the host's `waitUntil`. @default it is left to itself */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
}

/** Options of {@link HookManager.mount}. */
export interface MountOptions extends TrustOptions {
  /** Unique among all hooks; a hook of the same name is closed and replaced. */
  readonly name: string;
  /** Lower runs first, inside the hook's group. @default 0 */
  readonly priority?: number;
  /**
   * The manager that has this same hook under this name and is about to be replaced: the hook's counters go on, and the
   * events that wait there are delivered first. @default the hook is new
   */
  readonly keptFrom?: HookManager | undefined;
}

/** Options of {@link HookManager.checkTool}. */
export interface CheckToolOptions extends HostCallOptions {
  /** Looks at a call that `before_tool` lets go on, before it is approved; what it decides is what is approved. */
  readonly beforeApproval?: ((decision: ToolCallDecision) => Promise<ToolCallDecision>) | undefined;
}

/** Reaches the hooks of one agent: keeps their order, calls them, and tells observers. */
export class HookManager implements HookHost {
  /** Which configuration of the host this is, counted from 1. */
  readonly generation: number;
  readonly #timeouts: Required<HookTimeouts>;
  readonly #queueOptions: EventQueueOptions;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #mounted = new Map<string, MountedHook>();
  readonly #foreignReported = new Set<string>();
  readonly #rules: Readonly<Record<InterceptorPoint, InterceptorRules>>;
  readonly #approvalRules = createApprovalRules((hook, keys) => this.#reportForeign(hook, keys));
  #chains: Partial<Record<HookPoint, readonly MountedChainHook[]>> = {};
  /** Calls under way, each part of one counted too. */
  #callCount = 0;
  #onIdle: (() => void) | undefined;
  #closed = false;
  #closing: Promise<unknown> | undefined;

  /** @throws {RangeError} when a timeout or the queue's bound is out of range */
  constructor(options: HookManagerOptions = {}) {
    const { timeouts = {}, maxQueuedEvents = 64, log = silentLog, now, currentRequest, waitUntil } = options;
    this.generation = options.generation ?? 1;
    this.#timeouts = {
      observerMs: toTimeout("observerMs", timeouts.observerMs, 500),
      interceptorMs: toTimeout("interceptorMs", timeouts.interceptorMs, 5000),
      approvalMs: toTimeout("approvalMs", timeouts.approvalMs, 60_000),
    };
    if (!Number.isInteger(maxQueuedEvents) || maxQueuedEvents < 1 || maxQueuedEvents > 65_536) {
      throw new RangeError(`maxQueuedEvents: expected an integer from 1 to 65536, got ${maxQueuedEvents}`);
    }
    this.#queueOptions = { maxQueuedEvents, log, now, currentRequest, waitUntil };
    this.#log = log;
    this.#now = now ?? (() => performance.now());
    const report = (hook: string, keys: readonly string[]): void => this.#reportForeign(hook, keys);
    this.#rules = {
      before_llm: createInterceptorRules(INTERCEPTORS.before_llm, report),
      after_llm: createInterceptorRules(INTERCEPTORS.after_llm, report),
      before_tool: createInterceptorRules(INTERCEPTORS.before_tool, report),
      after_tool: createInterceptorRules(INTERCEPTORS.after_tool, report),
    };
  }

  /**
   * Adds a hook. Calls that are under way do not see it.
   * @throws {TypeError} when the name is empty, the hook is missing, the priority is not a number or a grant is unknown
   * @throws {HookgateError} `ERR_CLOSED` after {@link HookManager.close}
   */
  async mount(hook: Hook | HookPort, options: MountOptions): Promise<void> {
    const { name, priority = 0 } = options;
    if (this.#closed) throw new HookgateError("ERR_CLOSED", `cannot mount hook "${name}": the manager is closed`);
    if (typeof name !== "string" || name === "") throw new TypeError("mount: name must not be empty");
    if (typeof hook !== "object" || hook === null) throw new TypeError(`mount: hook "${name}" is missing`);
    if (!Number.isFinite(priority)) throw new TypeError(`mount: priority of hook "${name}" must be a number`);
    const port = isPort(hook) ? hook : createLocalPort(hook, { log: this.#log });
    const previous = this.#mounted.get(name);
    this.#mounted.set(name, this.#toMounted(port, { ...options, priority }));
    this.#foreignReported.delete(name);
    this.#chains = {};
    await previous?.close();
  }

  /** Removes a hook and closes it; an unknown name does nothing. Calls that are under way still reach it. */
  async unmount(name: string): Promise<void> {
    const hook = this.#mounted.get(name);
    if (hook === undefined) return;
    this.#mounted.delete(name);
    this.#chains = {};
    await hook.close();
  }

  /** The mounted hooks in calling order. */
  hooks(): readonly MountedHookStatus[] {
    return this.#ordered().map((hook) => hook.status());
  }

  /** Resolves when every hook can be called or has failed to start once. */
  async ready(): Promise<void> {
    await Promise.all(Array.from(this.#mounted.values(), (hook) => hook.port.ready()));
  }

  async beforeLlm(request: HostPayload<LlmRequest>, options?: HostCallOptions): Promise<LlmRequestDecision> {
    const outcome = await this.#intercept("before_llm", new Current(toLlmRequest(request)), options);
    return { ...toDecision(outcome), request: outcome.current.value };
  }

  async afterLlm(response: HostPayload<LlmResponse>, options?: HostCallOptions): Promise<LlmResponseDecision> {
    const outcome = await this.#intercept("after_llm", new Current(toLlmResponse(response)), options);
    return { ...toDecision(outcome), response: outcome.current.value };
  }

  async beforeTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCallDecision> {
    const outcome = await this.#intercept("before_tool", new Current(toToolCall(call)), options);
    return { ...toToolDecision(outcome), call: outcome.current.value };
  }

  async afterTool(result: HostPayload<ToolOutcome>, options?: HostCallOptions): Promise<ToolOutcomeDecision> {
    const outcome = await this.#intercept("after_tool", new Current(toToolOutcome(result)), options);
    return { ...toDecision(outcome), outcome: outcome.current.value };
  }

  async approveTool(request: HostPayload<ToolApproval>, options?: HostCallOptions): Promise<ApprovalDecision> {
    const current = new Current(toToolApproval(request));
    const call = { rules: this.#approvalRules, ...options };
    return toApprovalDecision(await this.#run(this.#chain("approve_tool"), current, call));
  }

  async checkTool(call: HostPayload<ToolCall>, options?: CheckToolOptions): Promise<ToolCheckDecision> {
    this.#callCount += 1;
    try {
      return await this.#checkTool(call, options);
    } finally {
      this.#leave();
    }
  }

  async #checkTool(call: HostPayload<ToolCall>, options?: CheckToolOptions): Promise<ToolCheckDecision> {
    const hooks = this.#chain("before_tool");
    const startedAtMs = this.#now();
    const outcome = await this.#intercept("before_tool", new Current(toToolCall(call)), options);
    const before = { ...toToolDecision(outcome), call: outcome.current.value };
    const goesOn = before.action === "continue" && options?.beforeApproval !== undefined;
    const decision: ToolCallDecision = goesOn ? await options.beforeApproval(before) : before;
    const responder = hooks.find(({ name }) => name === outcome.halt?.hook);
    const needsApproval =
      decision.action === "continue" ||
      (decision.action === "respond" && responder?.trust.respondRequiresApproval === true);
    if (!needsApproval) return toToolCheck(decision, undefined);
    const timeoutMs = options?.timeoutMs === undefined ? undefined : options.timeoutMs - (this.#now() - startedAtMs);
    return toToolCheck(decision, await this.approveTool(decision.call, { ...options, timeoutMs }));
  }

  /** There are no YAML hooks here: nothing is changed, whatever the event. */
  async run(_context: HostContext, options?: HostCallOptions): Promise<LifecycleOutcome> {
    if (this.#closed) throw new HookgateError("ERR_CLOSED", "the hook manager is closed");
    if (options?.signal?.aborted === true) {
      throw new HookgateError("ERR_ABORTED", "the host aborted the call", { cause: options.signal.reason });
    }
    return { result: {}, halted: false, trace: { id: crypto.randomUUID(), records: [] } };
  }

  emit(event: HostEvent): void {
    if (this.#closed) return;
    const observers = Array.from(this.#mounted.values(), (hook) => hook.events).filter((queue) => queue !== undefined);
    if (observers.length === 0) return;
    // Observers are told later, when the host may have gone on changing its objects.
    const copy = this.#toEvent(event);
    if (copy !== undefined) for (const queue of observers) queue.push(copy);
  }

  async flush(timeoutMs: number): Promise<void> {
    const drained = Promise.all(Array.from(this.#mounted.values(), async (hook) => hook.events?.drained()));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(timeoutMs, MAX_TIMEOUT_MS));
    });
    await Promise.race([drained, timeout]);
    clearTimeout(timer);
  }

  /**
   * Closes it once the calls under way are answered and the events emitted so far are delivered. Nothing new may be asked
   * of it from now on; calls are bounded by their hooks' deadlines.
   */
  async retire(): Promise<void> {
    if (this.#callCount > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.flush(MAX_TIMEOUT_MS);
    await this.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#chains = {};
    this.#closing ??= Promise.all(Array.from(this.#mounted.values(), (hook) => hook.close()));
    await this.#closing;
  }

  #leave(): void {
    this.#callCount -= 1;
    if (this.#callCount === 0) this.#onIdle?.();
  }

  #toMounted(port: HookPort, options: MountOptions & { readonly priority: number }): MountedHook {
    const { name, priority, keptFrom } = options;
    const kept = keptFrom === undefined ? undefined : keptFrom.#mounted.get(name);
    const trust = toTrust(port.source, options);
    const { observerMs, interceptorMs, approvalMs } = this.#timeouts;
    const ranked = { name, source: port.source, priority };
    const chainHook = (point: HookPoint): TrustedHook<Origin> => ({
      name,
      source: port.source,
      timeoutMs: point === "approve_tool" ? approvalMs : interceptorMs,
      policy: point === "approve_tool" ? failClosed : failOpen,
      trust,
      call: (current, scope) => port.call(point, current, scope),
    });
    const observer: Observer | undefined = port.observes && {
      name,
      source: port.source,
      timeoutMs: observerMs,
      policy: failOpen,
      call: (event, scope) => port.notify(event, scope),
      matches: (kind) => port.observes?.matches(kind) === true,
    };
    const events = observer && new EventQueue(observer, { ...this.#queueOptions, previous: kept?.events });
    return new MountedHook({ ranked, port, trust, chainHook, events, log: this.#log, kept });
  }

  #ordered(): readonly MountedHook[] {
    return [...this.#mounted.values()].toSorted((a, b) => compareRank(a.ranked, b.ranked));
  }

  #chain(point: HookPoint): readonly MountedChainHook[] {
    return (this.#chains[point] ??= this.#ordered().flatMap((hook) => hook.chainHook(point) ?? []));
  }

  #intercept<P extends Origin>(
    point: InterceptorPoint,
    input: Current<P>,
    options: HostCallOptions | undefined,
  ): Promise<ChainOutcome<P, InterceptorHalt>> {
    return this.#run<P, InterceptorHalt>(this.#chain(point), input, {
      rules: this.#rules[point],
      ...options,
    });
  }

  async #run<P extends Origin, V>(
    chain: readonly MountedChainHook[],
    input: Current<P>,
    { rules, signal, timeoutMs }: HostCallOptions & { readonly rules: ChainRules<P, V, TrustedHook<P>> },
  ): Promise<ChainOutcome<P, V>> {
    if (this.#closed) throw new HookgateError("ERR_CLOSED", "the hook manager is closed");
    this.#callCount += 1;
    const outcome = await runChain<P, V, TrustedHook<P>>(chain, input, { rules, signal, timeoutMs, now: this.#now });
    this.#leave();
    // One record for each hook that was called: not by name, for another hook may have that by now.
    for (const [index, record] of outcome.records.entries()) chain[index]?.mounted.count(record);
    if (outcome.aborted) {
      throw new HookgateError("ERR_ABORTED", `the host aborted ${rules.point}`, { cause: signal?.reason });
    }
    return outcome;
  }

  #toEvent(event: HostEvent): Current<HookEvent> | undefined {
    let kind: string | undefined;
    try {
      const { Kind, Time, Meta, Payload } = event;
      kind = Kind;
      const copy = structuredClone({ Meta, Payload });
      return new Current<HookEvent>({
        Kind: toDocumentedKind(Kind),
        Time: Time ?? new Date().toISOString(),
        Meta: toMeta(copy.Meta),
        ...(Payload === undefined ? {} : { Payload: copy.Payload }),
      });
    } catch {
      this.#log.warn("event dropped: it cannot be copied", { kind });
      return undefined;
    }
  }

  #reportForeign(hook: string, keys: readonly string[]): void {
    if (this.#foreignReported.has(hook)) return;
    this.#foreignReported.add(hook);
    this.#log.warn(
      'the reply has keys that are not read: of another dialect ("dialect": "picoclaw-docs" in the config), or in another letter case; docs/protocol.md has the right ones',
      { hook, keys: keys.join(", ").slice(0, 200) },
    );
  }
}

function isPort(hook: Hook | HookPort): hook is HookPort {
  return "points" in hook && "source" in hook;
}

function toTimeout(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined || value <= 0) return fallback;
  if (!Number.isFinite(value) || value > MAX_TIMEOUT_MS) {
    throw new RangeError(`timeouts.${name}: expected milliseconds up to ${MAX_TIMEOUT_MS}, got ${value}`);
  }
  return value;
}
