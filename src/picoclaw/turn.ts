import type { HookHost } from "./host.ts";
import { askModel } from "./turn-llm.ts";
import {
  type CompactKind,
  compactMessages,
  type CompactOptions,
  type CompactStep,
  type ConversationOptions,
  sendMessage,
  type StopStep,
  stopTurn,
  type UserStep,
} from "./turn-message.ts";
import { toEndPayload } from "./turn-payload.ts";
import { type TurnOptions, TurnState, type TurnStatus } from "./turn-state.ts";
import type { CallModel, ExecuteTool, LlmStep, ToolInvocation, ToolStep, TurnRequest } from "./turn-step.ts";
import { type SuspendedTurn, parseSuspendedTurn } from "./turn-suspend.ts";
import { resumeTool, runTool } from "./turn-tool.ts";

/**
 * Starts a turn: emits `turn_start`. Every step goes through the hooks of both systems in the documented order and emits
 * its events. When a hook ends the turn, the step rejects with {@link TurnAbortedError}, and so does every later one.
 * @throws {RangeError} when `maxRetryCount` is out of its bounds
 * @see docs/protocol.md, "What a host does with decisions", and docs/yaml.md, "Both systems in one turn"
 */
export function createTurn(host: HookHost, options: TurnOptions = {}): Turn {
  return new Turn(host, options);
}

/**
 * Goes on with a turn whose calls wait for people, in this process or another: a new `turn_start` with the same meta, and
 * the calls that waited, for {@link Turn.resume}.
 * @param state - What {@link Turn.suspended} gave, also after it was JSON.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` when it is not that
 * @throws {RangeError} when `maxRetryCount` is out of its bounds
 */
export function resumeTurn(host: HookHost, state: unknown, options: ResumeOptions = {}): Turn {
  const { meta, channel, chat_id: chatId, user_message: userMessage, ...rest } = parseSuspendedTurn(state);
  return new Turn(
    host,
    {
      ...options,
      meta,
      ...(channel !== undefined && { channel }),
      ...(chatId !== undefined && { chatId }),
      ...(userMessage !== undefined && { userMessage }),
    },
    rest,
  );
}

/** Options of {@link resumeTurn}: whose turn it is comes from its state. */
export type ResumeOptions = Omit<TurnOptions, "meta" | "channel" | "chatId" | "userMessage" | "mediaCount">;

/** One turn of an agent; see {@link createTurn}. */
export class Turn {
  readonly #state: TurnState;
  readonly #startedAtMs = performance.now();
  #userMessage: string | undefined;
  #roundCount = 0;

  /** @param resumed - What the turn had come to when it was suspended. */
  constructor(host: HookHost, options: TurnOptions, resumed?: Pick<SuspendedTurn, "iterations" | "calls">) {
    this.#state = new TurnState(host, options);
    this.#state.iterationCount = resumed?.iterations ?? 0;
    for (const call of resumed?.calls ?? []) this.#state.suspended.set(call.pending, call);
    this.#userMessage = options.userMessage;
    const { channel = "", chatId = "", userMessage = "", mediaCount = 0 } = options;
    const start = { Channel: channel, ChatID: chatId, UserMessage: userMessage, MediaCount: mediaCount };
    this.emit("turn_start", resumed === undefined ? start : { ...start, Resumed: true });
  }

  /** Aborts when the bot or a hook ends the turn. */
  get signal(): AbortSignal {
    return this.#state.signal;
  }

  /** How the turn would end if it ended now. */
  get status(): TurnStatus {
    return this.#state.status;
  }

  /** Asks the hooks about what the user says, before it is part of the conversation: pre_send_message, post_send_message. */
  async userMessage(text: string, options: Pick<ConversationOptions, "messages"> = {}): Promise<UserStep> {
    const step = await sendMessage(this.#state, text, options);
    this.#userMessage = step.text;
    return step;
  }

  /**
   * Asks the model: before_llm and pre_llm_request, `callModel`, after_llm and post_llm_response. An answer that hooks send
   * back is asked for again, at most `maxRetryCount` times.
   */
  llm(request: TurnRequest, callModel: CallModel): Promise<LlmStep> {
    return askModel(this.#state, request, callModel);
  }

  /**
   * Runs a tool: before_tool, pre_tool_execution and approve_tool, `execute`, after_tool and post_tool_execution or its form
   * for a tool that failed. A denied call is a result that tells the model so. With status `pending` people are asked: the
   * message tells the model that too, and {@link Turn.resume} goes on with the call.
   */
  tool(invocation: ToolInvocation, execute: ExecuteTool): Promise<ToolStep> {
    return runTool(this.#state, invocation, execute);
  }

  /**
   * Goes on with a call that waits for people: asks about it again and, where it was approved meanwhile, runs it as
   * {@link Turn.tool} does. Its message has the call's id: put it in the place of the one that said that people are asked.
   * @param pending - The id of the approval, as the step said.
   * @returns a step that is `pending` when nobody has decided yet, or people are asked anew
   * @throws {HookgateError} `ERR_NOT_FOUND` when no call of this turn waits for it
   */
  resume(pending: string, execute: ExecuteTool): Promise<ToolStep> {
    return resumeTool(this.#state, pending, execute);
  }

  /**
   * What to keep of the turn, as JSON beside the conversation, so that {@link resumeTurn} can go on with the calls that wait
   * for people.
   * @returns undefined when none does
   */
  suspended(): SuspendedTurn | undefined {
    return this.#state.suspended.size === 0 ? undefined : this.#state.toSuspended();
  }

  /**
   * Asks the hooks of `stop` whether the turn may end. With `next` in the answer, append it to the conversation and go on
   * with another round; there are at most `maxRetryCount` of them.
   */
  async stop(options: ConversationOptions = {}): Promise<StopStep> {
    const own = { userMessage: this.#userMessage, roundCount: this.#roundCount };
    const step = await stopTurn(this.#state, { ...options, ...own });
    if (step.next !== undefined) this.#roundCount += 1;
    return step;
  }

  /** Makes the conversation shorter unless a hook of the event before it stops that. */
  compact(kind: CompactKind, options: CompactOptions): Promise<CompactStep> {
    return compactMessages(this.#state, kind, options);
  }

  /** Emits an event of this turn to observers. */
  emit(kind: string, payload?: unknown): void {
    this.#state.emit(kind, payload);
  }

  /** Ends the turn: emits `turn_end`. A second call does nothing. `finalContent` is what the user is shown last. */
  end({
    finalContent = "",
    status: given,
  }: { readonly finalContent?: string; readonly status?: TurnStatus } = {}): void {
    const status = this.#state.end(given);
    if (status === undefined) return;
    const durationMs = performance.now() - this.#startedAtMs;
    const iterations = this.#state.iterationCount;
    this.emit("turn_end", toEndPayload({ status, iterations, durationMs, finalContent }));
  }
}

/**
 * Runs a whole turn: starts it, runs `body`, and ends it whatever happens. What `body` returns is the final content.
 * @throws what `body` throws, after `turn_end` was emitted
 */
export async function runTurn(
  host: HookHost,
  options: TurnOptions,
  body: (turn: Turn) => Promise<string>,
): Promise<string> {
  const turn = createTurn(host, options);
  try {
    const finalContent = await body(turn);
    turn.end({ finalContent });
    return finalContent;
  } catch (error) {
    turn.end({ status: turn.status === "completed" ? "error" : turn.status });
    throw error;
  }
}
