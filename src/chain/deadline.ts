import { HookCallError, HookgateError } from "../errors.ts";
import type { CallScope } from "./scope.ts";

/** The longest delay a timer of the web platform can hold, in milliseconds (2^31 - 1). */
export const MAX_TIMEOUT_MS = 2_147_483_647;

/**
 * Settles the calls of one chain run at their deadlines. A run calls one hook at a time, so one timer serves it:
 * it is armed by the first call that is asynchronous, re-armed for the call that is running when it fires early,
 * and cleared by {@link Deadline.dispose}.
 */
export class Deadline {
  readonly #now: () => number;
  readonly #signal: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAtMs = 0;
  #scope: CallScope | undefined;
  #reject: ((error: HookgateError) => void) | undefined;

  constructor(now: () => number, signal: AbortSignal | undefined) {
    this.#now = now;
    this.#signal = signal;
    signal?.addEventListener("abort", this.#onHostAbort);
  }

  /** Whether the host has given up. */
  get aborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /**
   * Waits for a reply until the scope's deadline or the host's signal, whichever is first.
   * @throws {HookCallError} `timeout` when the deadline passes first
   * @throws {HookgateError} `ERR_ABORTED` when the host gives up first
   */
  settle(reply: PromiseLike<unknown>, scope: CallScope): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#scope = scope;
      this.#reject = reject;
      this.#arm(scope.deadlineAtMs);
      reply.then(resolve, reject);
      if (this.aborted) this.#onHostAbort();
    });
  }

  /** Leaves no timer and no listener behind. */
  dispose(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#scope = undefined;
    this.#signal?.removeEventListener("abort", this.#onHostAbort);
  }

  #arm(atMs: number): void {
    if (this.#timer !== undefined) {
      if (this.#timerAtMs <= atMs) return;
      clearTimeout(this.#timer);
    }
    this.#timerAtMs = atMs;
    const delayMs = Math.ceil(atMs - this.#now());
    this.#timer = setTimeout(this.#onTimer, Math.min(Math.max(1, delayMs), MAX_TIMEOUT_MS));
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    const scope = this.#scope;
    if (scope === undefined) return;
    if (scope.remainingMs > 0) this.#arm(scope.deadlineAtMs);
    else this.#cut(new HookCallError("timeout", "no reply within the deadline"));
  };

  readonly #onHostAbort = (): void => {
    this.#cut(new HookgateError("ERR_ABORTED", "the host aborted the call", { cause: this.#signal?.reason }));
  };

  #cut(error: HookgateError): void {
    const scope = this.#scope;
    this.#scope = undefined;
    this.#reject?.(error);
    scope?.abort(error);
  }
}
