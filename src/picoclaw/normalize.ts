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
import type { ChangeableField } from "./point.ts";

const EMPTY_META: Meta = {
  AgentID: "",
  TurnID: "",
  ParentTurnID: "",
  SessionKey: "",
  Iteration: 0,
  TracePath: "",
  Source: "",
};

const EMPTY_RESULT: ToolResult = { for_llm: "", silent: false, is_error: false, async: false };

const META_KEYS = Object.keys(EMPTY_META);
const RESULT_KEYS = [...Object.keys(EMPTY_RESULT), "for_user", "media", "artifact_tags", "response_handled"];

/** Fills in the keys of `meta` that are always present on the wire. */
export function toMeta(meta: Partial<Meta> | null | undefined): Meta {
  const filled = { ...EMPTY_META, ...meta };
  return hasNull(filled, META_KEYS) ? { ...EMPTY_META, ...withoutNulls(filled, META_KEYS) } : filled;
}

/** The form in which `before_llm` hooks see a host's request. */
export function toLlmRequest(request: HostPayload<LlmRequest>): LlmRequest {
  const { tools } = request;
  const meta = toMeta(request.meta);
  return tools === undefined ? { ...request, meta } : { ...request, meta, tools: withParameters(tools) };
}

/** The form in which `after_llm` hooks see a host's response. */
export function toLlmResponse(response: HostPayload<LlmResponse>): LlmResponse {
  return { ...response, meta: toMeta(response.meta), response: toModelResponse(response.response) };
}

/** The form in which `before_tool` hooks see a host's tool call. */
export function toToolCall(call: HostPayload<ToolCall>): ToolCall {
  return { ...call, meta: toMeta(call.meta), arguments: call.arguments ?? {} };
}

/** The form in which approvers see a tool call. */
export function toToolApproval(call: HostPayload<ToolCall> | HostPayload<ToolApproval>): ToolApproval {
  const { hook_result: _, ...request } = call;
  return { ...request, meta: toMeta(call.meta), arguments: call.arguments ?? {} };
}

/** The form in which `after_tool` hooks see a tool's outcome. */
export function toToolOutcome(outcome: HostPayload<ToolOutcome>): ToolOutcome {
  return {
    ...outcome,
    meta: toMeta(outcome.meta),
    arguments: outcome.arguments ?? {},
    result: toToolResult(outcome.result),
    duration: outcome.duration ?? 0,
  };
}

/** Fills in the keys of a tool's result that are always present on the wire. */
export function toToolResult(result: Partial<ToolResult> | null | undefined): ToolResult {
  const filled = { ...EMPTY_RESULT, ...result };
  return hasNull(filled, RESULT_KEYS) ? { ...EMPTY_RESULT, ...withoutNulls(filled, RESULT_KEYS) } : filled;
}

/** A field that a hook has changed, with the keys that are always present on the wire. */
export function toChangedField(field: ChangeableField, value: unknown): unknown {
  const { response, result, tools } = { [field]: value } as Partial<LlmResponse & ToolOutcome & LlmRequest>;
  if (response !== undefined) return toModelResponse(response);
  if (result !== undefined) return toToolResult(result);
  return tools === undefined ? value : withParameters(tools);
}

function toModelResponse(response: ModelResponse | null | undefined): ModelResponse {
  return { ...response, content: response?.content ?? "", finish_reason: response?.finish_reason ?? "" };
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

function hasNull(value: Open, keys: readonly string[]): boolean {
  for (const key of keys) {
    const item = value[key];
    if (item === null || (item === undefined && key in value)) return true;
  }
  return false;
}

/** An object without those of `keys` that are null: that is what some encoders write for what is absent. */
function withoutNulls(value: Open, keys: readonly string[]): Open {
  const isPresent = ([key, item]: readonly [string, unknown]): boolean =>
    (item !== null && item !== undefined) || !keys.includes(key);
  return Object.fromEntries(Object.entries(value).filter(isPresent));
}

function hasParameters(tool: ToolDefinition): boolean {
  return tool.function.parameters !== undefined && tool.function.parameters !== null;
}

function withParameters(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  if (tools.every(hasParameters)) return tools;
  return tools.map((tool) =>
    hasParameters(tool) ? tool : { ...tool, function: { ...tool.function, parameters: {} } },
  );
}
