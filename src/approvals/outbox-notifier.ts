import { type Log, silentLog } from "../log.ts";
import type { Approval } from "./approval.ts";
import { type ApprovalNews, platformTimer, type StartTimer } from "./manager.ts";
import {
  attemptNotice,
  isWanted,
  type NotificationError,
  type NotificationStatus,
  type NotificationTarget,
  toRetryDelayMs,
  toShownError,
} from "./notice-attempt.ts";
import {
  type DeliveryCounts,
  type DeliveryResult,
  EVERYONE,
  MAX_TAKEN,
  type OutboxEntry,
  type OutboxPeer,
} from "./outbox.ts";
import { readApproval } from "./store.ts";

/** Options of {@link OutboxNotifier}. */
export interface OutboxNotifierOptions {
  readonly targets: readonly NotificationTarget[];
  /** A way to where notices wait, for one call. */
  readonly connect: () => OutboxPeer;
  /** Told of what nobody could be told of when it happened: that an approval has expired. It must not throw. */
  readonly onNews: (news: ApprovalNews, approval: Approval) => void;
  /** Keeps work alive after the request it came of. */
  readonly waitUntil: (work: Promise<void>) => void;
  /** How long one attempt may take, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
  /** From 0 up to but not 1. @default Math.random */
  readonly random?: (() => number) | undefined;
  /** @default the platform's timers */
  readonly startTimer?: StartTimer | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

/** What stands in the place of counts that cannot be read. */
const UNKNOWN = "how it fares cannot be read: the store of approvals is not available";

/**
 * Tells people of approvals where no process lives long enough to try again: what is to be told waits in an outbox, and
 * whoever takes it tells the outbox what came of it.
 */
export class OutboxNotifier {
  readonly #options: OutboxNotifierOptions;
  readonly #now: () => number;
  readonly #log: Log;

  constructor(options: OutboxNotifierOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#log = options.log ?? silentLog;
  }

  /** Hands on news of an approval. It does not throw, and nobody waits for it. */
  tell(news: ApprovalNews, approval: Approval): void {
    this.#options.waitUntil(
      this.#keep(news, approval).catch((error: unknown) => {
        const fields = { approval: approval.id, news, error: toReason(error) };
        this.#log.error("people are not notified of an approval: the notice could not be kept", fields);
      }),
    );
  }

  /**
   * Takes what is due, and delivers it after that.
   * @throws {Error} what asking the outbox throws
   */
  async deliver(): Promise<void> {
    const { taken } = await this.#options.connect().exchange([], MAX_TAKEN);
    for (const entry of taken) this.#options.waitUntil(this.#settle(entry));
  }

  /** How each target fares, at all gateways that share the outbox. */
  async status(): Promise<readonly NotificationStatus[]> {
    const counts = await this.#counts();
    return this.#options.targets.map(({ name, kind }) => {
      const own = counts?.find(({ target }) => target === name);
      const { delivered = 0, failed = 0, dropped = 0, waiting = 0 } = own ?? {};
      const lastError = counts === undefined ? UNKNOWN : (own?.lastError ?? "");
      return { name, kind, delivered, failed, dropped, waiting, ...(lastError !== "" && { last_error: lastError }) };
    });
  }

  async #counts(): Promise<readonly DeliveryCounts[] | undefined> {
    try {
      return (await this.#options.connect().exchange([], 0)).counts;
    } catch (error) {
      this.#log.error("how notifications fare cannot be read", { error: toReason(error) });
      return undefined;
    }
  }

  async #keep(news: ApprovalNews, approval: Approval): Promise<void> {
    const { targets, connect } = this.#options;
    const names = targets.filter((target) => isWanted(target, news, approval)).map(({ name }) => name);
    if (names.length === 0) return;
    const untilMs = news === "requested" ? Date.parse(approval.expires) : Number.MAX_SAFE_INTEGER;
    await connect().enqueue({ approval: approval.id, news, body: JSON.stringify(approval), untilMs }, names);
  }

  /** What is taken and not settled, because this isolate is gone or the outbox cannot be told, is taken again. */
  async #settle(entry: OutboxEntry): Promise<void> {
    const { seq, attempt } = entry;
    try {
      const result = { seq, attempt, ...(await this.#deliver(entry)) };
      await this.#options.connect().exchange([result], 0);
    } catch (error) {
      this.#log.error("a notice is to be delivered again", { error: toReason(error) });
    }
  }

  async #deliver({ target: name, news: told, attempt, body }: OutboxEntry): Promise<Outcome> {
    let approval: Approval;
    try {
      approval = readApproval(body);
    } catch (error) {
      // It would not be read the next time either.
      this.#log.error("a notice cannot be read, and is given up", { target: name, error: toReason(error) });
      return { outcome: "failed", error: "it cannot be read" };
    }
    const news = told === "requested" ? told : "decided";
    if (name !== EVERYONE) return this.#notify(name, { news, approval, attempt });
    // First what can fail: observers are told once.
    await this.#keep(news, approval);
    this.#options.onNews(news, approval);
    return { outcome: "delivered" };
  }

  async #notify(name: string, { news, approval, attempt }: Notified): Promise<Outcome> {
    const target = this.#options.targets.find((each) => each.name === name);
    if (target === undefined) return { outcome: "failed", error: "the config of this gateway has no such target" };
    const { timeoutMs, random, startTimer = platformTimer } = this.#options;
    const controller = new AbortController();
    const error = await attemptNotice(target, { news, approval, controller, timeoutMs, startTimer });
    if (error === undefined) return { outcome: "delivered" };
    const delayMs = toRetryDelayMs(error, { news, approval, attempt, nowMs: this.#now(), random });
    this.#noteFailure(target, error, delayMs === undefined ? "given up" : "to be tried again");
    const shown = toShownError(error);
    return delayMs === undefined ? { outcome: "failed", error: shown } : { outcome: "again", delayMs, error: shown };
  }

  #noteFailure({ name, kind }: NotificationTarget, error: NotificationError, outcome: string): void {
    this.#log.warn("a notification was not delivered", { target: name, kind, error: toShownError(error), outcome });
  }
}

type Outcome = Omit<DeliveryResult, "seq" | "attempt">;

interface Notified {
  readonly news: ApprovalNews;
  readonly approval: Approval;
  readonly attempt: number;
}

function toReason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300);
}
