import { HookCallError } from "../errors.ts";

/** Options of {@link Circuit}. */
export interface CircuitOptions {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** After so many calls without a verdict in a row no more are made. @default 5 */
  readonly maxFailures?: number | undefined;
  /** For how long, in milliseconds; then one call is tried. @default 10000 */
  readonly openMs?: number | undefined;
}

/** How a call that was let through ended. Only the first of them counts. */
export interface Passage {
  succeed(): void;
  fail(): void;
  /** It says nothing about the other side, such as a call the host gave up. */
  leave(): void;
}

/** Spares an endpoint that does not answer, and those who would wait for it. */
export class Circuit {
  readonly #now: () => number;
  readonly #maxFailures: number;
  readonly #openMs: number;
  #failureCount = 0;
  #openUntilMs: number | undefined;
  #trialUntilMs: number | undefined;

  constructor({ now, maxFailures = 5, openMs = 10_000 }: CircuitOptions) {
    this.#now = now;
    this.#maxFailures = maxFailures;
    this.#openMs = openMs;
  }

  /** Whether calls are refused, or but one is tried. */
  get isOpen(): boolean {
    return this.#openUntilMs !== undefined;
  }

  /**
   * Lets a call through. One that comes after the time is a trial: until it has ended, others are refused.
   * @param maxMs - how long the call can take, in milliseconds: a trial that has not reported by then was torn down with
   *   its request, and another is let through
   * @throws {HookCallError} `circuit_open`
   */
  enter(maxMs: number = Number.POSITIVE_INFINITY): Passage {
    const isTrial = this.isOpen;
    let untilMs = 0;
    if (isTrial) {
      this.check();
      untilMs = this.#now() + maxMs;
      this.#trialUntilMs = untilMs;
    }
    let isOver = false;
    const end = (report: () => void): void => {
      if (isOver) return;
      isOver = true;
      if (isTrial && this.#trialUntilMs === untilMs) this.#trialUntilMs = undefined;
      report();
    };
    return {
      succeed: () => end(() => this.#close()),
      fail: () => end(() => this.#count(isTrial)),
      leave: () => end(() => {}),
    };
  }

  /** @throws {HookCallError} `circuit_open` when a call would be refused now */
  check(): void {
    if (this.#openUntilMs === undefined) return;
    const nowMs = this.#now();
    if (nowMs < this.#openUntilMs || (this.#trialUntilMs !== undefined && nowMs < this.#trialUntilMs)) {
      throw new HookCallError("circuit_open", `the hook gave no verdict ${this.#failureCount} times in a row`);
    }
  }

  #close(): void {
    this.#failureCount = 0;
    this.#openUntilMs = undefined;
  }

  #count(isTrial: boolean): void {
    this.#failureCount += 1;
    if (isTrial || (!this.isOpen && this.#failureCount >= this.#maxFailures))
      this.#openUntilMs = this.#now() + this.#openMs;
  }
}
