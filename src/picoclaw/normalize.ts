import type {
  HostPayload,
  LlmRequest,
  LlmResponse,
  Meta,
  ModelResponse,
  Open,
  Origin,
  ToolApproval,
  ToolCall,
  ToolDefinition,
  ToolOutcome,
  ToolResult,
} from "./payload.ts";

const NO_ARGUMENTS: Open = {};

const EMPTY_META: Meta = {
  AgentID: "",
  TurnID: "",
  ParentTurnID: "",
  SessionKey: "",
  Iteration: 0,
  TracePath: "",
  Source: "",
};

/** Fills in the keys of `meta` that are always present on the wire. */
export function toMeta(meta: Partial<Meta> | null | undefined): Meta {
  return { ...EMPTY_META, ...meta };
}

/** The form in which `before_llm` hooks see a host's request. */
export function toLlmRequest(request: HostPayload<LlmRequest>): LlmRequest {
  const { tools } = request;
  const meta = toMeta(request.meta);
  if (tools === undefined || tools.every(hasParameters)) return { ...request, meta };
  return { ...request, meta, tools: tools.map(withParameters) };
}

/** The form in which `after_llm` hooks see a host's response. */
export function toLlmResponse(response: HostPayload<LlmResponse>): LlmResponse {
  const inner: ModelResponse = { finish_reason: "", ...response.response, content: response.response?.content ?? "" };
  return { ...response, meta: toMeta(response.meta), response: inner };
}

/** The form in which `before_tool` hooks see a host's tool call. */
export function toToolCall(call: HostPayload<ToolCall>): ToolCall {
  return { ...call, meta: toMeta(call.meta), arguments: call.arguments ?? NO_ARGUMENTS };
}

/** The form in which approvers see a tool call. */
export function toToolApproval(call: HostPayload<ToolCall> | HostPayload<ToolApproval>): ToolApproval {
  const { hook_result: _, ...request } = call;
  return { ...request, meta: toMeta(call.meta), arguments: call.arguments ?? NO_ARGUMENTS };
}

/** The form in which `after_tool` hooks see a tool's outcome. */
export function toToolOutcome(outcome: HostPayload<ToolOutcome>): ToolOutcome {
  return {
    ...outcome,
    meta: toMeta(outcome.meta),
    arguments: outcome.arguments ?? NO_ARGUMENTS,
    result: toToolResult(outcome.result),
    duration: outcome.duration ?? 0,
  };
}

/** Fills in the keys of a tool's result that are always present on the wire. */
export function toToolResult(result: Partial<ToolResult> | null | undefined): ToolResult {
  return { for_llm: "", silent: false, is_error: false, async: false, ...result };
}

/** Keys left out of a payload on the wire when they are empty. */
const OMITTED_WHEN_EMPTY: ReadonlySet<string> = new Set([
  "messages",
  "tools",
  "options",
  "channel",
  "chat_id",
  "graceful_terminal",
  "response",
  "result",
  "hook_result",
]);

/** A payload as it goes on the wire: what is empty and may be left out is left out. */
export function toWirePayload(payload: Origin): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(payload).filter(([key, value]) => !OMITTED_WHEN_EMPTY.has(key) || !isEmpty(value)),
  );
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function hasParameters(tool: ToolDefinition): boolean {
  return tool.function.parameters !== undefined && tool.function.parameters !== null;
}

function withParameters(tool: ToolDefinition): ToolDefinition {
  return hasParameters(tool) ? tool : { ...tool, function: { ...tool.function, parameters: {} } };
}
