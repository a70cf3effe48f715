import { HookgateError } from "../errors.ts";
import type { LifecycleEvent } from "../jcli/event.ts";
import type { HostCallOptions, HostContext, LifecycleOutcome, HookHost } from "./host.ts";
import { toSession } from "./lifecycle.ts";
import { toMeta } from "./normalize.ts";
import type { Meta } from "./payload.ts";
import type { HookPoint } from "./point.ts";
import type { SuspendedCall, SuspendedTurn } from "./turn-suspend.ts";

/** How a turn ended. */
export type TurnStatus = "completed" | "error" | "aborted";

/** Where in a turn hooks are asked: a hook point, or an event of the YAML system. */
export type TurnStage = HookPoint | LifecycleEvent;

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
  /** Shows the user what a hook wants to be shown; the model does not see it. @default it is dropped */
  readonly onSystemMessage?: (message: string, from: { readonly stage: TurnStage }) => void;
  /**
   * How often hooks may send an answer back, and how many further rounds those of `stop` may ask for: 0 to 100. They are
   * counted apart; beyond it the user is told so. @default 3
   */
  readonly maxRetryCount?: number;
}

/** Raised when a hook ends a turn. */
export class TurnAbortedError extends HookgateError {
  /** Where the hook was asked that ended the turn. */
  readonly stage: TurnStage;
  readonly reason: string;
  /** Whether it was `hard_abort`: cancelled and rolled back, not failed. */
  readonly hard: boolean;

  constructor(stage: TurnStage, { reason, hard }: { readonly reason: string; readonly hard: boolean }) {
    const why = reason || "hook requested turn abort";
    super("ERR_TURN_ABORTED", `hook aborted turn during ${stage}: ${why}`);
    this.stage = stage;
    this.reason = why;
    this.hard = hard;
  }
}

/** What the hooks said beside their decision. */
interface Said {
  readonly system_message?: string;
}

/** What the stages of one turn share. */
export class TurnState {
  readonly host: HookHost;
  readonly options: TurnOptions;
  readonly maxRetryCount: number;
  iterationCount = 0;
  /** The calls that wait for people, by the id of the approval. */
  readonly suspended: Map<string, SuspendedCall> = new Map();
  readonly #meta: Meta;
  readonly #controller = new AbortController();
  #aborted: HookgateError | undefined;
  #endedStatus: TurnStatus | undefined;
  #failed = false;

  constructor(host: HookHost, options: TurnOptions) {
    const { maxRetryCount = 3 } = options;
    if (!Number.isInteger(maxRetryCount) || maxRetryCount < 0 || maxRetryCount > 100) {
      throw new RangeError(`maxRetryCount: expected an integer from 0 to 100, got ${maxRetryCount}`);
    }
    this.host = host;
    this.options = options;
    this.maxRetryCount = maxRetryCount;
    this.#meta = toMeta({ TurnID: crypto.randomUUID(), ...options.meta });
    const { signal } = options;
    if (signal?.aborted) this.#onHostAbort();
    else signal?.addEventListener("abort", this.#onHostAbort);
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

  /** Where the turn's messages come from. */
  get origin(): { readonly channel?: string; readonly chat_id?: string } {
    const { channel, chatId } = this.options;
    return { ...(channel !== undefined && { channel }), ...(chatId !== undefined && { chat_id: chatId }) };
  }

  /** The `meta` of a payload. */
  metaOf(source: string): Meta {
    const iteration = source === "turn.llm.request" ? this.iterationCount : this.#iteration;
    return { ...this.#meta, Iteration: iteration, Source: source };
  }

  /** What is to be kept of the turn while its calls wait for people. */
  toSuspended(): SuspendedTurn {
    const { userMessage } = this.options;
    return {
      version: 1,
      meta: this.#meta,
      ...this.origin,
      ...(userMessage !== undefined && { user_message: userMessage }),
      iterations: this.iterationCount,
      calls: [...this.suspended.values()],
    };
  }

  /** Emits an event of this turn to observers. */
  emit(kind: string, payload?: unknown): void {
    this.host.emit({ Kind: kind, Meta: { ...this.#meta, Iteration: this.#iteration }, Payload: payload });
  }

  /** Asks the hooks; when the bot's own signal ended the question, the turn is aborted. */
  async ask<T>(question: (options: HostCallOptions) => Promise<T>): Promise<T> {
    try {
      return await question({ signal: this.signal });
    } catch (error) {
      this.assertGoing();
      this.#failed = true;
      throw error;
    }
  }

  /** Runs the hooks of an event, and shows the user what they want to be shown. */
  async run(context: HostContext): Promise<LifecycleOutcome> {
    this.assertGoing();
    const outcome = await this.ask((options) => this.host.run({ ...context, ...toSession(this.#meta) }, options));
    this.show(context.event, outcome.result);
    this.assertGoing();
    return outcome;
  }

  /** Shows the user what hooks want to be shown. */
  show(stage: TurnStage, { system_message: message }: Said): void {
    if (message !== undefined) this.options.onSystemMessage?.(message, { stage });
  }

  /** Runs a part of the turn that is the bot's own; a failure is an event. */
  async guard<T>(stage: string, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      this.assertGoing();
      this.#failed = true;
      this.emit("error", { Stage: stage, Message: error instanceof Error ? error.message : String(error) });
      throw error;
    }
  }

  /** @throws {TurnAbortedError} when a decision ends the turn */
  async assertNotAborted(
    stage: TurnStage,
    decision: { readonly action: string; readonly reason: string } & Said,
  ): Promise<void> {
    this.assertGoing();
    this.show(stage, decision);
    const { action, reason } = decision;
    if (action === "abort_turn" || action === "hard_abort")
      await this.abort(stage, { reason, hard: action === "hard_abort" });
  }

  /** Ends the turn. @throws {TurnAbortedError} always */
  async abort(stage: TurnStage, why: { readonly reason: string; readonly hard: boolean }): Promise<never> {
    const error = this.stop(stage, why);
    if (error.hard) await this.options.rollback?.();
    throw error;
  }

  /** Lets no further step of the turn be taken. */
  stop(stage: TurnStage, why: { readonly reason: string; readonly hard: boolean }): TurnAbortedError {
    const error = new TurnAbortedError(stage, why);
    this.#abort(error);
    this.emit("error", { Stage: stage, Message: error.message });
    return error;
  }

  /** @throws {HookgateError} when the turn was aborted or has ended */
  assertGoing(): void {
    if (this.#aborted !== undefined) throw this.#aborted;
    if (this.#endedStatus !== undefined) throw new HookgateError("ERR_CLOSED", "the turn has ended");
  }

  /** Ends the turn. @returns how; undefined when it had ended before */
  end(status: TurnStatus | undefined): TurnStatus | undefined {
    if (this.#endedStatus !== undefined) return undefined;
    this.#endedStatus = status ?? this.status;
    this.options.signal?.removeEventListener("abort", this.#onHostAbort);
    return this.#endedStatus;
  }

  get #iteration(): number {
    return Math.max(0, this.iterationCount - 1);
  }

  #abort(error: HookgateError): void {
    this.#aborted ??= error;
    this.#controller.abort(error);
  }

  readonly #onHostAbort = (): void => {
    this.#abort(new HookgateError("ERR_ABORTED", "the turn was cancelled", { cause: this.options.signal?.reason }));
  };
}
