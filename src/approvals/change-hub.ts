import type { ApprovalChange, OnApprovalChange } from "./store.ts";

/** Wakes those who wait in this process for approvals to change. A store that hears of changes passes them on to it. */
export class ChangeHub {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<OnApprovalChange>();
  #isClosed = false;

  /** The approvals somebody waits for. */
  get waitedFor(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /** How many wait or listen. */
  get size(): number {
    let size = this.#listeners.size;
    for (const waiting of this.#waiting.values()) size += waiting.size;
    return size;
  }

  /** Resolves with the next change of an approval, when changes may have been missed, when the signal aborts, and at the end. */
  next(id: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || this.#isClosed) {
        resolve();
        return;
      }
      const waiting = this.#waiting.get(id) ?? new Set();
      this.#waiting.set(id, waiting);
      const settle = (): void => {
        signal.removeEventListener("abort", settle);
        waiting.delete(settle);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
        resolve();
      };
      waiting.add(settle);
      signal.addEventListener("abort", settle);
    });
  }

  /** Calls `listener` for each change. @returns lets go of it */
  subscribe(listener: OnApprovalChange): () => void {
    // One function may listen twice.
    const own: OnApprovalChange = (change) => listener(change);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Tells of a change; without one, that some may have been missed. */
  tell(change: ApprovalChange | undefined): void {
    const woken = change === undefined ? [...this.#waiting.values()] : [this.#waiting.get(change.id) ?? []];
    for (const waiting of woken) for (const settle of waiting) settle();
    for (const listener of this.#listeners) listener(change);
  }

  /** Ends every wait. */
  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.tell(undefined);
  }
}
