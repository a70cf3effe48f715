import type { LlmRequest, ModelResponse, ToolResult } from "./payload.ts";

/** Durations on the wire are in nanoseconds, as in the reference. */
export const NANOSECONDS_PER_MS: number = 1e6;

/** The payload of `llm_request`. */
export function toRequestPayload({ model, messages, tools, options }: LlmRequest): object {
  return {
    Model: model,
    MessagesCount: messages?.length ?? 0,
    ToolsCount: tools?.length ?? 0,
    MaxTokens: toNumber(options?.["max_tokens"]),
    Temperature: toNumber(options?.["temperature"]),
  };
}

/** The payload of `llm_response`. */
export function toResponsePayload({ content, tool_calls, reasoning_content, reasoning }: ModelResponse): object {
  return {
    ContentLen: lengthOf(content),
    ToolCalls: tool_calls?.length ?? 0,
    HasReasoning: isPresent(reasoning_content) || isPresent(reasoning),
  };
}

/** The payload of `tool_exec_end`; `Duration` is in integer nanoseconds. */
export function toToolEndPayload(
  tool: string,
  { result, durationMs }: { readonly result: ToolResult; readonly durationMs: number },
): object {
  return {
    Tool: tool,
    Duration: Math.round(durationMs * NANOSECONDS_PER_MS),
    ForLLMLen: lengthOf(result.for_llm),
    ForUserLen: lengthOf(result.for_user),
    IsError: result.is_error === true,
    Async: result.async === true,
  };
}

/** What {@link toEndPayload} is made of. */
export interface TurnEnd {
  readonly status: string;
  readonly iterations: number;
  readonly durationMs: number;
  readonly finalContent: string;
}

/** The payload of `turn_end`; `Duration` is in integer nanoseconds. */
export function toEndPayload({ status, iterations, durationMs, finalContent }: TurnEnd): object {
  return {
    Status: status,
    Iterations: iterations,
    Duration: Math.round(durationMs * NANOSECONDS_PER_MS),
    FinalContentLen: lengthOf(finalContent),
  };
}

/** Lengths are in bytes of UTF-8, as in the reference. */
function lengthOf(value: unknown): number {
  return typeof value === "string" ? new TextEncoder().encode(value).byteLength : 0;
}

function isPresent(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function toNumber(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
