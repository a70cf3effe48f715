/** Options of {@link LogLimit}. */
export interface LogLimitOptions {
  /** How many lines may come at once. */
  readonly burst: number;
  /** How many lines a second are allowed after that. */
  readonly perSecond: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** Decides which of many log lines are written, and counts the others. */
export class LogLimit {
  readonly #options: LogLimitOptions;
  #tokens: number;
  #filledAtMs: number;
  #suppressed = 0;

  constructor(options: LogLimitOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAtMs = options.now();
  }

  /** How many lines may be written now. Looks at the clock; {@link LogLimit.take} does not. */
  available(): number {
    const { burst, perSecond, now } = this.#options;
    const atMs = now();
    this.#tokens = Math.min(burst, this.#tokens + ((atMs - this.#filledAtMs) / 1000) * perSecond);
    this.#filledAtMs = atMs;
    return Math.floor(this.#tokens);
  }

  /** Uses up one line. */
  take(): void {
    this.#tokens -= 1;
  }

  /** Counts lines that are not written. */
  suppress(count: number): void {
    this.#suppressed += count;
  }

  /** How many lines were not written since this was last asked. */
  takeSuppressed(): number {
    const count = this.#suppressed;
    this.#suppressed = 0;
    return count;
  }
}
