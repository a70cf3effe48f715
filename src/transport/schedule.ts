import { HookCallError } from "../errors.ts";
import type { TransportScope } from "./contract.ts";

/**
 * Runs a function once, after a time in milliseconds.
 * @returns what keeps it from running
 */
export type Schedule = (run: () => void, delayMs: number) => () => void;

/** The schedule on the platform's timers. */
export const timerSchedule: Schedule = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

/** The scope of something the transport does by itself, where no caller settles a deadline. */
export class OwnScope implements TransportScope {
  attempt = 1;
  readonly #controller = new AbortController();
  readonly #deadlineAtMs: number;
  readonly #now: () => number;
  readonly #cancel: () => void;
  #listener: ((reason: unknown) => void) | undefined;

  constructor(timeoutMs: number, { now, schedule }: { readonly now: () => number; readonly schedule: Schedule }) {
    this.#now = now;
    this.#deadlineAtMs = now() + timeoutMs;
    this.#cancel = schedule(() => this.abort(new HookCallError("timeout", "no reply within the deadline")), timeoutMs);
  }

  get remainingMs(): number {
    return Math.max(0, this.#deadlineAtMs - this.#now());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onAbort(listener: (reason: unknown) => void): void {
    if (this.signal.aborted) listener(this.signal.reason);
    else this.#listener = listener;
  }

  /** Cuts what is done; a second call does nothing. */
  abort(reason: HookCallError): void {
    if (this.signal.aborted) return;
    this.#listener?.(reason);
    this.#controller.abort(reason);
  }

  /** Leaves no timer behind. */
  dispose(): void {
    this.#cancel();
  }
}
