import { HookCallError } from "../errors.ts";
import type { Watch } from "./watch.ts";

/** Options of {@link Slots}. */
export interface SlotsOptions {
  /** How many calls may run at once. */
  readonly maxRunning: number;
  /** How many more may wait; 0 where one request must not wait for another. */
  readonly maxWaiting: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** A call ends at its deadline; what has not given its slot back so long after was torn down with its request. */
const GRACE_MS = 1000;

/** Lets a number of calls run at once; others wait in their order, each within its own deadline. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #waiting = new Set<() => void>();
  readonly #waitingFirst = new Set<() => void>();
  /** The calls that run, and until when they can. */
  readonly #running = new Map<Watch, number>();
  #onIdle: () => void = () => {};

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  /**
   * Takes a slot, to be given back with {@link Slots.release}.
   * @param goesFirst - whether it goes before those that wait and do not say so, as approvals do
   * @returns undefined when there was a free one
   * @throws {HookCallError} `overloaded` when too many wait
   * @throws what the call was cut with while it waited
   */
  take(watch: Watch, goesFirst = false): Promise<void> | undefined {
    const { maxRunning, maxWaiting } = this.#options;
    if (this.#running.size >= maxRunning) this.#forget();
    if (this.#running.size < maxRunning) {
      this.#run(watch);
      return undefined;
    }
    if (this.#waiting.size + this.#waitingFirst.size >= maxWaiting)
      throw new HookCallError("overloaded", "too many calls of the hook are in flight");
    const queue = goesFirst ? this.#waitingFirst : this.#waiting;
    return watch.wait((done) => {
      const enter = (): void => {
        this.#run(watch);
        done();
      };
      queue.add(enter);
      return () => queue.delete(enter);
    });
  }

  /** Gives the call's slot back, to the call that goes first and has waited longest. */
  release(watch: Watch): void {
    this.#running.delete(watch);
    const [next] = this.#waitingFirst.size > 0 ? this.#waitingFirst : this.#waiting;
    if (next === undefined) {
      if (this.#running.size === 0) this.#onIdle();
      return;
    }
    if (!this.#waitingFirst.delete(next)) this.#waiting.delete(next);
    next();
  }

  /** Resolves when no call runs. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #run(watch: Watch): void {
    this.#running.set(watch, this.#options.now() + watch.scope.remainingMs + GRACE_MS);
  }

  #forget(): void {
    const nowMs = this.#options.now();
    for (const [watch, untilMs] of this.#running) if (untilMs < nowMs) this.#running.delete(watch);
  }
}
