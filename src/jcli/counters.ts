import { type HookRecord, LatencyHistogram, type LatencyQuantiles } from "../chain/index.ts";

/** What a hook's calls came to. A retried call counts once per attempt. */
export interface HookMetrics {
  readonly executions: number;
  readonly successes: number;
  readonly failures: number;
  /** How often its filter did not match. */
  readonly skipped: number;
  readonly total_ms: number;
}

/** What a hook's calls have come to so far; outlives the hook when its file is read again. */
export class HookCounters {
  #executionCount = 0;
  #successCount = 0;
  #failureCount = 0;
  #skippedCount = 0;
  #totalMs = 0;
  #lastError: string | undefined;
  #lastFiredAtMs: number | undefined;
  readonly #latency = new LatencyHistogram();
  readonly #ignored = new Set<string>();

  /** Why the last failed attempt failed. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** RFC 3339 time of the end of the last call. */
  get lastFired(): string | undefined {
    return this.#lastFiredAtMs === undefined ? undefined : new Date(this.#lastFiredAtMs).toISOString();
  }

  /** How long its calls took; undefined before the first. */
  get latency(): LatencyQuantiles | undefined {
    return this.#latency.quantiles();
  }

  /** Fields of the hook's results that have no effect at its event. */
  get ignoredFields(): readonly string[] {
    return [...this.#ignored];
  }

  /** Keeps the names of fields that have no effect; those that are new come back. */
  ignore(fields: readonly string[]): readonly string[] {
    const added = fields.filter((field) => !this.#ignored.has(field));
    for (const field of added) this.#ignored.add(field);
    return added;
  }

  /** Counts a call, or a call that was not made. */
  count({ outcome, kind, error, ms, attempt }: HookRecord): void {
    if (attempt === 0) {
      if (outcome === "filtered") this.#skippedCount += 1;
      return;
    }
    this.#executionCount += 1;
    this.#totalMs += ms;
    this.#latency.add(ms);
    this.#lastFiredAtMs = Date.now();
    if (kind === undefined) {
      this.#successCount += 1;
      return;
    }
    this.#failureCount += 1;
    this.#lastError = error;
  }

  /** The counts so far. */
  toMetrics(): HookMetrics {
    return {
      executions: this.#executionCount,
      successes: this.#successCount,
      failures: this.#failureCount,
      skipped: this.#skippedCount,
      total_ms: this.#totalMs,
    };
  }
}
