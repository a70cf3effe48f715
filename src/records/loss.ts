/** How long a loss is news, in milliseconds. */
const RECENT_MS = 300_000;

/** Knows whether something was lost lately, going by a count that only grows. */
export class RecentLoss {
  #total = 0;
  #atMs = -Infinity;

  /** Whether the count has grown in the last five minutes. */
  isRecent(total: number): boolean {
    if (total > this.#total) {
      this.#total = total;
      this.#atMs = performance.now();
    }
    return performance.now() - this.#atMs < RECENT_MS;
  }
}
