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

/**
 * The place of a call that runs. They are kept in an array: a map is laid out anew every few calls, and each layout keeps
 * the next one, and the calls in it, until a full collection.
 */
export interface Slot {
  /** Until when the call can run. */
  readonly untilMs: number;
  /** Where it is in the array; undefined when it was given back. */
  at: number | undefined;
}

/** A call ends at its deadline; what has not given its slot back so long after was torn down with its request. */
const GRACE_MS = 1000;

/** Lets a number of calls run at once; others wait in their order, each within its own deadline. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #waiting = new Set<() => void>();
  readonly #waitingFirst = new Set<() => void>();
  readonly #running: Slot[] = [];
  #onIdle: () => void = () => {};

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  /**
   * Takes a slot, to be given back with {@link Slots.release}.
   * @param goesFirst - whether it goes before those that wait and do not say so, as approvals do
   * @returns at once when one is free
   * @throws {HookCallError} `overloaded` when too many wait
   * @throws what the call was cut with while it waited
   */
  take(watch: Watch, goesFirst = false): Slot | Promise<Slot> {
    const { maxRunning, maxWaiting } = this.#options;
    if (this.#running.length >= maxRunning) this.#forget();
    if (this.#running.length < maxRunning) return this.#run(watch);
    if (this.#waiting.size + this.#waitingFirst.size >= maxWaiting)
      throw new HookCallError("overloaded", "too many calls of the hook are in flight");
    const queue = goesFirst ? this.#waitingFirst : this.#waiting;
    return watch.wait((done) => {
      const enter = (): void => done(this.#run(watch));
      queue.add(enter);
      return () => queue.delete(enter);
    });
  }

  /** Gives a slot back, to the call that goes first and has waited longest. */
  release(slot: Slot): void {
    this.#remove(slot);
    const [next] = this.#waitingFirst.size > 0 ? this.#waitingFirst : this.#waiting;
    if (next === undefined) {
      if (this.#running.length === 0) this.#onIdle();
      return;
    }
    if (!this.#waitingFirst.delete(next)) this.#waiting.delete(next);
    next();
  }

  /** Resolves when no call runs. */
  idle(): Promise<void> {
    if (this.#running.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #run(watch: Watch): Slot {
    const untilMs = this.#options.now() + watch.scope.remainingMs + GRACE_MS;
    const slot: Slot = { untilMs, at: this.#running.length };
    this.#running.push(slot);
    return slot;
  }

  /** Fills its place with the last one: their order means nothing. */
  #remove(slot: Slot): void {
    const { at } = slot;
    if (at === undefined) return;
    slot.at = undefined;
    const last = this.#running.pop();
    if (last === undefined || last === slot) return;
    this.#running[at] = last;
    last.at = at;
  }

  #forget(): void {
    const nowMs = this.#options.now();
    for (const slot of this.#running.filter(({ untilMs }) => untilMs < nowMs)) this.#remove(slot);
  }
}
