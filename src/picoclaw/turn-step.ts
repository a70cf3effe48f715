import type { HostPayload, LlmRequest, Message, ModelResponse, ModelToolCall, Open, ToolResult } from "./payload.ts";
import { isObject } from "../is-object.ts";

/** What `Turn.llm` gives back. */
export interface LlmStep {
  readonly response: ModelResponse;
  /** The response's text; of parts, that of the text parts. */
  readonly text: string;
  /** The response as a message, to append to the conversation. */
  readonly message: Message;
  /** The tool calls to go through `Turn.tool`, one after the other. */
  readonly toolCalls: readonly ModelToolCall[];
}

/** What `Turn.tool` gives back: what came of a call, or that people are asked. */
export type ToolStep = SettledToolStep | PendingToolStep;

/** A tool call that people are asked for; it has not run. */
export interface PendingToolStep extends ToolStepFields {
  readonly status: "pending";
  /** The id of the approval, for `Turn.resume`. */
  readonly pending: string;
  /** RFC 3339: until when people can decide, where the approver said so. */
  readonly expires?: string;
}

/** What came of a tool call. */
export interface SettledToolStep extends ToolStepFields {
  readonly status: "executed" | "responded" | "denied";
}

interface ToolStepFields {
  /** The tool's name after rewrites. */
  readonly tool: string;
  readonly result: ToolResult;
  /** The result as a tool message, to append to the conversation. */
  readonly message: Message;
  /** Whether the result already answered the user, so that the turn can end. */
  readonly isHandled: boolean;
}

/** A tool call as a bot has it: the model's own, or a name and arguments. */
export type ToolInvocation = ModelToolCall | { readonly id?: string; readonly tool: string; readonly arguments?: Open };

/** Calls the model with the request as the hooks left it. */
export type CallModel = (request: LlmRequest, context: { readonly signal: AbortSignal }) => Promise<ModelResponse>;

/** Runs a tool as the hooks left the call. A throw becomes a result with `is_error`. */
export type ExecuteTool = (
  call: { readonly tool: string; readonly arguments: Open },
  context: { readonly signal: AbortSignal },
) => Promise<Partial<ToolResult> | string>;

/** The request of `Turn.llm`: without what the turn itself adds. */
export type TurnRequest = Omit<HostPayload<LlmRequest>, "meta" | "channel" | "chat_id"> & {
  readonly model: string;
  readonly messages?: readonly Message[];
};

/** What the model is told of a call that was denied. */
export function toDenial(by: string, reason: string): string {
  return `Tool execution denied by ${by}${reason === "" ? "" : `: ${reason}`}`;
}

/** Makes a tool step of a result. */
export function toToolStep(
  status: SettledToolStep["status"],
  { id, tool, result }: { readonly id: string; readonly tool: string; readonly result: ToolResult },
): SettledToolStep {
  const message: Message = { role: "tool", content: result.for_llm, tool_call_id: id };
  return { status, tool, result, message, isHandled: result.response_handled === true };
}

/** The name and arguments of a call; arguments are undefined when the model's JSON text is not an object. */
export function readInvocation(call: ToolInvocation): {
  readonly id: string;
  readonly tool: string;
  readonly arguments: Open | undefined;
} {
  const id = call.id ?? "";
  if (isNamed(call)) return { id, tool: call.tool, arguments: call.arguments ?? {} };
  return { id, tool: call.function?.name ?? "", arguments: parseArguments(call.function?.arguments) };
}

function isNamed(call: ToolInvocation): call is Exclude<ToolInvocation, ModelToolCall> {
  return "tool" in call && typeof call.tool === "string";
}

/** The text of a message's content; of parts, that of the text parts. */
export function toText(content: ModelResponse["content"]): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  const parts: readonly unknown[] = content;
  return parts.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

function parseArguments(text: string | undefined): Open | undefined {
  if (text === undefined || text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return {};
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
