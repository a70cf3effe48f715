import { type Log, silentLog } from "../log.ts";
import { settlesWithin } from "../wait.ts";
import type { Approval } from "./approval.ts";
import { type ApprovalNews, platformTimer, type StartTimer } from "./manager.ts";
import {
  attemptNotice,
  isWanted,
  MAX_WAITING_NOTICES,
  NotificationError,
  type NotificationStatus,
  type NotificationTarget,
  toRetryDelayMs,
  toShownError,
} from "./notice-attempt.ts";

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

  /** Resolves when everything that was handed on is delivered or given up. */
  async idle(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.idle()));
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
    if (this.#isClosed || !isWanted(this.#target, news, approval)) return undefined;
    if (this.#underWay.size >= (this.#options.maxWaiting ?? MAX_WAITING_NOTICES)) {
      this.#dropped += 1;
      this.#noteFailure(new NotificationError("too many notifications wait", { mayRetry: false }), "dropped");
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
    await this.idle();
  }

  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  abort(): void {
    for (const controller of this.#controllers) controller.abort();
  }

  async #deliver(news: ApprovalNews, approval: Approval): Promise<void> {
    const { maxAttempts, random } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const error = await this.#attempt(news, approval);
      if (error === undefined) {
        this.#delivered += 1;
        this.#lastError = undefined;
        return;
      }
      const nowMs = this.#now();
      const delayMs = toRetryDelayMs(error, { news, approval, attempt, nowMs, maxAttempts, random });
      this.#noteFailure(error, delayMs === undefined ? "given up" : "to be tried again");
      if (delayMs !== undefined) await this.#pause(delayMs);
      if (delayMs !== undefined && !this.#isClosed) continue;
      if (delayMs !== undefined) this.#noteFailure(error, "given up: the gateway stops");
      this.#failed += 1;
      return;
    }
  }

  async #attempt(news: ApprovalNews, approval: Approval): Promise<NotificationError | undefined> {
    const controller = new AbortController();
    this.#controllers.add(controller);
    const { timeoutMs } = this.#options;
    const startTimer = this.#startTimer;
    try {
      return await attemptNotice(this.#target, { news, approval, controller, timeoutMs, startTimer });
    } finally {
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

  #noteFailure(error: NotificationError, outcome: string): void {
    this.#lastError = toShownError(error);
    const { name, kind } = this.#target;
    this.#log.warn("a notification was not delivered", { target: name, kind, error: this.#lastError, outcome });
  }
}
