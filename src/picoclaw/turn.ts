import { HookgateError } from "../errors.ts";
import type { HookHost, ToolCheckDecision } from "./host.ts";
import { toMeta, toToolResult } from "./normalize.ts";
import type { Message, Meta, Open, ToolResult } from "./payload.ts";
import type { HookPoint } from "./point.ts";
import {
  NANOSECONDS_PER_MS,
  toEndPayload,
  toRequestPayload,
  toResponsePayload,
  toToolEndPayload,
} from "./turn-payload.ts";
import {
  type CallModel,
  type ExecuteTool,
  type LlmStep,
  readInvocation,
  toDenial,
  type ToolInvocation,
  type ToolStep,
  toText,
  toToolStep,
  type TurnRequest,
} from "./turn-step.ts";

/** How a turn ended. */
export type TurnStatus = "completed" | "error" | "aborted";

/** Options of {@link createTurn}. */
export interface TurnOptions {
  /** Where in the agent's run the turn is; `Iteration` and `Source` are set by the turn. */
  readonly meta?: Partial<Meta>;
  /** The chat channel the user's message came from. */
  readonly channel?: string;
  readonly chatId?: string;
  /** What the user said, for the `turn_start` event. */
  readonly userMessage?: string;
  /** How many media came with it, for the `turn_start` event. @default 0 */
  readonly mediaCount?: number;
  /** The bot's own signal: when it aborts, the turn is cancelled. */
  readonly signal?: AbortSignal;
  /** Undoes the turn's changes to the session; called once when a hook answers `hard_abort`. */
  readonly rollback?: () => void | Promise<void>;
}

/** Raised when a hook ends a turn. */
export class TurnAbortedError extends HookgateError {
  /** The hook point whose hook ended the turn. */
  readonly stage: HookPoint;
  readonly reason: string;
  /** Whether it was `hard_abort`: cancelled and rolled back, not failed. */
  readonly hard: boolean;

  constructor(stage: HookPoint, { reason, hard }: { readonly reason: string; readonly hard: boolean }) {
    const why = reason || "hook requested turn abort";
    super("ERR_TURN_ABORTED", `hook aborted turn during ${stage}: ${why}`);
    this.stage = stage;
    this.reason = why;
    this.hard = hard;
  }
}

/**
 * Starts a turn: emits `turn_start`. Every step goes through the hooks in the documented order and emits its events.
 * When a hook aborts the turn, the step rejects with {@link TurnAbortedError}, and so does every later one.
 * @see docs/protocol.md, "What a host does with decisions"
 */
export function createTurn(host: HookHost, options: TurnOptions = {}): Turn {
  return new Turn(host, options);
}

/** One turn of an agent; see {@link createTurn}. */
export class Turn {
  readonly #host: HookHost;
  readonly #options: TurnOptions;
  readonly #meta: Meta;
  readonly #controller = new AbortController();
  readonly #startedAtMs = performance.now();
  #iterationCount = 0;
  #aborted: HookgateError | undefined;
  #endedStatus: TurnStatus | undefined;
  #failed = false;

  constructor(host: HookHost, options: TurnOptions) {
    this.#host = host;
    this.#options = options;
    this.#meta = toMeta({ TurnID: crypto.randomUUID(), ...options.meta });
    const { signal, channel = "", chatId = "", userMessage = "", mediaCount = 0 } = options;
    if (signal?.aborted) this.#onHostAbort();
    else signal?.addEventListener("abort", this.#onHostAbort);
    this.emit("turn_start", { Channel: channel, ChatID: chatId, UserMessage: userMessage, MediaCount: mediaCount });
  }

  /** Aborts when the bot or a hook ends the turn. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** How the turn would end if it ended now. */
  get status(): TurnStatus {
    if (this.#aborted instanceof TurnAbortedError) return this.#aborted.hard ? "aborted" : "error";
    if (this.#aborted !== undefined) return "aborted";
    return this.#failed ? "error" : "completed";
  }

  /** Asks the model: before_llm, `callModel`, after_llm. */
  async llm(request: TurnRequest, callModel: CallModel): Promise<LlmStep> {
    this.#assertGoing();
    const meta = this.#metaOf("turn.llm.request");
    const before = await this.#ask(() => this.#host.beforeLlm({ ...request, ...this.#origin, meta }, this));
    await this.#assertNotAborted("before_llm", before);
    this.#iterationCount += 1;
    this.emit("llm_request", toRequestPayload(before.request));
    const answer = await this.#guard("llm", () => callModel(before.request, { signal: this.signal }));
    const after = await this.#ask(() =>
      this.#host.afterLlm(
        {
          model: before.request.model,
          response: answer,
          ...this.#origin,
          meta: { ...meta, Source: "turn.llm.response" },
        },
        this,
      ),
    );
    await this.#assertNotAborted("after_llm", after);
    const response = after.response.response ?? answer;
    this.emit("llm_response", toResponsePayload(response));
    const toolCalls = response.tool_calls ?? [];
    const message: Message = {
      role: "assistant",
      content: response.content ?? "",
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    };
    return { response, text: toText(response.content), message, toolCalls };
  }

  /** Runs a tool: before_tool, approve_tool, `execute`, after_tool. A denied call is a result that tells the model so. */
  async tool(invocation: ToolInvocation, execute: ExecuteTool): Promise<ToolStep> {
    this.#assertGoing();
    const call = readInvocation(invocation);
    if (call.arguments === undefined) {
      return this.#deny(call, "the arguments are not a JSON object");
    }
    const asked = { tool: call.tool, arguments: call.arguments, ...this.#origin, meta: this.#metaOf("turn.tool") };
    const check = await this.#ask(() => this.#host.checkTool(asked, this));
    await this.#assertNotAborted("before_tool", check);
    if (check.action === "deny_tool") return this.#deny(call, toDenial("hook", check.reason), check.reason);
    if (check.action === "respond") return this.#respond(call, check);
    if (!check.approved) return this.#deny(call, toDenial("approval hook", check.reason), check.reason);
    return this.#execute({ id: call.id, tool: check.call.tool, arguments: check.call.arguments ?? {} }, execute);
  }

  /** Emits an event of this turn to observers. */
  emit(kind: string, payload?: unknown): void {
    this.#host.emit({ Kind: kind, Meta: { ...this.#meta, Iteration: this.#iteration }, Payload: payload });
  }

  /** Ends the turn: emits `turn_end`. A second call does nothing. `finalContent` is what the user is shown last. */
  end({ finalContent = "", status }: { readonly finalContent?: string; readonly status?: TurnStatus } = {}): void {
    if (this.#endedStatus !== undefined) return;
    this.#endedStatus = status ?? this.status;
    this.#options.signal?.removeEventListener("abort", this.#onHostAbort);
    const durationMs = performance.now() - this.#startedAtMs;
    const iterations = this.#iterationCount;
    this.emit("turn_end", toEndPayload({ status: this.#endedStatus, iterations, durationMs, finalContent }));
  }

  get #origin(): { readonly channel?: string; readonly chat_id?: string } {
    const { channel, chatId } = this.#options;
    return { ...(channel !== undefined && { channel }), ...(chatId !== undefined && { chat_id: chatId }) };
  }

  get #iteration(): number {
    return Math.max(0, this.#iterationCount - 1);
  }

  #metaOf(source: string): Meta {
    const iteration = source === "turn.llm.request" ? this.#iterationCount : this.#iteration;
    return { ...this.#meta, Iteration: iteration, Source: source };
  }

  async #execute(
    call: { readonly id: string; readonly tool: string; readonly arguments: Open },
    execute: ExecuteTool,
  ): Promise<ToolStep> {
    this.emit("tool_exec_start", { Tool: call.tool, Arguments: call.arguments });
    const startedAtMs = performance.now();
    const result = await this.#runTool(call, execute);
    const durationMs = performance.now() - startedAtMs;
    const after = await this.#ask(() =>
      this.#host.afterTool(
        {
          ...this.#origin,
          tool: call.tool,
          arguments: call.arguments,
          result,
          duration: Math.round(durationMs * NANOSECONDS_PER_MS),
          meta: this.#metaOf("turn.tool"),
        },
        this,
      ),
    );
    const { tool, result: final = result } = after.outcome;
    this.emit("tool_exec_end", toToolEndPayload(tool, { result: final, durationMs }));
    await this.#assertNotAborted("after_tool", after);
    return toToolStep("executed", { id: call.id, tool, result: final });
  }

  async #runTool(call: { readonly tool: string; readonly arguments: Open }, execute: ExecuteTool): Promise<ToolResult> {
    try {
      const result = await execute({ tool: call.tool, arguments: call.arguments }, { signal: this.signal });
      return toToolResult(typeof result === "string" ? { for_llm: result } : result);
    } catch (error) {
      this.#assertGoing();
      return toToolResult({ for_llm: error instanceof Error ? error.message : String(error), is_error: true });
    }
  }

  #respond(call: { readonly id: string; readonly tool: string }, check: ToolCheckDecision): ToolStep {
    const result = toToolResult(check.result);
    this.emit("tool_exec_start", { Tool: call.tool, Arguments: check.call.arguments ?? {} });
    this.emit("tool_exec_end", toToolEndPayload(call.tool, { result, durationMs: 0 }));
    return toToolStep("responded", { id: call.id, tool: call.tool, result });
  }

  #deny(call: { readonly id: string; readonly tool: string }, text: string, reason: string = text): ToolStep {
    this.emit("tool_exec_skipped", { Tool: call.tool, Reason: reason });
    return toToolStep("denied", { ...call, result: toToolResult({ for_llm: text, is_error: true }) });
  }

  /** Asks the hooks; when the bot's own signal ended the question, the turn is aborted. */
  async #ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      this.#assertGoing();
      this.#failed = true;
      throw error;
    }
  }

  async #guard<T>(stage: string, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      this.#assertGoing();
      this.#failed = true;
      this.emit("error", { Stage: stage, Message: error instanceof Error ? error.message : String(error) });
      throw error;
    }
  }

  async #assertNotAborted(
    stage: HookPoint,
    { action, reason }: { readonly action: string; readonly reason: string },
  ): Promise<void> {
    this.#assertGoing();
    if (action !== "abort_turn" && action !== "hard_abort") return;
    const error = new TurnAbortedError(stage, { reason, hard: action === "hard_abort" });
    this.#abort(error);
    this.emit("error", { Stage: stage, Message: error.message });
    if (error.hard) await this.#options.rollback?.();
    throw error;
  }

  #assertGoing(): void {
    if (this.#aborted !== undefined) throw this.#aborted;
    if (this.#endedStatus !== undefined) throw new HookgateError("ERR_CLOSED", "the turn has ended");
  }

  #abort(error: HookgateError): void {
    this.#aborted ??= error;
    this.#controller.abort(error);
  }

  readonly #onHostAbort = (): void => {
    this.#abort(new HookgateError("ERR_ABORTED", "the turn was cancelled", { cause: this.#options.signal?.reason }));
  };
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
