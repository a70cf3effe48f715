import type { HostContext, Message as LifecycleMessage, MessageToolCall } from "../jcli/context.ts";
import { isObject } from "../is-object.ts";
import type { HookResult } from "../jcli/result.ts";
import { toText } from "./turn-step.ts";
import type { LlmRequest, LlmResponse, Message, Meta, ModelToolCall, Open, ToolCall, ToolOutcome } from "./payload.ts";

/** A conversation as the YAML system has it: its system prompt is beside it, and tool calls are flat. */
export interface LifecycleConversation {
  readonly messages: readonly LifecycleMessage[];
  readonly system_prompt?: string;
}

/** Takes the system prompt, which is the text of a first message of role `system`, out of a conversation. */
export function toLifecycleConversation(messages: readonly Message[] = []): LifecycleConversation {
  const [first, ...rest] = messages;
  const isPrompt = first?.role === "system" && typeof first.content === "string";
  const system_prompt = isPrompt ? first.content : undefined;
  const others = system_prompt === undefined ? messages : rest;
  return { messages: others.map(toLifecycleMessage), ...(typeof system_prompt === "string" && { system_prompt }) };
}

function toLifecycleMessage(message: Message): LifecycleMessage {
  const { tool_calls } = message;
  if (!Array.isArray(tool_calls)) return message;
  return { ...message, tool_calls: tool_calls.map(toLifecycleToolCall) };
}

function toLifecycleToolCall(toolCall: ModelToolCall): MessageToolCall {
  const { function: called, type: _, ...call } = toolCall;
  return { ...call, name: called?.name, arguments: called?.arguments };
}

/** A message of a YAML hook, or of its context, as models take it. */
export function fromLifecycleMessage({ tool_calls, tool_call_id, content, ...rest }: LifecycleMessage): Message {
  return {
    ...rest,
    ...(content !== undefined && { content }),
    ...(tool_call_id && { tool_call_id }),
    ...(tool_calls && { tool_calls: tool_calls.map(fromLifecycleToolCall) }),
  };
}

function fromLifecycleToolCall({ id, name, arguments: text, ...call }: MessageToolCall): ModelToolCall {
  return { ...call, id: id ?? "", type: "function", function: { name: name ?? "", arguments: text ?? "" } };
}

/** The session a hook is called in, as the YAML system names it. */
export function toSession({ SessionKey }: Meta): { readonly session_id?: string } {
  return SessionKey === "" ? {} : { session_id: SessionKey };
}

/** The context of `pre_llm_request`. */
export function toRequestContext({ model, messages, meta }: LlmRequest): HostContext {
  return { event: "pre_llm_request", model, ...toLifecycleConversation(messages), ...toSession(meta) };
}

/** The context of `post_llm_response`. An answer is its text; of parts, that of the text parts. */
export function toResponseContext(
  { model, response, meta }: LlmResponse,
  messages: readonly Message[] | undefined,
): HostContext {
  const assistant_output = toText(response?.content);
  const conversation = messages && { messages: toLifecycleConversation(messages).messages };
  return { event: "post_llm_response", model, assistant_output, ...conversation, ...toSession(meta) };
}

/** The context of `pre_tool_execution`. */
export function toCallContext({ tool, arguments: args = {}, meta }: ToolCall): HostContext {
  const tool_arguments = JSON.stringify(args);
  return { event: "pre_tool_execution", tool_name: tool, tool_arguments, ...toSession(meta) };
}

/** The context of `post_tool_execution`, or of its form for a tool that failed. */
export function toOutcomeContext({ tool, result, meta }: ToolOutcome): HostContext {
  const text = result?.for_llm ?? "";
  const own = { tool_name: tool, ...toSession(meta) };
  if (result?.is_error !== true) return { event: "post_tool_execution", tool_result: text, ...own };
  return { event: "post_tool_execution_failure", tool_error: text, ...own };
}

/** Applies what the hooks of `pre_llm_request` came to; the request itself when they changed nothing. */
export function applyToRequest(request: LlmRequest, result: HookResult): LlmRequest {
  const { messages, inject_messages = [], retry_feedback, system_prompt, additional_context } = result;
  const isUnchanged = messages === undefined && system_prompt === undefined && additional_context === undefined;
  if (isUnchanged && inject_messages.length === 0 && retry_feedback === undefined) return request;
  const given = request.messages ?? [];
  const before = toLifecycleConversation(given);
  const [first] = given;
  const others = before.system_prompt === undefined ? given : given.slice(1);
  const prompt = append(system_prompt ?? before.system_prompt, additional_context);
  const head: readonly Message[] =
    prompt === undefined
      ? []
      : [{ ...(before.system_prompt === undefined ? {} : first), role: "system", content: prompt }];
  const added = inject_messages.map(fromLifecycleMessage);
  const feedback: readonly Message[] = retry_feedback === undefined ? [] : [{ role: "user", content: retry_feedback }];
  const body = messages?.map(fromLifecycleMessage) ?? others;
  return { ...request, messages: [...head, ...body, ...added, ...feedback] };
}

/** Two texts with a blank line between them, where both are there. */
export function append(text: string | undefined, more: string | undefined): string | undefined {
  return text === undefined || text === "" || more === undefined ? (more ?? text) : `${text}\n\n${more}`;
}

/** Applies what the hooks of `post_llm_response` came to. */
export function applyToResponse(response: LlmResponse, { assistant_output }: HookResult): LlmResponse {
  if (assistant_output === undefined) return response;
  return { ...response, response: { ...response.response, content: assistant_output } };
}

/** Applies what the hooks of `pre_tool_execution` came to; undefined when their arguments are not a JSON object. */
export function applyToCall(call: ToolCall, { tool_arguments }: HookResult): ToolCall | undefined {
  if (tool_arguments === undefined) return call;
  const args = parseObject(tool_arguments);
  return args && { ...call, arguments: args };
}

function parseObject(text: string): Open | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Applies what the hooks after a tool came to. There is no system prompt here: what they add is told with the error. */
export function applyToOutcome(outcome: ToolOutcome, result: HookResult): ToolOutcome {
  const { tool_result, tool_error, additional_context } = result;
  const text = tool_result ?? tool_error;
  if (text === undefined && additional_context === undefined) return outcome;
  const for_llm = append(text ?? outcome.result?.for_llm, additional_context) ?? "";
  return { ...outcome, result: { ...outcome.result, for_llm } };
}
