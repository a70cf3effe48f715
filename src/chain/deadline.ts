import { HookgateError } from "../errors.ts";
import { MAX_DELAY_MS } from "../wait.ts";
import type { CallScope } from "./scope.ts";

/** Makes what {@link Deadline.settle} resolves to; neither may throw. */
export interface ReadSettled<T> {
  reply(value: unknown): T;
  error(error: unknown): T;
}

/**
 * Settles the calls of one chain run at their deadlines. A run calls one hook at a time, so one timer serves it:
 * it is armed by the first call that has to wait, re-armed for the call that is running when it fires early,
 * and cleared by {@link Deadline.dispose}.
 */
export class Deadline {
  readonly #now: () => number;
  readonly #signal: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAtMs = 0;
  #listening = false;
  #scope: CallScope | undefined;
  #fail: ((error: unknown) => void) | undefined;

  constructor(now: () => number, signal: AbortSignal | undefined) {
    this.#now = now;
    this.#signal = signal;
  }

  /** Whether the host has given up. */
  get aborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /**
   * Waits for a reply until the scope's deadline or the host's signal, whichever is first. What it resolves to is made
   * by `read`: from the reply, or from the error that came instead, which is `timeout` when the deadline passed first
   * and `ERR_ABORTED` when the host gave up first.
   */
  settle<T>(reply: PromiseLike<unknown>, scope: CallScope, read: ReadSettled<T>): Promise<T> {
    return new Promise((resolve) => {
      const fail = (error: unknown): void => {
        if (this.#scope === scope) this.#scope = undefined;
        resolve(read.error(error));
      };
      const succeed = (value: unknown): void => {
        if (this.#scope === scope) this.#scope = undefined;
        resolve(read.reply(value));
      };
      this.#scope = scope;
      this.#fail = fail;
      try {
        reply.then(succeed, fail);
      } catch (error) {
        fail(error);
      }
      void this.#watch(scope);
    });
  }

  /** Leaves no timer and no listener behind. */
  dispose(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#scope = undefined;
    if (this.#listening) this.#signal?.removeEventListener("abort", this.#onHostAbort);
  }

  /**
   * Arms timer and listener one microtask later: a reply that is there already needs neither, and no timer or event can
   * come in between.
   */
  async #watch(scope: CallScope): Promise<void> {
    await Promise.resolve();
    if (this.#scope !== scope) return;
    if (this.aborted) return this.#onHostAbort();
    if (!this.#listening) this.#signal?.addEventListener("abort", this.#onHostAbort);
    this.#listening = true;
    this.#arm(scope.deadlineAtMs);
  }

  #arm(atMs: number): void {
    if (this.#timer !== undefined) {
      if (this.#timerAtMs <= atMs) return;
      clearTimeout(this.#timer);
    }
    this.#timerAtMs = atMs;
    const delayMs = Math.ceil(atMs - this.#now());
    this.#timer = setTimeout(this.#onTimer, Math.min(Math.max(1, delayMs), MAX_DELAY_MS));
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    const scope = this.#scope;
    if (scope === undefined) return;
    if (scope.remainingMs > 0) this.#arm(scope.deadlineAtMs);
    else this.cut(scope.toLateError());
  };

  readonly #onHostAbort = (): void => {
    this.cut(new HookgateError("ERR_ABORTED", "the host aborted the call", { cause: this.#signal?.reason }));
  };

  /** Ends the call that is waited for with this error; without one it does nothing. */
  cut(error: HookgateError): void {
    const scope = this.#scope;
    this.#scope = undefined;
    this.#fail?.(error);
    scope?.abort(error);
  }
}
