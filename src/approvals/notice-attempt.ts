import type { Approval } from "./approval.ts";
import type { ApprovalNews, StartTimer } from "./manager.ts";
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

/** How many notices may wait for one target where nothing else is said. */
export const MAX_WAITING_NOTICES = 1000;

const BASE_MS = 1000;
const MAX_BACKOFF_MS = 120_000;
const MAX_ERROR_CHARS = 300;
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_ATTEMPTS = 8;

/** What one attempt to deliver is made with. */
export interface AttemptOptions {
  readonly news: ApprovalNews;
  readonly approval: Approval;
  /** Aborted when its time is over; aborting it before ends the attempt. */
  readonly controller: AbortController;
  /** @default 10000 */
  readonly timeoutMs?: number | undefined;
  readonly startTimer: StartTimer;
}

/** Whether a target wants to be told. */
export function isWanted(target: NotificationTarget, news: ApprovalNews, approval: Approval): boolean {
  return target.news.includes(news) && target.matches?.(approval) !== false;
}

/** Tries once to deliver a notice. @returns what went wrong; undefined when it has arrived */
export async function attemptNotice(
  target: NotificationTarget,
  { news, approval, controller, timeoutMs = DEFAULT_TIMEOUT_MS, startTimer }: AttemptOptions,
): Promise<NotificationError | undefined> {
  const stop = startTimer(() => controller.abort(), timeoutMs);
  const late = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(new NotificationError(`no answer in ${timeoutMs} ms`, { mayRetry: true }));
    controller.signal.addEventListener("abort", onAbort);
  });
  try {
    const link = await target.toLink?.(approval);
    const id = `${approval.id}-${news === "requested" ? "r" : "d"}`;
    const delivering = target.deliver({ news, approval, link }, { id, signal: controller.signal });
    await Promise.race([delivering, late]);
    return undefined;
  } catch (error) {
    if (error instanceof NotificationError) return error;
    const message = error instanceof Error ? error.name : "failed";
    return new NotificationError(`it could not be sent: ${message}`, { mayRetry: true });
  } finally {
    stop();
  }
}

/** What {@link toRetryDelayMs} goes by. */
export interface RetryOptions {
  readonly news: ApprovalNews;
  readonly approval: Approval;
  /** How often it was tried, 1 or more. */
  readonly attempt: number;
  readonly nowMs: number;
  /** How often it is tried at most. @default 8, over about four minutes */
  readonly maxAttempts?: number | undefined;
  /** From 0 up to but not 1. @default Math.random */
  readonly random?: (() => number) | undefined;
}

/** After how long a notice that failed is tried again, in milliseconds; undefined when it is given up. */
export function toRetryDelayMs(error: NotificationError, options: RetryOptions): number | undefined {
  const { news, approval, attempt, nowMs, maxAttempts = DEFAULT_ATTEMPTS, random = Math.random } = options;
  const backoffMs = Math.min(MAX_BACKOFF_MS, BASE_MS * 2 ** (attempt - 1)) * (1 - random() / 2);
  const delayMs = Math.max(backoffMs, error.retryAfterMs ?? 0);
  const isOver = !error.mayRetry || attempt >= maxAttempts || nowMs + delayMs >= toUsefulUntilMs(news, approval);
  return isOver ? undefined : delayMs;
}

/** Nobody can decide any more, or has to be told of it, when the time is over. */
function toUsefulUntilMs(news: ApprovalNews, { expires }: Approval): number {
  return news === "requested" ? Date.parse(expires) : Number.POSITIVE_INFINITY;
}

/** What is shown and logged of a failure. */
export function toShownError({ message }: NotificationError): string {
  return message.slice(0, MAX_ERROR_CHARS);
}
