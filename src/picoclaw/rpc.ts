import { HookgateError } from "../errors.ts";
import { parseContext, RUN_METHOD } from "../jcli/codec.ts";
import { type EventMethod, HELLO_METHOD, PROTOCOL_VERSION } from "./codec.ts";
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
import { toWirePayload } from "./normalize.ts";
import { parseHostEvent, parseHostPayload } from "./params.ts";
import type { HookPoint } from "./point.ts";

/** The JSON-RPC methods a host may call. */
export type HostMethod = `hook.${HookPoint}` | "hook.hello" | "hook.check_tool" | EventMethod | typeof RUN_METHOD;

/** One call of a host, as it came in. */
export interface HostRequest extends HostCallOptions {
  readonly method: string;
  readonly params: unknown;
}

type Answer = (host: HookHost, params: unknown, options: HostCallOptions) => unknown;

const ANSWERS: Readonly<Record<HostMethod, Answer>> = {
  [HELLO_METHOD]: () => ({ ok: true, name: "hookgate", version: PROTOCOL_VERSION }),
  "hook.before_llm": async (host, params, options) =>
    toWireDecision(await host.beforeLlm(parseHostPayload("before_llm", params), options)),
  "hook.after_llm": async (host, params, options) =>
    toWireDecision(await host.afterLlm(parseHostPayload("after_llm", params), options)),
  "hook.before_tool": async (host, params, options) =>
    toWireDecision(await host.beforeTool(parseHostPayload("before_tool", params), options)),
  "hook.approve_tool": async (host, params, options) =>
    toWireApproval(await host.approveTool(parseHostPayload("approve_tool", params), options)),
  "hook.check_tool": async (host, params, options) =>
    toWireCheck(await host.checkTool(parseHostPayload("before_tool", params), options)),
  "hook.after_tool": async (host, params, options) =>
    toWireDecision(await host.afterTool(parseHostPayload("after_tool", params), options)),
  [RUN_METHOD]: async (host, params, options) => toWireOutcome(await host.run(parseRemoteContext(params), options)),
  "hook.event": (host, params) => emit(host, parseHostEvent("hook.event", params)),
  "hook.runtime_event": (host, params) => emit(host, parseHostEvent("hook.runtime_event", params)),
};

function emit(host: HookHost, event: HostEvent): object {
  host.emit(event);
  return {};
}

/** The methods a host may call, in the order of a turn. */
export const HOST_METHODS: readonly string[] = Object.keys(ANSWERS);

/**
 * Answers a host that speaks the hook protocol, as one hook in front of all of them would: a payload comes back only
 * when a hook changed it.
 * @throws {HookgateError} `ERR_METHOD_NOT_FOUND`, or `ERR_INVALID_PARAMS` naming the path of every problem
 */
export async function answerHost(host: HookHost, { method, params, ...options }: HostRequest): Promise<unknown> {
  if (!isHostMethod(method)) {
    throw new HookgateError("ERR_METHOD_NOT_FOUND", `unknown method; expected one of ${HOST_METHODS.join(", ")}`);
  }
  return await ANSWERS[method](host, params, options);
}

/** Bash hooks run in the context's directory, which is not for whoever calls from elsewhere to choose. */
function parseRemoteContext(params: unknown): HostContext {
  const { cwd: _, ...context } = parseContext(params);
  return context;
}

function toWireOutcome({ result, halted, trace }: LifecycleOutcome): unknown {
  return { ...result, halted, trace };
}

function isHostMethod(method: string): method is HostMethod {
  return Object.hasOwn(ANSWERS, method);
}

type InterceptorDecision = LlmRequestDecision | LlmResponseDecision | ToolCallDecision | ToolOutcomeDecision;

/** An interceptor's decision as the wire has it. */
export interface WireDecision {
  readonly action: string;
  readonly reason?: string;
  readonly request?: unknown;
  readonly response?: unknown;
  readonly call?: unknown;
  readonly result?: unknown;
  readonly system_message?: string;
  readonly retry_feedback?: string;
  readonly trace: Trace;
}

function toWireDecision(decision: InterceptorDecision): WireDecision {
  const { action, reason, changed, trace, system_message, retry_feedback } = decision;
  const name = action === "continue" && changed ? "modify" : action;
  const why = reason === "" ? {} : { reason };
  const payload = changed || action === "respond" ? toPayload(decision) : {};
  const said = {
    ...(system_message !== undefined && { system_message }),
    ...(retry_feedback !== undefined && { retry_feedback }),
  };
  return { action: name, ...why, ...payload, ...said, trace };
}

function toPayload(decision: InterceptorDecision): Partial<WireDecision> {
  if ("request" in decision) return { request: toWirePayload(decision.request) };
  if ("response" in decision) return { response: toWirePayload(decision.response) };
  if ("outcome" in decision) return { result: toWirePayload(decision.outcome) };
  const call = toWirePayload(decision.call);
  return decision.result === undefined ? { call } : { call, result: decision.result };
}

function toWireApproval({ reason, ...decision }: ApprovalDecision): unknown {
  return reason === "" ? decision : { ...decision, reason };
}

/** `check_tool` always says the call to run, so that a host needs nothing else. */
function toWireCheck(decision: ToolCheckDecision): unknown {
  const { changed: _, reason, call, ...rest } = decision;
  const { action } = toWireDecision(decision);
  return { ...rest, action, ...(reason === "" ? {} : { reason }), call: toWirePayload(call) };
}
