import { HookCallError } from "../errors.ts";
import type { Watch } from "./watch.ts";

/** Options of {@link Slots}. */
export interface SlotsOptions {
  /** How many calls may run at once. */
  readonly maxRunning: number;
  /** How many more may wait; 0 where one request must not wait for another. */
  readonly maxWaiting: number;
}

/** Lets a number of calls run at once; others wait in their order, each within its own deadline. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #waiting = new Set<() => void>();
  #runningCount = 0;
  #onIdle: () => void = () => {};

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  /**
   * Takes a slot, to be given back with {@link Slots.release}.
   * @returns undefined when there was a free one
   * @throws {HookCallError} `overloaded` when too many wait
   * @throws what the call was cut with while it waited
   */
  take(watch: Watch): Promise<void> | undefined {
    const { maxRunning, maxWaiting } = this.#options;
    if (this.#runningCount < maxRunning) {
      this.#runningCount += 1;
      return undefined;
    }
    if (this.#waiting.size >= maxWaiting)
      throw new HookCallError("overloaded", "too many calls of the hook are in flight");
    return watch.wait((done) => {
      this.#waiting.add(done);
      return () => this.#waiting.delete(done);
    });
  }

  /** Gives a slot back, to the call that has waited longest. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#runningCount -= 1;
      if (this.#runningCount === 0) this.#onIdle();
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  /** Resolves when no call runs. */
  idle(): Promise<void> {
    if (this.#runningCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }
}
