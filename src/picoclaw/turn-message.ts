import type { HookHost, HostCallOptions } from "./host.ts";
import { append, fromLifecycleMessage, type LifecycleConversation, toLifecycleConversation } from "./lifecycle.ts";
import type { Message } from "./payload.ts";
import type { TurnState } from "./turn-state.ts";

/** What `Turn.userMessage` gives back. */
export interface UserStep {
  /** Whether the message may go on; one that is stopped ends the turn: every later step rejects. */
  readonly status: "sent" | "stopped";
  /** The message as the hooks left it. */
  readonly text: string;
  /** What is wrong with the message, for the user, where a hook says so. */
  readonly feedback?: string;
}

/** The conversation as a bot has it; a first message of role `system` is its system prompt. */
export interface ConversationOptions {
  readonly messages?: readonly Message[];
  readonly model?: string;
}

/** Asks the hooks about what the user says: pre_send_message, then post_send_message when it goes on. */
export async function sendMessage(
  turn: TurnState,
  text: string,
  { messages }: Pick<ConversationOptions, "messages">,
): Promise<UserStep> {
  const conversation = { messages: toLifecycleConversation(messages).messages };
  const { result } = await turn.run({ event: "pre_send_message", user_input: text, ...conversation });
  const { user_input = text, retry_feedback: feedback, action } = result;
  const said = feedback === undefined ? {} : { feedback };
  if (action === "stop") {
    turn.stop("pre_send_message", { reason: feedback ?? "", hard: false });
    return { status: "stopped", text, ...said };
  }
  await turn.run({ event: "post_send_message", user_input, ...conversation });
  return { status: "sent", text: user_input, ...said };
}

/** What `Turn.stop` gives back. */
export interface StopStep {
  /** Messages to append to the conversation and answer in another round; absent when the turn may end. */
  readonly next?: readonly Message[];
  /** What is to be appended to the system prompt from now on. */
  readonly additionalContext?: string;
}

/** Options of {@link stopTurn}. */
export interface StopOptions extends ConversationOptions {
  /** What the user said. */
  readonly userMessage?: string | undefined;
  /** How many further rounds there have been. */
  readonly roundCount: number;
}

/** Asks the hooks whether the turn may end; those that say what is missing get another round, so many and no more. */
export async function stopTurn(
  turn: TurnState,
  { messages, model, userMessage, roundCount }: StopOptions,
): Promise<StopStep> {
  const { result } = await turn.run({
    event: "stop",
    ...toLifecycleConversation(messages),
    ...(model !== undefined && { model }),
    ...(userMessage !== undefined && { user_input: userMessage }),
  });
  const { action, retry_feedback: feedback, additional_context: additionalContext } = result;
  const added = additionalContext === undefined ? {} : { additionalContext };
  if (action === "stop" || feedback === undefined) return added;
  if (roundCount < turn.maxRetryCount) return { next: [{ role: "user", content: feedback }], ...added };
  const message = `hooks asked for another round after ${roundCount}: the turn ends here. They said: ${feedback}`;
  turn.emit("error", { Stage: "stop", Message: message });
  turn.show("stop", { system_message: message });
  return added;
}

/** How a conversation is made shorter: `micro` drops old tool results, `auto` summarises. */
export type CompactKind = "micro" | "auto";

/** Options of `Turn.compact`. */
export interface CompactOptions extends ConversationOptions {
  readonly messages: readonly Message[];
  /** Makes the conversation shorter. What hooks add is for whoever summarises to heed. */
  readonly compact: (
    messages: readonly Message[],
    context: { readonly additionalContext?: string; readonly signal: AbortSignal },
  ) => readonly Message[] | Promise<readonly Message[]>;
}

/** What `Turn.compact` gives back. */
export interface CompactStep {
  readonly status: "compacted" | "stopped";
  /** The conversation from now on; when a hook stopped it, as it was. */
  readonly messages: readonly Message[];
}

/** Makes a conversation shorter, with the events before and after it. */
export async function compactMessages(
  turn: TurnState,
  kind: CompactKind,
  options: CompactOptions,
): Promise<CompactStep> {
  const { messages, model, compact } = options;
  const before = toLifecycleConversation(messages);
  const prompt = kind === "auto" ? before : { messages: before.messages };
  const event = kind === "auto" ? "pre_auto_compact" : "pre_micro_compact";
  const { result } = await turn.run({ event, ...prompt, ...(model !== undefined && { model }) });
  if (result.action === "stop") return { status: "stopped", messages };
  const { additional_context: additionalContext } = result;
  const context = { signal: turn.signal, ...(additionalContext !== undefined && { additionalContext }) };
  const shorter = await turn.guard("compact", async () => compact(messages, context));
  const after = kind === "auto" ? "post_auto_compact" : "post_micro_compact";
  const { result: final } = await turn.run({ event: after, messages: toLifecycleConversation(shorter).messages });
  if (final.messages === undefined) return { status: "compacted", messages: shorter };
  const head = shorter.slice(0, isPrompted(toLifecycleConversation(shorter)) ? 1 : 0);
  return { status: "compacted", messages: [...head, ...final.messages.map(fromLifecycleMessage)] };
}

function isPrompted({ system_prompt }: LifecycleConversation): boolean {
  return system_prompt !== undefined;
}

/** A session as its start and its end are told. */
export interface SessionOptions extends HostCallOptions {
  /** The session's id: the `SessionKey` of its turns. */
  readonly sessionId: string;
  readonly messages?: readonly Message[];
}

/** Tells the hooks that a session begins. They run in the background. */
export function startSession(host: HookHost, options: SessionOptions): Promise<void> {
  return tell(host, "session_start", options);
}

/** Tells the hooks that a session has ended; hooks that were registered for it are forgotten. */
export function endSession(host: HookHost, options: SessionOptions): Promise<void> {
  return tell(host, "session_end", options);
}

async function tell(
  host: HookHost,
  event: "session_start" | "session_end",
  { sessionId, messages, signal }: SessionOptions,
): Promise<void> {
  const conversation = { messages: toLifecycleConversation(messages).messages };
  await host.run({ event, session_id: sessionId, ...conversation }, { signal });
}

/** A conversation whose system prompt has a text appended to it. */
export function withContext(messages: readonly Message[], additionalContext: string | undefined): readonly Message[] {
  if (additionalContext === undefined) return messages;
  const { system_prompt: prompt } = toLifecycleConversation(messages);
  const content = append(prompt, additionalContext) ?? "";
  const [first, ...rest] = messages;
  return prompt === undefined
    ? [{ role: "system", content }, ...messages]
    : [{ ...first, role: "system", content }, ...rest];
}
