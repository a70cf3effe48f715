import type { OnDecision } from "../chain/index.ts";
import type { LifecycleHost } from "../jcli/host.ts";
import { MAX_DELAY_MS } from "../wait.ts";
import type { HookResult } from "../jcli/result.ts";
import type { HostEvent } from "./event.ts";
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
  Trace,
} from "./host.ts";
import {
  applyToCall,
  applyToOutcome,
  applyToRequest,
  applyToResponse,
  toCallContext,
  toOutcomeContext,
  toRequestContext,
  toResponseContext,
} from "./lifecycle.ts";
import { JointDecision, type JointVerdict, toRunDecision } from "./joint-decision.ts";
import type { HookManager } from "./manager.ts";
import { toCallOptions } from "./call-options.ts";
import type { ManagerCallOptions } from "./manager-options.ts";
import type { MountedHookStatus } from "./mounted.ts";
import type {
  HostPayload,
  LlmRequest,
  LlmResponse,
  Message,
  Origin,
  ToolApproval,
  ToolCall,
  ToolOutcome,
} from "./payload.ts";
import type { RetirableHost } from "./reloadable.ts";
import { UnderWay } from "./under-way.ts";

/** The two systems of {@link createCompositeHost}. */
export interface CompositeHostParts {
  readonly hooks: HookManager;
  readonly lifecycle: LifecycleHost;
  /** Told of each decision of both, in the place of what the manager tells. @default nobody */
  readonly onDecision?: OnDecision | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
  /** The host whose place it takes: the model calls under way there are known here. @default none */
  readonly previous?: HookHost | undefined;
}

/**
 * Asks the hooks of both systems as one host: at each point the point's own hooks first, then those of the event that
 * belongs to it, in the same call. Closing it closes both.
 * @see docs/yaml.md, "Both systems in one turn"
 */
export function createCompositeHost(parts: CompositeHostParts): RetirableHost {
  return new CompositeHost(parts);
}

class CompositeHost implements RetirableHost {
  readonly #hooks: HookManager;
  readonly #lifecycle: LifecycleHost;
  /** The conversations of model calls under way, which an answer does not carry, by their turn and iteration. */
  readonly #asked: Map<string, readonly Message[]>;
  readonly #onDecision: OnDecision | undefined;
  readonly #now: () => number;
  readonly #calls = new UnderWay();

  constructor({ hooks, lifecycle, onDecision, previous, now = monotonic }: CompositeHostParts) {
    this.#now = now;
    this.#onDecision = onDecision;
    this.#hooks = hooks;
    this.#lifecycle = lifecycle;
    this.#asked = previous instanceof CompositeHost ? previous.#asked : new Map<string, readonly Message[]>();
  }

  get generation(): number {
    return this.#hooks.generation;
  }

  hooks(): readonly MountedHookStatus[] {
    return this.#hooks.hooks();
  }

  beforeLlm(request: HostPayload<LlmRequest>, options?: HostCallOptions): Promise<LlmRequestDecision> {
    return this.#joined((own) => this.#beforeLlm(request, own), options);
  }

  async #beforeLlm(request: HostPayload<LlmRequest>, options?: ManagerCallOptions): Promise<LlmRequestDecision> {
    const before = await this.#hooks.beforeLlm(request, options);
    if (before.action !== "continue") return before;
    const outcome = await this.#lifecycle.run(toRequestContext(before.request), options);
    if (outcome.result.action !== undefined) return { ...before, ...toAbort(outcome, before.trace) };
    const { retry_feedback: _, ...said } = toSaid(outcome.result);
    const changed = applyToRequest(before.request, outcome.result);
    this.#keep(changed);
    return {
      ...before,
      ...said,
      ...toChange(before, { isChanged: changed !== before.request, outcome }),
      request: changed,
    };
  }

  afterLlm(response: HostPayload<LlmResponse>, options?: HostCallOptions): Promise<LlmResponseDecision> {
    return this.#joined((own) => this.#afterLlm(response, own), options);
  }

  async #afterLlm(response: HostPayload<LlmResponse>, options?: ManagerCallOptions): Promise<LlmResponseDecision> {
    const after = await this.#hooks.afterLlm(response, options);
    const key = keyOf(after.response);
    const messages = this.#asked.get(key);
    this.#asked.delete(key);
    if (after.action !== "continue") return after;
    const outcome = await this.#lifecycle.run(toResponseContext(after.response, messages), options);
    if (outcome.result.action !== undefined) return { ...after, ...toAbort(outcome, after.trace) };
    const changed = applyToResponse(after.response, outcome.result);
    const change = toChange(after, { isChanged: changed !== after.response, outcome });
    return { ...after, ...toSaid(outcome.result), ...change, response: changed };
  }

  beforeTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCallDecision> {
    return this.#joined((own) => this.#beforeTool(call, own), options);
  }

  async #beforeTool(call: HostPayload<ToolCall>, options?: ManagerCallOptions): Promise<ToolCallDecision> {
    const before = await this.#hooks.beforeTool(call, options);
    return before.action === "continue" ? this.#beforeExecution(before, options) : before;
  }

  approveTool(request: HostPayload<ToolApproval>, options?: HostCallOptions): Promise<ApprovalDecision> {
    return this.#hooks.approveTool(request, options);
  }

  async checkTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCheckDecision> {
    const joint = this.#onDecision && new JointDecision(this.#onDecision);
    const shared = shareTime(options, this.#now);
    const beforeApproval = async (before: ToolCallDecision): Promise<ToolCallDecision> => {
      const decision = await this.#beforeExecution(before, shared);
      joint?.end(decision);
      return decision;
    };
    this.#calls.enter();
    try {
      const checked = await this.#hooks.checkTool(call, {
        ...toCallOptions(options),
        beforeApproval,
        onDecision: joint?.hold,
      });
      joint?.end();
      return checked;
    } catch (error) {
      joint?.abort();
      throw error;
    } finally {
      this.#calls.leave();
    }
  }

  afterTool(outcome: HostPayload<ToolOutcome>, options?: HostCallOptions): Promise<ToolOutcomeDecision> {
    return this.#joined((own) => this.#afterTool(outcome, own), options);
  }

  async #afterTool(outcome: HostPayload<ToolOutcome>, options?: ManagerCallOptions): Promise<ToolOutcomeDecision> {
    const after = await this.#hooks.afterTool(outcome, options);
    if (after.action !== "continue") return after;
    const ran = await this.#lifecycle.run(toOutcomeContext(after.outcome), options);
    const changed = applyToOutcome(after.outcome, ran.result);
    const change = toChange(after, { isChanged: changed !== after.outcome, outcome: ran });
    return { ...after, ...toSaid(ran.result), ...change, outcome: changed };
  }

  async run(context: HostContext, options: HostCallOptions = {}): Promise<LifecycleOutcome> {
    this.#calls.enter();
    const startedAtMs = performance.now();
    try {
      const outcome = await this.#lifecycle.run(context, options);
      if (this.#onDecision !== undefined && outcome.trace.records.length > 0) {
        const ms = performance.now() - startedAtMs;
        this.#onDecision(toRunDecision(context, outcome, { ...toCallOptions(options), ms, reason: toReason(outcome) }));
      }
      return outcome;
    } finally {
      this.#calls.leave();
    }
  }

  emit(event: HostEvent): void {
    this.#hooks.emit(event);
  }

  async flush(timeoutMs: number): Promise<void> {
    await Promise.all([this.#hooks.flush(timeoutMs), this.#lifecycle.flush(timeoutMs)]);
  }

  async retire(): Promise<void> {
    await this.#calls.idle();
    await this.#hooks.retire();
    await this.#lifecycle.flush(MAX_DELAY_MS);
    await this.#lifecycle.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#hooks.close(), this.#lifecycle.close()]);
  }

  /** Makes a call that the hooks of both systems decide, and tells of the decision. */
  async #joined<D extends JointVerdict>(
    decide: (options: ManagerCallOptions | undefined) => Promise<D>,
    options: HostCallOptions | undefined,
  ): Promise<D> {
    this.#calls.enter();
    const joint = this.#onDecision && new JointDecision(this.#onDecision);
    try {
      const decision = await decide(shareTime({ ...toCallOptions(options), onDecision: joint?.hold }, this.#now));
      joint?.end(decision);
      return decision;
    } catch (error) {
      joint?.abort();
      throw error;
    } finally {
      this.#calls.leave();
    }
  }

  #keep(request: LlmRequest): void {
    const { meta, messages } = request;
    if (meta.TurnID === "" || messages === undefined) return;
    const [oldest] = this.#asked.keys();
    // A model call that failed has no answer, and must not be kept for ever.
    if (oldest !== undefined && this.#asked.size >= MAX_ASKED) this.#asked.delete(oldest);
    this.#asked.set(keyOf(request), messages);
  }

  async #beforeExecution(before: ToolCallDecision, options?: HostCallOptions): Promise<ToolCallDecision> {
    const outcome = await this.#lifecycle.run(toCallContext(before.call), options);
    const { action } = outcome.result;
    if (action === "stop") return { ...before, ...toAbort(outcome, before.trace) };
    const call = applyToCall(before.call, outcome.result);
    if (action === undefined && call !== undefined) {
      return {
        ...before,
        ...toSaid(outcome.result),
        ...toChange(before, { isChanged: call !== before.call, outcome }),
        call,
      };
    }
    const reason = action === "skip" ? toReason(outcome) : "the tool_arguments of a hook are not a JSON object";
    return {
      ...before,
      ...toSaid(outcome.result),
      action: "deny_tool",
      reason,
      trace: join(before.trace, outcome.trace),
    };
  }
}

const monotonic = (): number => performance.now();

/**
 * Options of which `timeoutMs` is what is left of it when it is read: a point's own hooks and those of the event that
 * belongs to it have it together.
 */
function shareTime(options: ManagerCallOptions | undefined, now: () => number): ManagerCallOptions | undefined {
  const timeoutMs = options?.timeoutMs;
  if (options === undefined || timeoutMs === undefined) return options;
  const startedAtMs = now();
  const left = (): number => Math.max(0, timeoutMs - (now() - startedAtMs));
  return Object.defineProperty(toCallOptions(options), "timeoutMs", { get: left, enumerable: true });
}

const MAX_ASKED = 256;

function keyOf({ meta: { TurnID, Iteration } }: Origin): string {
  return `${TurnID} ${Iteration}`;
}

interface Change {
  readonly changed: boolean;
  readonly trace: Trace;
}

function toChange(
  before: Change,
  { isChanged, outcome }: { readonly isChanged: boolean; readonly outcome: LifecycleOutcome },
): Change {
  return { changed: before.changed || isChanged, trace: join(before.trace, outcome.trace) };
}

/** A stop ends the step and the turn it is part of. */
function toAbort(
  outcome: LifecycleOutcome,
  before: Trace,
): { readonly action: "abort_turn"; readonly reason: string; readonly trace: Trace } & Said {
  return {
    action: "abort_turn",
    reason: toReason(outcome),
    trace: join(before, outcome.trace),
    ...toSaid(outcome.result),
  };
}

/** Why a chain ended: what a hook said, or which hook it was. */
function toReason({ result, trace }: LifecycleOutcome): string {
  const last = trace.records.at(-1);
  if (result.retry_feedback !== undefined) return result.retry_feedback;
  if (last?.outcome === "no_verdict") return `hook "${last.hook}" ${last.kind === "timeout" ? "timed out" : "failed"}`;
  return `hook "${last?.hook ?? "?"}" said ${result.action ?? "nothing"}`;
}

interface Said {
  readonly system_message?: string;
  readonly retry_feedback?: string;
}

function toSaid({ system_message, retry_feedback }: HookResult): Said {
  return {
    ...(system_message !== undefined && { system_message }),
    ...(retry_feedback !== undefined && { retry_feedback }),
  };
}

function join(before: Trace, { records }: Trace): Trace {
  return { id: before.id, records: [...before.records, ...records] };
}
