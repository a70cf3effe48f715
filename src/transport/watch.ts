import type { TransportScope } from "./contract.ts";

/** One call as its waits see it: whichever it is in, it ends when the call is cut. */
export class Watch {
  readonly scope: TransportScope;
  #isCut = false;
  #reason: unknown;
  #onCut: ((reason: unknown) => void) | undefined;

  /** @param onCut - called once when the call is cut, before what it waits for ends */
  constructor(scope: TransportScope, onCut: (reason: unknown) => void) {
    this.scope = scope;
    scope.onAbort((reason) => {
      this.#isCut = true;
      this.#reason = reason;
      onCut(reason);
      this.#onCut?.(reason);
    });
  }

  /** Whether the call was cut. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /**
   * Calls `listener` when the call is cut, at once when it was, in the place of the listener before; undefined lets go. It
   * is for the one thing the call waits for, and costs less than the scope's signal.
   */
  listen(listener: ((reason: unknown) => void) | undefined): void {
    this.#onCut = listener;
    if (this.#isCut) listener?.(this.#reason);
  }

  /** @throws what the call was cut with, when it was */
  assertGoing(): void {
    if (this.#isCut) throw this.#reason;
  }

  /**
   * Waits for what `start` begins, or until the call is cut. A call waits for one thing at a time.
   * @param start - begins it, and gives back what lets go of it when the call is cut
   * @returns what `done` is given
   * @throws what the call was cut with
   */
  wait<T = void>(start: (done: (value: T) => void) => () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => {
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason is what the engine cut the call with
        reject(reason);
      };
      if (this.#isCut) {
        fail(this.#reason);
        return;
      }
      const release = start((value) => {
        this.#onCut = undefined;
        resolve(value);
      });
      this.#onCut = (reason) => {
        release();
        fail(reason);
      };
    });
  }
}
