import { HookgateError, isHookCallError, type NoVerdictKind } from "../errors.ts";
import { MAX_DELAY_MS } from "../wait.ts";
import { silentLog } from "../log.ts";
import { RepeatLog } from "../log-limit.ts";
import { encodeContext, isActionOf, RUN_METHOD } from "../jcli/codec.ts";
import {
  encodePayload,
  INTERCEPTORS,
  toLlmRequest,
  toLlmResponse,
  toToolApproval,
  toToolCall,
  toToolOutcome,
} from "../picoclaw/codec.ts";
import type {
  ApprovalDecision,
  HookHost,
  HostCallOptions,
  HostContext,
  HostEvent,
  HostPayload,
  LifecycleOutcome,
  LlmRequest,
  LlmRequestDecision,
  LlmResponse,
  LlmResponseDecision,
  Origin,
  ToolApproval,
  ToolCall,
  ToolCallDecision,
  ToolCheckDecision,
  ToolOutcome,
  ToolOutcomeDecision,
  Trace,
} from "../picoclaw/index.ts";
import type { GatewayApprovals } from "./approval-options.ts";
import { createGatewayApprovals } from "./approvals.ts";
import { GatewayCaller } from "./call.ts";
import {
  type FlowDecision,
  parseApprovalDecision,
  parseCheckDecision,
  parseFlowDecision,
  parseLifecycleOutcome,
  parseToolDecision,
  type Sent,
} from "./decision.ts";
import { EventSender } from "./events.ts";
import type { GatewayFetch } from "./fetch.ts";
import type { GatewayClientOptions } from "./options.ts";
import { ClientSigning } from "./signing.ts";
import { parseGatewayUrl, toApiBase } from "./url.ts";

/** How long events that wait may take to leave when the client is closed. */
const CLOSE_MS = 2000;

/** The hooks of a gateway, and the people it asks. */
export interface GatewayClient extends HookHost {
  /** Human approvals. What is asked here is not signed: it needs a token with the scope of each call. */
  readonly approvals: GatewayApprovals;
}

/**
 * Asks the hooks of a gateway over HTTP. It is the same to an agent as a local manager: the same calls give the same
 * decisions. A call that the gateway did not answer is decided by `failure`, and its trace says so; a call that the
 * caller is at fault for (a bad token, bad params) rejects.
 * @throws {TypeError} when the URL, the token or `signing` is not valid
 * @throws {RangeError} when a number is out of range
 * @see docs/protocol.md, "The gateway's interface for hosts"
 */
export function createGatewayClient(options: GatewayClientOptions): GatewayClient {
  return new RemoteHost(options);
}

interface Ask<T> {
  readonly method: string;
  /** The point whose hooks were not asked when there is no answer. */
  readonly point: string;
  /** As JSON text. */
  readonly params: () => string;
  readonly timeoutMs: number;
  readonly options: HostCallOptions | undefined;
  readonly parse: (reply: unknown) => T;
  readonly onNoVerdict: (failure: Failure) => T;
  readonly policy: "continue" | "abort_turn" | "deny";
}

interface Failure {
  readonly trace: Trace;
  /** Why, as the local manager words it for one of its hooks. */
  readonly how: "failed" | "timed out";
}

class RemoteHost implements GatewayClient {
  readonly approvals: GatewayApprovals;
  readonly #caller: GatewayCaller;
  readonly #events: EventSender;
  readonly #interceptorMs: number;
  readonly #approvalMs: number;
  readonly #lifecycleMs: number;
  readonly #interceptors: "continue" | "abort_turn";
  readonly #repeats: RepeatLog;
  readonly #now: () => number;
  #isClosed = false;

  constructor(options: GatewayClientOptions) {
    const {
      token,
      timeouts = {},
      failure = {},
      log = silentLog,
      fetch = (url, init) => globalFetch(url, init),
    } = options;
    if (token !== undefined && !/^[\w.~+/-]+=*$/.test(token)) {
      throw new TypeError("token: expected a bearer token: letters, digits and -._~+/ only");
    }
    const { interceptors = "continue", approvals = "deny" } = failure;
    if (interceptors !== "continue" && interceptors !== "abort_turn") {
      throw new TypeError(`failure.interceptors: expected "continue" or "abort_turn", got "${String(interceptors)}"`);
    }
    if (approvals !== "deny") throw new TypeError(`failure.approvals: expected "deny", got "${String(approvals)}"`);
    const url = parseGatewayUrl(options.url, { allowInsecure: options.allowInsecure === true });
    const maxReplyBytes = toPositive("maxReplyBytes", options.maxReplyBytes, 16 * 1024 * 1024);
    const eventMs = toPositive("timeouts.eventMs", timeouts.eventMs, 5000);
    this.#interceptorMs = toPositive("timeouts.interceptorMs", timeouts.interceptorMs, 47_000);
    this.#approvalMs = toPositive("timeouts.approvalMs", timeouts.approvalMs, 181_000);
    this.#lifecycleMs = toPositive("timeouts.lifecycleMs", timeouts.lifecycleMs, 31_000);
    this.#interceptors = interceptors;
    const signing = options.signing === undefined ? undefined : new ClientSigning(options.signing, url);
    this.#caller = new GatewayCaller({ url, token, signing, fetch, maxReplyBytes });
    this.#events = new EventSender({
      send: (batch) => this.#caller.notify(batch, { timeoutMs: eventMs }),
      maxQueuedEvents: toPositive("maxQueuedEvents", options.maxQueuedEvents, 1024),
      log,
    });
    this.#now = options.now ?? (() => performance.now());
    this.#repeats = new RepeatLog({ log, now: this.#now });
    const reach = { base: toApiBase(url), token, fetch, maxReplyBytes, now: this.#now };
    this.approvals = createGatewayApprovals({ ...reach, assertOpen: () => this.#assertOpen() });
  }

  async beforeLlm(request: HostPayload<LlmRequest>, options?: HostCallOptions): Promise<LlmRequestDecision> {
    const sent = { spec: INTERCEPTORS.before_llm, payload: toLlmRequest(request) };
    const { payload, ...decision } = await this.#askFlow(sent, options);
    return { ...decision, request: payload };
  }

  async afterLlm(response: HostPayload<LlmResponse>, options?: HostCallOptions): Promise<LlmResponseDecision> {
    const sent = { spec: INTERCEPTORS.after_llm, payload: toLlmResponse(response) };
    const { payload, ...decision } = await this.#askFlow(sent, options);
    return { ...decision, response: payload };
  }

  async beforeTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCallDecision> {
    const sent = { spec: INTERCEPTORS.before_tool, payload: toToolCall(call) };
    const { payload, ...decision } = await this.#askInterceptors(sent, { options, parse: parseToolDecision<ToolCall> });
    return { ...decision, call: payload };
  }

  async afterTool(outcome: HostPayload<ToolOutcome>, options?: HostCallOptions): Promise<ToolOutcomeDecision> {
    const sent = { spec: INTERCEPTORS.after_tool, payload: toToolOutcome(outcome) };
    const { payload, ...decision } = await this.#askFlow(sent, options);
    return { ...decision, outcome: payload };
  }

  approveTool(request: HostPayload<ToolApproval>, options?: HostCallOptions): Promise<ApprovalDecision> {
    return this.#ask<ApprovalDecision>({
      method: "hook.approve_tool",
      point: "approve_tool",
      policy: "deny",
      options,
      params: () => encodePayload(toToolApproval(request)),
      timeoutMs: this.#approvalMs,
      parse: parseApprovalDecision,
      onNoVerdict: ({ trace, how }) => ({ approved: false, reason: toDenial(how), trace }),
    });
  }

  checkTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCheckDecision> {
    const payload = toToolCall(call);
    const isAborting = this.#interceptors === "abort_turn";
    return this.#ask<ToolCheckDecision>({
      method: "hook.check_tool",
      params: () => encodePayload(payload),
      options,
      // Without an answer nobody has approved, whatever the interceptors' policy lets pass.
      point: isAborting ? "before_tool" : "approve_tool",
      policy: isAborting ? "abort_turn" : "deny",
      timeoutMs: Math.min(this.#interceptorMs + this.#approvalMs, MAX_DELAY_MS),
      parse: (reply) => {
        const {
          extra,
          payload: checked,
          ...decision
        } = parseCheckDecision(reply, { spec: INTERCEPTORS.before_tool, payload });
        return { ...extra, ...decision, call: checked };
      },
      onNoVerdict: ({ trace, how }) => ({
        approved: false,
        changed: false,
        call: payload,
        trace,
        action: isAborting ? "abort_turn" : "continue",
        reason: isAborting ? toAbortion(how) : toDenial(how),
      }),
    });
  }

  run(context: HostContext, options?: HostCallOptions): Promise<LifecycleOutcome> {
    const isStopping = this.#interceptors === "abort_turn" && isActionOf(context.event, "stop");
    return this.#ask<LifecycleOutcome>({
      method: RUN_METHOD,
      point: context.event,
      params: () => encodeContext(withoutCwd(context)),
      policy: isStopping ? "abort_turn" : "continue",
      options,
      timeoutMs: this.#lifecycleMs,
      parse: parseLifecycleOutcome,
      onNoVerdict: ({ trace }) => ({ result: isStopping ? { action: "stop" } : {}, halted: isStopping, trace }),
    });
  }

  emit(event: HostEvent): void {
    if (!this.#isClosed) this.#events.push(event);
  }

  flush(timeoutMs: number): Promise<void> {
    return this.#events.flush(timeoutMs);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#events.flush(CLOSE_MS);
    this.#events.close();
    this.#repeats.flush();
  }

  #askFlow<P extends Origin>(sent: Sent<P>, options: HostCallOptions | undefined): Promise<FlowDecision<P>> {
    return this.#askInterceptors(sent, { options, parse: parseFlowDecision<P> });
  }

  #askInterceptors<P extends Origin, T>(
    sent: Sent<P>,
    {
      options,
      parse,
    }: {
      readonly options: HostCallOptions | undefined;
      readonly parse: (reply: unknown, sent: Sent<P>) => T;
    },
  ): Promise<T | FlowDecision<P>> {
    const { spec, payload } = sent;
    const policy = this.#interceptors;
    return this.#ask<T | FlowDecision<P>>({
      method: `hook.${spec.point}`,
      point: spec.point,
      params: () => encodePayload(payload),
      policy,
      options,
      timeoutMs: this.#interceptorMs,
      parse: (reply) => parse(reply, sent),
      onNoVerdict: ({ trace, how }): FlowDecision<P> => ({
        action: policy,
        payload,
        changed: false,
        trace,
        reason: policy === "continue" ? "" : toAbortion(how),
      }),
    });
  }

  async #ask<T>({ method, point, params, timeoutMs, options, parse, onNoVerdict, policy }: Ask<T>): Promise<T> {
    this.#assertOpen();
    const startedAtMs = this.#now();
    try {
      const limitMs = Math.max(1, Math.min(timeoutMs, options?.timeoutMs ?? timeoutMs));
      return parse(await this.#caller.call({ method, params: params(), timeoutMs: limitMs, signal: options?.signal }));
    } catch (error) {
      if (!isHookCallError(error)) throw error;
      const { kind } = error;
      const failure = { point, kind, error: error.message.slice(0, 300), ms: this.#now() - startedAtMs };
      return onNoVerdict(this.#record(failure, policy === "continue"));
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new HookgateError("ERR_CLOSED", "the gateway client is closed");
  }

  #record({ point, kind, error, ms }: NoVerdictFields, isOpen: boolean): Failure {
    const fields = { point, kind, error, effect: isOpen ? "skipped" : "not skipped" };
    this.#repeats.warn(`${point} ${kind}`, "the gateway gave no verdict", fields);
    const base = { hook: "gateway", source: "http", point, outcome: "no_verdict", kind, error, ms, attempt: 1 };
    const records: Trace["records"] = [isOpen ? { ...base, failed_open: true } : base];
    return { trace: { id: crypto.randomUUID(), records }, how: kind === "timeout" ? "timed out" : "failed" };
  }
}

interface NoVerdictFields {
  readonly point: string;
  readonly kind: NoVerdictKind;
  readonly error: string;
  readonly ms: number;
}

const globalFetch: GatewayFetch = (url, request) => fetch(url, request);

/** The gateway has a directory of its own. */
function withoutCwd(given: HostContext): HostContext {
  const { cwd: _, ...context } = given;
  return context;
}

function toDenial(how: Failure["how"]): string {
  return `tool approval hook "gateway" ${how}`;
}

function toAbortion(how: Failure["how"]): string {
  return `hook "gateway" ${how}`;
}

function toPositive(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value > 0 && value <= MAX_DELAY_MS) return value;
  throw new RangeError(`${name}: expected a positive integer up to ${MAX_DELAY_MS}, got ${value}`);
}
