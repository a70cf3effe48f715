import { HookCallError } from "../errors.ts";

/** What a call's record says besides. */
export interface CallNotes {
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly cached?: true;
}

/** What a hook call can know of its own deadline. One is made per call; nothing of it outlives the call. */
export class CallScope {
  /** When the call is cut, on the clock of {@link now}, in milliseconds. */
  readonly deadlineAtMs: number;
  /** Which attempt the call is in, for its record; a transport that tries again counts it up. */
  attempt = 1;
  /** The W3C traceparent that goes with the call to a remote hook; without one the transport makes its own. */
  traceparent: string | undefined;
  /** Who asks, for hooks in this process alone: a transport sends it nowhere. */
  caller: string | undefined;
  /** What it is when the deadline passes: the hook's own time was up, or that of its whole point. */
  lateKind: "timeout" | "budget" = "timeout";
  readonly #now: () => number;
  #controller: AbortController | undefined;
  #onAbort: ((reason: unknown) => void) | undefined;
  #onCut: ((reason: unknown) => void) | undefined;
  #reason: unknown;
  #aborted = false;
  #noted: CallNotes | undefined;

  constructor(deadlineAtMs: number, now: () => number) {
    this.deadlineAtMs = deadlineAtMs;
    this.#now = now;
  }

  /** What is left of the deadline in milliseconds; 0 when it has passed. */
  get remainingMs(): number {
    return Math.max(0, this.deadlineAtMs - this.#now());
  }

  /** Aborts at the deadline or when the host gives up. It is made on first use: a hook that never asks pays nothing. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** What the call's record says besides; absent when nothing was noted. */
  get noted(): CallNotes | undefined {
    return this.#noted;
  }

  /** Adds to what the call's record says, whether or not a verdict comes of it. JSON values; never a payload or a key. */
  note(detail: Readonly<Record<string, unknown>>): void {
    this.#noted = { ...this.#noted, detail: { ...this.#noted?.detail, ...detail } };
  }

  /** Says in the call's record that the reply is one the hook gave before. */
  noteCached(): void {
    this.#noted = { ...this.#noted, cached: true };
  }

  /** What a call that is late ends with. */
  toLateError(cause?: unknown): HookCallError {
    const text = this.lateKind === "budget" ? "no reply within the point's budget" : "no reply within the deadline";
    return new HookCallError(this.lateKind, text, cause === undefined ? undefined : { cause });
  }

  /** Calls `listener` once when the call is cut. One listener at most: it is for the transport that carries the call. */
  onAbort(listener: (reason: unknown) => void): void {
    if (this.#aborted) listener(this.#reason);
    else this.#onAbort = listener;
  }

  /** As {@link CallScope.onAbort}, for what the call waits in or holds before and beside the transport: the last counts. */
  onCut(listener: (reason: unknown) => void): void {
    if (this.#aborted) listener(this.#reason);
    else this.#onCut = listener;
  }

  /** Cuts the call. For the engine; a second call does nothing. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#onAbort?.(reason);
    this.#onCut?.(reason);
    this.#controller?.abort(reason);
  }
}
