import { HookCallError } from "../errors.ts";
import { MAX_DELAY_MS } from "../wait.ts";

const DELAY = /^[1-9]\d{0,14}$/;

/** How long a call may take where the header says nothing, in milliseconds: what an approver has by default. */
export const DEFAULT_TIMEOUT_MS = 60_000;

/** What is left of the caller's deadline, in milliseconds, as `hook-timeout-ms` says it. */
export function parseTimeout(header: string | null): number {
  if (header === null || !DELAY.test(header)) return DEFAULT_TIMEOUT_MS;
  return Math.min(Number(header), MAX_DELAY_MS);
}

/** When a call is cut. */
export interface Limits {
  readonly timeoutMs: number;
  /** Aborts when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
}

/** What a call is told of its end. */
export interface CallCut {
  readonly isCut: boolean;
  /** Calls `listener` once when the call is cut, at once when it was. One listener at most. */
  readonly onAbort: (listener: (reason: unknown) => void) => void;
}

/** How many microtasks a call that waits for nothing takes, about; one that takes more pays for a timer. */
const TURNS_AT_ONCE = 5;

/**
 * Runs a call under a deadline. The timer settles it, also where the call does not heed its end. It is armed when the
 * call has to wait: before that, no timer and no event could come in between.
 * @throws {HookCallError} `timeout`, or `aborted` when the caller is gone
 */
export function runWithin<T>(call: (cut: CallCut) => Promise<T>, limits: Limits): Promise<T> {
  if (limits.signal?.aborted) return Promise.reject(callerGone());
  return new Promise((resolve, reject) => {
    const ending = new Ending(limits, reject);
    call(ending).then(
      (value) => {
        ending.dispose();
        resolve(value);
      },
      (error: unknown) => {
        ending.dispose();
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what the hook threw goes on as it is
        reject(error);
      },
    );
    void ending.armUnlessOver();
  });
}

function callerGone(): HookCallError {
  return new HookCallError("aborted", "the caller is gone");
}

class Ending implements CallCut {
  readonly #startedAtMs = performance.now();
  readonly #limits: Limits;
  readonly #reject: (error: HookCallError) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  #listener: ((reason: unknown) => void) | undefined;
  #reason: HookCallError | undefined;

  constructor(limits: Limits, reject: (error: HookCallError) => void) {
    this.#limits = limits;
    this.#reject = reject;
  }

  get isCut(): boolean {
    return this.#reason !== undefined;
  }

  readonly onAbort = (listener: (reason: unknown) => void): void => {
    if (this.#reason === undefined) this.#listener = listener;
    else listener(this.#reason);
  };

  async armUnlessOver(): Promise<void> {
    for (let turn = 0; turn < TURNS_AT_ONCE; turn += 1) {
      await Promise.resolve();
      if (this.#isOver) return;
    }
    const { timeoutMs, signal } = this.#limits;
    if (signal?.aborted) return this.#onCallerGone();
    signal?.addEventListener("abort", this.#onCallerGone);
    this.#timer = setTimeout(this.#onLate, Math.max(0, timeoutMs - (performance.now() - this.#startedAtMs)));
  }

  /** Leaves no timer and no listener behind. */
  dispose(): void {
    this.#isOver = true;
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#limits.signal?.removeEventListener("abort", this.#onCallerGone);
  }

  readonly #onLate = (): void => this.#cut(new HookCallError("timeout", "the deadline has passed"));

  readonly #onCallerGone = (): void => this.#cut(callerGone());

  #cut(reason: HookCallError): void {
    this.dispose();
    this.#reason = reason;
    this.#reject(reason);
    this.#listener?.(reason);
  }
}
