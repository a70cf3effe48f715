import { HookgateError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import type { MaskPath } from "../records/mask.ts";
import { type CryptoPort, webCrypto } from "../signing/crypto.ts";
import { createUuidV7 } from "../signing/uuid.ts";
import { MAX_DELAY_MS } from "../wait.ts";
import { type Approval, isLapsed, isOpen } from "./approval.ts";
import { toCallHash } from "./call-hash.ts";
import {
  type ApprovalDemand,
  type ApprovalQuestion,
  asksTheSame,
  findShortfall,
  toApproval,
  toHeldUntilMs,
} from "./question.ts";
import { ApprovalError, UnreadableApprovalError } from "./refusal.ts";
import {
  cancelApproval,
  type CancelInput,
  consumeApproval,
  decideApproval,
  type DecisionInput,
  expireApproval,
  toTime,
} from "./state.ts";
import type { ApprovalListOptions, ApprovalPage, ApprovalStore, OnApprovalChange } from "./store.ts";
import { UnreadableLog } from "./unreadable-log.ts";

/** What an approval came to be: asked for, or not pending any more. */
export type ApprovalNews = "requested" | "decided";

/** Starts a timer. @returns stops it */
export type StartTimer = (run: () => void, delayMs: number) => () => void;

/** Options of {@link ApprovalManager}. */
export interface ApprovalManagerOptions<S extends ApprovalStore = ApprovalStore> {
  readonly store: S;
  /** What of arguments is not shown to people; paths begin with `arguments`. @default nothing is left out */
  readonly masks?: readonly MaskPath[] | undefined;
  /** Told of each approval that this process has made or settled. It must not throw. @default nobody */
  readonly onNews?: ((news: ApprovalNews, approval: Approval) => void) | undefined;
  /** Hashes calls. @default WebCrypto */
  readonly crypto?: Pick<CryptoPort, "digest"> | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
  /** @default the platform's timers */
  readonly startTimer?: StartTimer | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

/** Options of {@link ApprovalManager.wait}. */
export interface WaitOptions {
  /** How long to wait at most, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the wait. @default nothing does */
  readonly signal?: AbortSignal | undefined;
}

/** What {@link ApprovalManager.ask} came to. */
export interface Asked {
  readonly approval: Approval;
  /** Whether people are asked anew; otherwise the approval is one that was open for the same call. */
  readonly isNew: boolean;
  /** Until when nobody is asked, as RFC 3339: the approval is a denial that is not long ago. Absent when it is another. */
  readonly heldUntil?: string;
  /** What people had approved for the call and does not meet the question: it was taken back. Absent when there is none. */
  readonly outdated?: OutdatedApproval;
}

/** An approval that was given by another rule than the one there is. */
export interface OutdatedApproval {
  readonly id: string;
  /** Why it does not count, as part of a sentence. */
  readonly why: string;
}

/** Each of them means that another process or call has changed the approval meanwhile; the states come to an end. */
const MAX_ATTEMPTS = 256;
const MAX_SWEPT = 200;
/** How often approvals whose time is over are looked for, in milliseconds. */
const TIDY_MS = 10_000;

/** Timers of the platform. */
export const platformTimer: StartTimer = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

/**
 * Asks people whether calls may run, and keeps what they decide: the rules on top of an {@link ApprovalStore}. Any number
 * of managers, in any number of processes, may work on one store.
 *
 * Its methods reject with `ERR_STORE_UNAVAILABLE` when the store cannot tell, and then nothing is approved.
 */
export class ApprovalManager<S extends ApprovalStore = ApprovalStore> {
  readonly store: S;
  readonly #masks: readonly MaskPath[];
  readonly #onNews: ApprovalManagerOptions["onNews"];
  readonly #crypto: Pick<CryptoPort, "digest">;
  readonly #now: () => number;
  readonly #startTimer: StartTimer;
  readonly #log: Log;
  readonly #unreadable: UnreadableLog;
  readonly #waiting = new Set<() => void>();
  #stopTidying: (() => void) | undefined;
  #isReleased = false;

  constructor(options: ApprovalManagerOptions<S>) {
    const { store, masks = [], onNews, crypto: port = webCrypto, now = Date.now, startTimer = platformTimer } = options;
    this.store = store;
    this.#masks = masks;
    this.#onNews = onNews;
    this.#crypto = port;
    this.#now = now;
    this.#startTimer = startTimer;
    this.#log = options.log ?? silentLog;
    this.#unreadable = new UnreadableLog(this.#log);
  }

  /** The time that approvals go by, in milliseconds since the epoch. */
  now(): number {
    return this.#now();
  }

  /**
   * Asks people about a call, unless an approval is open for it: one that they are asked already, or that they have given
   * and that was not used yet. A pending one that asks others, or another number, is taken back and asked anew, and so is
   * one they have given that does not meet the question, which is by the rule there is now. Nobody is
   * asked either about a call that a person has denied within the question's `denialHoldsMs`.
   * @throws {HookgateError} `ERR_BODY_TOO_LARGE` when the arguments are too long to be shown whole
   * @throws {UnreadableApprovalError} when the approval that is open for it cannot be read, until that one's time is over
   */
  async ask(question: ApprovalQuestion): Promise<Asked> {
    const call = await toCallHash(question, this.#crypto);
    let outdated: Pick<Asked, "outdated"> = {};
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const nowMs = this.#now();
      const last = (question.denialHoldsMs ?? 0) > 0 ? await this.#findLast(call) : undefined;
      const heldUntilMs = last && toHeldUntilMs(last, question);
      if (last !== undefined && heldUntilMs !== undefined && nowMs < heldUntilMs) {
        return { approval: last, isNew: false, heldUntil: toTime(heldUntilMs) };
      }
      const approval = toApproval(question, { id: createUuidV7(nowMs), call, nowMs, masks: this.#masks });
      // One that is open was not denied when it was looked for: were another made in its place, that no would count for nothing.
      const isAsked = last !== undefined && isOpen(last);
      const creation = isAsked ? { isNew: false as const, open: last } : await this.#create(approval);
      if (creation.isNew) {
        this.#tell("requested", approval);
        return { approval, isNew: true, ...outdated };
      }
      const { open } = creation;
      if (isLapsed(open, nowMs)) {
        await this.#settle(open, expireApproval(open, nowMs));
        continue;
      }
      const reason = findChange(open, question, nowMs);
      if (reason === undefined) return { approval: open, isNew: false, ...outdated };
      const isTaken = await this.#settle(open, cancelApproval(open, { nowMs, reason }));
      if (isTaken && open.status === "approved") {
        outdated = { outdated: { id: open.id, why: reason } };
        this.#log.info("an approval does not meet the rule any more: it was taken back", {
          approval: open.id,
          why: reason,
        });
      }
    }
    throw contended();
  }

  /**
   * The approval with an id. One whose time is over is settled as expired first.
   * @throws {ApprovalError} when there is none, or it cannot be read
   */
  async get(id: string): Promise<Approval> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const approval = await this.#unreadable.looking(this.store.get(id));
      if (approval === undefined) throw new ApprovalError("not_found", "there is no approval of this id");
      const settled = expireApproval(approval, this.#now());
      if (settled === approval || (await this.#settle(approval, settled))) return settled;
    }
    throw contended();
  }

  /** Lists approvals, the newest first, but for those that cannot be read. Those whose time is over are settled first. */
  async list(options: ApprovalListOptions): Promise<ApprovalPage> {
    await this.sweep();
    const page = await this.store.list(options);
    this.#unreadable.note(page.unreadable);
    return page;
  }

  /**
   * Takes a person's decision.
   * @throws {ApprovalError} when there is no such approval, it cannot be decided any more, was decided by this person
   *   before, is not theirs to decide, or is bound to another call
   */
  decide(id: string, input: Omit<DecisionInput, "nowMs">): Promise<Approval> {
    return this.#change(id, (approval, nowMs) => decideApproval(approval, { ...input, nowMs }));
  }

  /**
   * Uses what people have approved for a call: the approval, which is consumed unless it holds longer.
   * @param call - The hash of the call that is about to run.
   * @param demand - What it has to meet; it may have been given by another rule. `@default` what was asked then
   * @returns undefined when nothing is approved for it; then it must not run
   * @throws {UnreadableApprovalError} when what is open for it cannot be read
   */
  async use(call: string, demand?: ApprovalDemand): Promise<Approval | undefined> {
    const open = await this.#unreadable.looking(this.store.findOpen(call));
    if (open === undefined || open.status !== "approved") return undefined;
    if (demand !== undefined && findShortfall(open, demand, this.#now()) !== undefined) return undefined;
    try {
      return await this.#change(open.id, (approval, nowMs) => consumeApproval(approval, { call, nowMs }));
    } catch (error) {
      // Another call has used it, its time is over, or it was taken back.
      if (error instanceof ApprovalError) return undefined;
      throw error;
    }
  }

  /**
   * Takes an approval back: a question that is not to be answered any more, or what was approved and was not used up.
   * @throws {ApprovalError} when there is no such approval or it is settled
   */
  cancel(id: string, input: Omit<CancelInput, "nowMs"> = {}): Promise<Approval> {
    return this.#change(id, (approval, nowMs) => cancelApproval(approval, { ...input, nowMs }));
  }

  /**
   * Waits until an approval is not pending any more. It takes one timer, however long.
   * @returns the approval as it is then; still pending when the time was up or the signal aborted
   * @throws {ApprovalError} when there is none
   */
  async wait(id: string, { timeoutMs, signal }: WaitOptions): Promise<Approval> {
    const endsAtMs = this.#now() + timeoutMs;
    for (;;) {
      const approval = await this.get(id);
      const leftMs = Math.min(endsAtMs, Date.parse(approval.expires)) - this.#now();
      const isOver = signal?.aborted === true || this.#isReleased || this.#now() >= endsAtMs;
      if (approval.status !== "pending" || isOver) return approval;
      await this.#pause(approval, leftMs, signal);
    }
  }

  /** Settles approvals whose time is over, some hundred at once. @returns how many */
  async sweep(): Promise<number> {
    const nowMs = this.#now();
    const { approvals: due, unreadable } = await this.store.due(nowMs, MAX_SWEPT);
    this.#unreadable.note(unreadable);
    const settled = await Promise.all(due.map((approval) => this.#settle(approval, expireApproval(approval, nowMs))));
    return settled.filter(Boolean).length;
  }

  /** Calls `listener` after each change by any process. @returns lets go of it */
  subscribe(listener: OnApprovalChange): Promise<() => void> {
    return this.store.subscribe(listener);
  }

  /**
   * Settles approvals whose time is over, now and then, and deletes settled ones that are old, until it is closed.
   * @param keepMs - How long they are kept after their last change, in milliseconds.
   */
  tidy(keepMs: number): void {
    const tidy = async (): Promise<void> => {
      try {
        while ((await this.sweep()) === MAX_SWEPT);
        await this.store.prune(this.#now() - keepMs);
      } catch (error) {
        // It is tried again; whoever asks meanwhile is told.
        this.#log.warn("approvals were not tidied", { error: error instanceof Error ? error.message : String(error) });
      }
      if (this.#stopTidying !== undefined) schedule();
    };
    const schedule = (): void => void (this.#stopTidying = this.#startTimer(() => void tidy(), TIDY_MS));
    this.#stopTidying?.();
    schedule();
  }

  /** Ends every wait from now on: who waits is told that the approval is pending. For a gateway that is to stop. */
  release(): void {
    this.#isReleased = true;
    for (const end of this.#waiting) end();
  }

  /** Ends every wait and lets go of the store. */
  async close(): Promise<void> {
    this.release();
    this.#stopTidying?.();
    this.#stopTidying = undefined;
    await this.store.close();
  }

  async #create(approval: Approval): ReturnType<ApprovalStore["create"]> {
    try {
      return await this.#unreadable.looking(this.store.create(approval));
    } catch (error) {
      if (!(error instanceof UnreadableApprovalError)) throw error;
      // Where the time of the one that cannot be read is over, it is open no more after this.
      await this.sweep();
      return this.store.create(approval);
    }
  }

  /** Of what cannot be read nothing is known: it holds nobody up, unless it is open. */
  #findLast(call: string): Promise<Approval | undefined> {
    return this.#unreadable.find(this.store.findLast(call));
  }

  async #change(id: string, transition: (approval: Approval, nowMs: number) => Approval): Promise<Approval> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const approval = await this.get(id);
      const next = transition(approval, this.#now());
      if (next === approval || (await this.#settle(approval, next))) return next;
    }
    throw contended();
  }

  async #settle(approval: Approval, next: Approval): Promise<boolean> {
    if (!(await this.store.replace(next))) return false;
    if (approval.status === "pending" && next.status !== "pending") this.#tell("decided", next);
    return true;
  }

  async #pause({ id, version }: Approval, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const controller = new AbortController();
    const end = (): void => controller.abort();
    this.#waiting.add(end);
    // One that cannot be held so long ends early, and is started again.
    const stop = this.#startTimer(end, Math.min(Math.max(0, delayMs), MAX_DELAY_MS));
    signal?.addEventListener("abort", end);
    try {
      await this.store.changed(id, { version, signal: controller.signal });
    } finally {
      stop();
      this.#waiting.delete(end);
      signal?.removeEventListener("abort", end);
      // A store that woke early lets go of what it holds for the wait.
      end();
    }
  }

  #tell(news: ApprovalNews, approval: Approval): void {
    const { id, tool, status } = approval;
    this.#log.info(news === "requested" ? "approval requested" : "approval decided", { approval: id, tool, status });
    this.#onNews?.(news, approval);
  }
}

/** Why an open approval is not what is asked now; undefined when it is. */
function findChange(open: Approval, question: ApprovalQuestion, nowMs: number): string | undefined {
  if (open.status === "approved") return findShortfall(open, question, nowMs);
  return asksTheSame(open, question) ? undefined : "what is asked has changed";
}

function contended(): HookgateError {
  return new HookgateError("ERR_CONFLICT", "the approval was changed by others each time: try again");
}
