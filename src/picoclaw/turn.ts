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
import { runTool } from "./turn-tool.ts";

/**
 * Starts a turn: emits `turn_start`. Every step goes through the hooks of both systems in the documented order and emits
 * its events. When a hook ends the turn, the step rejects with {@link TurnAbortedError}, and so does every later one.
 * @throws {RangeError} when `maxRetryCount` is out of its bounds
 * @see docs/protocol.md, "What a host does with decisions", and docs/yaml.md, "Both systems in one turn"
 */
export function createTurn(host: HookHost, options: TurnOptions = {}): Turn {
  return new Turn(host, options);
}

/** One turn of an agent; see {@link createTurn}. */
export class Turn {
  readonly #state: TurnState;
  readonly #startedAtMs = performance.now();
  #userMessage: string | undefined;
  #roundCount = 0;

  constructor(host: HookHost, options: TurnOptions) {
    this.#state = new TurnState(host, options);
    this.#userMessage = options.userMessage;
    const { channel = "", chatId = "", userMessage = "", mediaCount = 0 } = options;
    this.emit("turn_start", { Channel: channel, ChatID: chatId, UserMessage: userMessage, MediaCount: mediaCount });
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
   * for a tool that failed. A denied call is a result that tells the model so.
   */
  tool(invocation: ToolInvocation, execute: ExecuteTool): Promise<ToolStep> {
    return runTool(this.#state, invocation, execute);
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
