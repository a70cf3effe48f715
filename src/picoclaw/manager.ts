import {
  type ChainOutcome,
  type ChainRules,
  compareRank,
  Current,
  failOpen,
  type HookRecord,
  runChain,
} from "../chain/index.ts";
import { HookgateError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import { MAX_DELAY_MS, settlesWithin } from "../wait.ts";
import { type ApprovalEnd, toApprovalDecision, toDecision, toToolCheck, toToolDecision } from "./decision.ts";
import { toCallOptions } from "./call-options.ts";
import { PointHooks } from "./chain-hook.ts";
import { copyEvent } from "./event-copy.ts";
import type { HostEvent } from "./event.ts";
import { callLater } from "./detached.ts";
import { EventQueue, type EventQueueOptions, type Observer } from "./fan-out.ts";
import { ForeignKeys } from "./foreign-keys.ts";
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
import { type HookLimits, toLimits } from "./limits.ts";
import { createLocalPort } from "./local.ts";
import type { CheckToolOptions, HookManagerOptions, ManagerCallOptions, MountOptions } from "./manager-options.ts";
import { type MountedChainHook, MountedHook, type MountedHookStatus } from "./mounted.ts";
import { toLlmRequest, toLlmResponse, toToolApproval, toToolCall, toToolOutcome } from "./normalize.ts";
import type { HostPayload, LlmRequest, LlmResponse, Origin, ToolApproval, ToolCall, ToolOutcome } from "./payload.ts";
import { assertOperable } from "./operation.ts";
import { PointChain } from "./point-chain.ts";
import { type HookPoint, type InterceptorPoint, INTERCEPTORS } from "./point.ts";
import { type HookPort, isPort } from "./port.ts";
import { BoundedQueue } from "./queue.ts";
import { createApprovalRules, createInterceptorRules, type InterceptorHalt, type InterceptorRules } from "./reply.ts";
import { checkTraceparent, type ObservationOptions, type ObservedHalt, startObservation } from "./observation.ts";
import { toTrust, type TrustedHook } from "./trust.ts";
import { UnderWay } from "./under-way.ts";

/** Reaches the hooks of one agent: keeps their order, calls them, and tells observers. */
export class HookManager implements HookHost {
  /** Which configuration of the host this is, counted from 1. */
  readonly generation: number;
  readonly #limits: HookLimits;
  readonly #queueOptions: EventQueueOptions;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #watchers: ObservationOptions;
  readonly #mounted = new Map<string, MountedHook>();
  readonly #foreignKeys: ForeignKeys;
  readonly #rules: Readonly<Record<InterceptorPoint, InterceptorRules>>;
  readonly #approvalRules: ReturnType<typeof createApprovalRules>;
  readonly #onDetached: HookManagerOptions["onDetached"];
  readonly #calls = new UnderWay();
  #chains: Partial<Record<HookPoint, PointChain<MountedChainHook>>> = {};
  #closed = false;
  #closing: Promise<unknown> | undefined;

  /** @throws {RangeError} when a timeout or the queue's bound is out of range */
  constructor(options: HookManagerOptions = {}) {
    const { maxQueuedEvents = 64, log = silentLog, now, currentRequest, waitUntil, onDetached } = options;
    this.generation = options.generation ?? 1;
    this.#limits = toLimits(options);
    this.#onDetached = onDetached;
    if (!Number.isInteger(maxQueuedEvents) || maxQueuedEvents < 1 || maxQueuedEvents > 65_536) {
      throw new RangeError(`maxQueuedEvents: expected an integer from 1 to 65536, got ${maxQueuedEvents}`);
    }
    this.#watchers = { onDecision: options.onDecision, tracer: options.tracer };
    this.#queueOptions = { maxQueuedEvents, log, now, currentRequest, waitUntil };
    this.#log = log;
    this.#now = now ?? (() => performance.now());
    this.#foreignKeys = new ForeignKeys(log);
    const report = (hook: string, keys: readonly string[]): void => this.#foreignKeys.report(hook, keys);
    this.#approvalRules = createApprovalRules(report);
    this.#rules = {
      before_llm: createInterceptorRules(INTERCEPTORS.before_llm, report),
      after_llm: createInterceptorRules(INTERCEPTORS.after_llm, report),
      before_tool: createInterceptorRules(INTERCEPTORS.before_tool, report),
      after_tool: createInterceptorRules(INTERCEPTORS.after_tool, report),
    };
  }

  /**
   * Adds a hook. Calls that are under way do not see it.
   * @throws {TypeError} when the name is empty, the hook is missing, the priority is not a number, a grant is unknown or
   *   an option contradicts another
   * @throws {RangeError} when a number is out of its bounds
   * @throws {HookgateError} `ERR_CLOSED` after {@link HookManager.close}
   */
  async mount(hook: Hook | HookPort, options: MountOptions): Promise<void> {
    const { name, priority = 0 } = options;
    if (this.#closed) throw new HookgateError("ERR_CLOSED", `cannot mount hook "${name}": the manager is closed`);
    if (typeof name !== "string" || name === "") throw new TypeError("mount: name must not be empty");
    if (typeof hook !== "object" || hook === null) throw new TypeError(`mount: hook "${name}" is missing`);
    if (!Number.isFinite(priority)) throw new TypeError(`mount: priority of hook "${name}" must be a number`);
    const port = isPort(hook) ? hook : createLocalPort(hook, { log: this.#log });
    assertOperable(port.points, options);
    const previous = this.#mounted.get(name);
    this.#mounted.set(name, this.#toMounted(port, { ...options, priority }));
    this.#foreignKeys.forget(name);
    this.#forgetChains();
    await previous?.close();
  }

  /** Removes a hook and closes it; an unknown name does nothing. Calls that are under way still reach it. */
  async unmount(name: string): Promise<void> {
    const hook = this.#mounted.get(name);
    if (hook === undefined) return;
    this.#mounted.delete(name);
    this.#forgetChains();
    await hook.close();
  }

  /** The mounted hooks in calling order. */
  hooks(): readonly MountedHookStatus[] {
    for (const chain of Object.values(this.#chains)) chain.settleCounts();
    return this.#ordered().map((hook) => hook.status());
  }

  /** Resolves when every hook can be called or has failed to start once. */
  async ready(): Promise<void> {
    await Promise.all(Array.from(this.#mounted.values(), (hook) => hook.port.ready()));
  }

  async beforeLlm(request: HostPayload<LlmRequest>, options?: ManagerCallOptions): Promise<LlmRequestDecision> {
    const outcome = await this.#intercept("before_llm", new Current(toLlmRequest(request)), options);
    return { ...toDecision(outcome), request: outcome.current.value };
  }

  async afterLlm(response: HostPayload<LlmResponse>, options?: ManagerCallOptions): Promise<LlmResponseDecision> {
    const outcome = await this.#intercept("after_llm", new Current(toLlmResponse(response)), options);
    return { ...toDecision(outcome), response: outcome.current.value };
  }

  async beforeTool(call: HostPayload<ToolCall>, options?: ManagerCallOptions): Promise<ToolCallDecision> {
    const outcome = await this.#intercept("before_tool", new Current(toToolCall(call)), options);
    return { ...toToolDecision(outcome), call: outcome.current.value };
  }

  async afterTool(result: HostPayload<ToolOutcome>, options?: ManagerCallOptions): Promise<ToolOutcomeDecision> {
    const outcome = await this.#intercept("after_tool", new Current(toToolOutcome(result)), options);
    return { ...toDecision(outcome), outcome: outcome.current.value };
  }

  async approveTool(request: HostPayload<ToolApproval>, options?: HostCallOptions): Promise<ApprovalDecision> {
    return (await this.#approve(request, options)).approval;
  }

  async checkTool(call: HostPayload<ToolCall>, options?: CheckToolOptions): Promise<ToolCheckDecision> {
    // Between its two points it is under way too.
    this.#calls.enter();
    try {
      return await this.#checkTool(call, options);
    } finally {
      this.#calls.leave();
    }
  }

  async #checkTool(call: HostPayload<ToolCall>, options?: CheckToolOptions): Promise<ToolCheckDecision> {
    const hooks = this.#chain("before_tool").all;
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
    const traceparent = checkTraceparent(options?.traceparent) ?? outcome.traceparent;
    const timeoutMs = options?.timeoutMs === undefined ? undefined : options.timeoutMs - (this.#now() - startedAtMs);
    const left = { ...toCallOptions(options), timeoutMs, traceparent, onDecision: undefined };
    return toToolCheck(decision, await this.#approve(decision.call, left));
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
    const copy = copyEvent(event, this.#log);
    if (copy !== undefined) for (const queue of observers) queue.push(copy);
  }

  async flush(timeoutMs: number): Promise<void> {
    const drained = Promise.all(
      Array.from(this.#mounted.values(), (hook) => Promise.all([hook.events?.drained(), hook.later.drained()])),
    );
    await settlesWithin(drained, timeoutMs);
  }

  /**
   * Closes it once the calls under way are answered and the events emitted so far are delivered. Nothing new may be asked
   * of it from now on; calls are bounded by their hooks' deadlines.
   */
  async retire(): Promise<void> {
    await this.#calls.idle();
    await this.flush(MAX_DELAY_MS);
    await this.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#forgetChains();
    this.#closing ??= Promise.all(Array.from(this.#mounted.values(), (hook) => hook.close()));
    await this.#closing;
  }

  #toMounted(port: HookPort, { keptFrom, ...options }: MountOptions & { readonly priority: number }): MountedHook {
    const { name, priority } = options;
    const kept = keptFrom === undefined ? undefined : keptFrom.#mounted.get(name);
    const { maxQueuedEvents: maxWaiting, currentRequest, waitUntil } = this.#queueOptions;
    const trust = toTrust(port.source, options.readOnly === true ? { ...options, grants: [] } : options);
    const defaults = this.#limits;
    const hooks = new PointHooks({
      name,
      port,
      trust,
      operation: options,
      defaults,
      now: this.#now,
      kept: kept?.hooks,
    });
    const observer: Observer | undefined = port.observes && {
      name,
      source: port.source,
      timeoutMs: options.timeoutMs ?? this.#limits.observerMs,
      policy: failOpen,
      call: (event, scope) => hooks.notify(scope, () => port.notify(event, scope)),
      matches: (kind) => port.observes?.matches(kind) === true,
    };
    return new MountedHook({
      ranked: { name, source: port.source, priority },
      port,
      trust,
      hooks,
      operation: options,
      events: observer && new EventQueue(observer, { ...this.#queueOptions, previous: kept?.events }),
      later: new BoundedQueue({ maxWaiting, currentRequest, waitUntil, run: (work) => work(), previous: kept?.later }),
      log: this.#log,
      kept,
      now: this.#now,
    });
  }

  #ordered(): readonly MountedHook[] {
    return [...this.#mounted.values()].toSorted((a, b) => compareRank(a.ranked, b.ranked));
  }

  #chain(point: HookPoint): PointChain<MountedChainHook> {
    return (this.#chains[point] ??= new PointChain(this.#ordered().flatMap((hook) => hook.chainHook(point) ?? [])));
  }

  #forgetChains(): void {
    for (const chain of Object.values(this.#chains)) chain.settleCounts();
    this.#chains = {};
  }

  async #approve(request: HostPayload<ToolApproval>, options: ManagerCallOptions | undefined): Promise<ApprovalEnd> {
    const call = { rules: this.#approvalRules, budgetMs: this.#limits.approvalBudgetMs, options };
    const outcome = await this.#run(this.#chain("approve_tool"), new Current(toToolApproval(request)), call);
    return { approval: toApprovalDecision(outcome), abortsTurn: outcome.failure?.effect === "abort_turn" };
  }

  #intercept<P extends Origin>(
    point: InterceptorPoint,
    input: Current<P>,
    options: ManagerCallOptions | undefined,
  ): Promise<ChainOutcome<P, InterceptorHalt>> {
    return this.#run<P, InterceptorHalt>(this.#chain(point), input, {
      rules: this.#rules[point],
      budgetMs: this.#limits.interceptorBudgetMs,
      options,
    });
  }

  async #run<P extends Origin, V extends ObservedHalt>(
    chain: PointChain<MountedChainHook>,
    input: Current<P>,
    { rules, budgetMs, options = {} }: RunContext<P, V>,
  ): Promise<ChainOutcome<P, V>> {
    const { signal, timeoutMs, caller, onDecision } = options;
    if (this.#closed) throw new HookgateError("ERR_CLOSED", "the hook manager is closed");
    const given = checkTraceparent(options.traceparent);
    const call = { payload: input.value, caller, traceparent: given, onDecision };
    const observer = startObservation(rules.point, call, this.#watchers);
    const traceparent = observer?.traceparent ?? given;
    this.#calls.enter();
    try {
      const outcome = await runChain<P, V, MountedChainHook>(chain.select(input.value), input, {
        rules,
        signal,
        timeoutMs,
        budgetMs,
        whenExhausted: "ask_hooks",
        now: this.#now,
        onRecord: count,
        reselect: chain.reselect,
        observer,
        id: observer?.id,
        traceparent,
        caller,
      });
      observer?.end(outcome);
      if (outcome.detached !== undefined) {
        const to = { log: this.#log, onDetached: this.#onDetached, onDecision: this.#watchers.onDecision };
        const later = { rules, traceparent, now: this.#now, id: outcome.id, caller, ...to };
        for (const detached of outcome.detached) callLater(detached, later);
      }
      if (outcome.aborted) {
        throw new HookgateError("ERR_ABORTED", `the host aborted ${rules.point}`, { cause: signal?.reason });
      }
      return outcome;
    } finally {
      this.#calls.leave();
    }
  }
}

interface RunContext<P extends Origin, V> {
  readonly rules: ChainRules<P, V, TrustedHook<P>>;
  readonly budgetMs: number;
  readonly options: ManagerCallOptions | undefined;
}

const count = (record: HookRecord, { mounted }: MountedChainHook): void => mounted.count(record);
