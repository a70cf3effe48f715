import type { CallScope } from "../chain/index.ts";
import { HookCallError } from "../errors.ts";

/** Who goes first when several wait for the same hook. */
export type GateClass = "approval" | "interceptor" | "event";

interface Waiter {
  enter(): void;
}

/**
 * Lets so many calls of one hook run at once; others wait within their own deadlines, approvals before interceptors
 * before events. As many may wait as may run, so that a hook that does not answer cannot take up all calls of a gateway.
 */
export class Gate {
  readonly #maxRunning: number;
  readonly #waiting: Readonly<Record<GateClass, Set<Waiter>>> = {
    approval: new Set(),
    interceptor: new Set(),
    event: new Set(),
  };
  #runningCount = 0;

  /** @throws {RangeError} when the bound is not an integer from 1 to 65536 */
  constructor(maxRunning: number) {
    if (!Number.isInteger(maxRunning) || maxRunning < 1 || maxRunning > 65_536) {
      throw new RangeError(`maxConcurrency: expected an integer from 1 to 65536, got ${maxRunning}`);
    }
    this.#maxRunning = maxRunning;
  }

  /** How many calls run and wait. */
  get counts(): { readonly running: number; readonly waiting: number } {
    return { running: this.#runningCount, waiting: this.#waitingCount };
  }

  /**
   * Makes a call when there is room for it.
   * @throws {HookCallError} `overloaded` when too many wait
   * @throws what the call was cut with while it waited, and whatever it throws itself
   */
  run(scope: CallScope, kind: GateClass, call: () => unknown): unknown {
    if (this.#runningCount < this.#maxRunning) {
      this.#runningCount += 1;
      return this.#start(scope, call);
    }
    if (this.#waitingCount >= this.#maxRunning) {
      throw new HookCallError("overloaded", `${this.#runningCount} calls of the hook are under way and as many wait`);
    }
    return this.#enter(scope, kind).then(() => this.#start(scope, call));
  }

  get #waitingCount(): number {
    const { approval, interceptor, event } = this.#waiting;
    return approval.size + interceptor.size + event.size;
  }

  #enter(scope: CallScope, kind: GateClass): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { enter: resolve };
      this.#waiting[kind].add(waiter);
      scope.onCut((reason) => {
        if (!this.#waiting[kind].delete(waiter)) return;
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason is what the engine cut the call with
        reject(reason);
      });
    });
  }

  /** Holds the place it was given until the reply is there or the call is cut: a hook that ignores its signal must not keep it. */
  #start(scope: CallScope, call: () => unknown): unknown {
    let isHeld = true;
    const leave = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#runningCount -= 1;
      this.#admit();
    };
    scope.onCut(leave);
    let reply: unknown;
    try {
      reply = call();
    } catch (error) {
      leave();
      throw error;
    }
    if (!isPromiseLike(reply)) {
      leave();
      return reply;
    }
    const settled = Promise.resolve(reply);
    settled.then(leave, leave);
    return settled;
  }

  #admit(): void {
    const { approval, interceptor, event } = this.#waiting;
    for (const lane of [approval, interceptor, event]) {
      const [next] = lane;
      if (next === undefined) continue;
      lane.delete(next);
      // The place is taken now: nobody may come in before the call that waited.
      this.#runningCount += 1;
      next.enter();
      return;
    }
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
