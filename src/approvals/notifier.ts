import { type Log, silentLog } from "../log.ts";
import { settlesWithin } from "../wait.ts";
import type { Approval } from "./approval.ts";
import { type ApprovalNews, platformTimer, type StartTimer } from "./manager.ts";
import type { Notice } from "./notice.ts";

/** A notification that did not arrive. The message is a constant or a status: it holds no address and no secret. */
export class NotificationError extends Error {
  /** Whether it may arrive when it is tried again. */
  readonly mayRetry: boolean;
  /** The least time to wait before that, in milliseconds, where the other side has said so. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { readonly mayRetry: boolean; readonly retryAfterMs?: number | undefined }) {
    super(message);
    this.name = "NotificationError";
    this.mayRetry = options.mayRetry;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** One way in which people are told. */
export interface NotificationTarget {
  /** Unique; shown in its state and in the log. */
  readonly name: string;
  readonly kind: "webhook" | "slack" | "discord" | "telegram" | "command";
  /** What of it is told. */
  readonly news: readonly ApprovalNews[];
  /** Whether an approval is told of here. @default each is */
  readonly matches?: ((approval: Approval) => boolean) | undefined;
  /** Where this target's readers decide. @default nowhere is named */
  readonly toLink?: ((approval: Approval) => Promise<string>) | undefined;
  /**
   * Delivers a notice, once.
   * @param id - The same when it is tried again, so that the other side can tell.
   * @throws {NotificationError} when it did not arrive
   */
  deliver(notice: Notice, context: { readonly id: string; readonly signal: AbortSignal }): Promise<void>;
}

/** How the notices of one target fared. */
export interface NotificationStatus {
  readonly name: string;
  readonly kind: NotificationTarget["kind"];
  readonly delivered: number;
  /** Given up: tried too often, refused, or not of use any more. */
  readonly failed: number;
  /** Not tried at all, since too many waited. */
  readonly dropped: number;
  /** Under way or to be tried again. */
  readonly waiting: number;
  /** What went wrong last; absent after a delivery. At most 300 characters. */
  readonly last_error?: string;
}

/** Options of {@link Notifier}. */
export interface NotifierOptions {
  readonly targets: readonly NotificationTarget[];
  /** How long one attempt may take, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** How often a notice is tried at most. @default 8, over about four minutes */
  readonly maxAttempts?: number | undefined;
  /** How many notices may wait for one target. @default 1000 */
  readonly maxWaiting?: number | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
  /** From 0 up to but not 1. @default Math.random */
  readonly random?: (() => number) | undefined;
  /** @default the platform's timers */
  readonly startTimer?: StartTimer | undefined;
  /** Keeps the work alive after the request it came of, as on Workers. @default nothing does */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

const BASE_MS = 1000;
const MAX_BACKOFF_MS = 120_000;
const MAX_ERROR_CHARS = 300;

/**
 * Tells people of approvals. It holds nothing up: what it is handed is delivered later, again with growing delays when that
 * fails, until it is of no use any more. What became of it is in {@link Notifier.status}.
 */
export class Notifier {
  readonly #targets: readonly TargetQueue[];
  readonly #waitUntil: NotifierOptions["waitUntil"];

  constructor({ targets, waitUntil, ...options }: NotifierOptions) {
    this.#targets = targets.map((target) => new TargetQueue(target, options));
    this.#waitUntil = waitUntil;
  }

  /** Hands on news of an approval. It does not throw. */
  tell(news: ApprovalNews, approval: Approval): void {
    for (const target of this.#targets) {
      const work = target.tell(news, approval);
      if (work !== undefined) this.#waitUntil?.(work);
    }
  }

  /** How each target fares. */
  status(): readonly NotificationStatus[] {
    return this.#targets.map((target) => target.status());
  }

  /** Waits for what is under way, at most so many milliseconds, and tries nothing again. */
  async close(timeoutMs: number): Promise<void> {
    await settlesWithin(Promise.all(this.#targets.map((target) => target.close())), timeoutMs);
    for (const target of this.#targets) target.abort();
  }
}

class TargetQueue {
  readonly #target: NotificationTarget;
  readonly #options: Omit<NotifierOptions, "targets" | "waitUntil">;
  readonly #startTimer: StartTimer;
  readonly #now: () => number;
  readonly #log: Log;
  readonly #underWay = new Set<Promise<void>>();
  readonly #pauses = new Set<() => void>();
  readonly #controllers = new Set<AbortController>();
  #delivered = 0;
  #failed = 0;
  #dropped = 0;
  #lastError: string | undefined;
  #isClosed = false;

  constructor(target: NotificationTarget, options: Omit<NotifierOptions, "targets" | "waitUntil">) {
    this.#target = target;
    this.#options = options;
    this.#startTimer = options.startTimer ?? platformTimer;
    this.#now = options.now ?? Date.now;
    this.#log = options.log ?? silentLog;
  }

  tell(news: ApprovalNews, approval: Approval): Promise<void> | undefined {
    const { news: wanted, matches } = this.#target;
    if (this.#isClosed || !wanted.includes(news) || matches?.(approval) === false) return undefined;
    if (this.#underWay.size >= (this.#options.maxWaiting ?? 1000)) {
      this.#dropped += 1;
      this.#noteFailure("too many notifications wait", "dropped");
      return undefined;
    }
    const work = this.#deliver(news, approval).finally(() => void this.#underWay.delete(work));
    this.#underWay.add(work);
    return work;
  }

  status(): NotificationStatus {
    const { name, kind } = this.#target;
    return {
      name,
      kind,
      delivered: this.#delivered,
      failed: this.#failed,
      dropped: this.#dropped,
      waiting: this.#underWay.size,
      ...(this.#lastError !== undefined && { last_error: this.#lastError }),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of this.#pauses) end();
    await Promise.all(this.#underWay);
  }

  abort(): void {
    for (const controller of this.#controllers) controller.abort();
  }

  async #deliver(news: ApprovalNews, approval: Approval): Promise<void> {
    const { maxAttempts = 8, random = Math.random } = this.#options;
    // Nobody can decide any more, or has to be told of it, when the time is over.
    const untilMs = news === "requested" ? Date.parse(approval.expires) : Number.POSITIVE_INFINITY;
    for (let attempt = 1; ; attempt += 1) {
      const error = await this.#attempt(news, approval);
      if (error === undefined) {
        this.#delivered += 1;
        this.#lastError = undefined;
        return;
      }
      const backoffMs = Math.min(MAX_BACKOFF_MS, BASE_MS * 2 ** (attempt - 1)) * (1 - random() / 2);
      const delayMs = Math.max(backoffMs, error.retryAfterMs ?? 0);
      const isOver = !error.mayRetry || attempt >= maxAttempts || this.#now() + delayMs >= untilMs;
      this.#noteFailure(error.message, isOver ? "given up" : "to be tried again");
      if (!isOver) await this.#pause(delayMs);
      if (!isOver && !this.#isClosed) continue;
      if (!isOver) this.#noteFailure(error.message, "given up: the gateway stops");
      this.#failed += 1;
      return;
    }
  }

  async #attempt(news: ApprovalNews, approval: Approval): Promise<NotificationError | undefined> {
    const controller = new AbortController();
    this.#controllers.add(controller);
    const timeoutMs = this.#options.timeoutMs ?? 10_000;
    const stop = this.#startTimer(() => controller.abort(), timeoutMs);
    const late = new Promise<never>((_resolve, reject) => {
      const onAbort = (): void => reject(new NotificationError(`no answer in ${timeoutMs} ms`, { mayRetry: true }));
      controller.signal.addEventListener("abort", onAbort);
    });
    try {
      const link = await this.#target.toLink?.(approval);
      const id = `${approval.id}-${news === "requested" ? "r" : "d"}`;
      const delivering = this.#target.deliver({ news, approval, link }, { id, signal: controller.signal });
      await Promise.race([delivering, late]);
      return undefined;
    } catch (error) {
      if (error instanceof NotificationError) return error;
      const message = error instanceof Error ? error.name : "failed";
      return new NotificationError(`it could not be sent: ${message}`, { mayRetry: true });
    } finally {
      stop();
      this.#controllers.delete(controller);
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        stop();
        this.#pauses.delete(end);
        resolve();
      };
      const stop = this.#startTimer(end, delayMs);
      this.#pauses.add(end);
      if (this.#isClosed) end();
    });
  }

  #noteFailure(message: string, outcome: string): void {
    this.#lastError = message.slice(0, MAX_ERROR_CHARS);
    const { name, kind } = this.#target;
    this.#log.warn("a notification was not delivered", { target: name, kind, error: this.#lastError, outcome });
  }
}
