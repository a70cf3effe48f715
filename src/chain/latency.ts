/** Quantiles of how long calls took, in milliseconds. */
export interface LatencyQuantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Units of a millisecond that durations are counted in: a quarter of a microsecond. */
const UNITS_PER_MS = 4000;

/** The longest duration that is told from longer ones, in units: about 537 seconds. */
const MAX_UNITS = 2 ** 31 - 1;

/** Each power of two is divided into so many buckets of the same width, as a power of two itself. */
const SUB_BITS = 4;
const SUB_COUNT = 2 ** SUB_BITS;
const BUCKET_COUNT = bucketOf(MAX_UNITS) + 1;

/**
 * Counts durations in fixed buckets that grow with them, in 3.5 KiB whatever is counted: adding one allocates nothing. A
 * quantile is the middle of its bucket, so it is off by at most 3.2% of itself, or by 0.13 microseconds below 4; what took
 * longer than 537 seconds counts as that.
 */
export class LatencyHistogram {
  // Doubles count on where 32 bits would begin again after some hours of calls.
  readonly #counts = new Float64Array(BUCKET_COUNT);
  #total = 0;

  add(ms: number): void {
    const units = ms * UNITS_PER_MS;
    // A clock that was set back, or none at all, counts as no time.
    const bucket = bucketOf(units > 0 ? Math.min(units, MAX_UNITS) | 0 : 0);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
  }

  /** Undefined when nothing was counted. */
  quantiles(): LatencyQuantiles | undefined {
    if (this.#total === 0) return undefined;
    return { p50: this.#at(0.5), p95: this.#at(0.95), p99: this.#at(0.99) };
  }

  #at(share: number): number {
    let left = Math.ceil(share * this.#total);
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return middleOf(bucket);
    }
    return middleOf(BUCKET_COUNT - 1);
  }
}

function bucketOf(units: number): number {
  // How far a number of more than five bits is shifted so that five are left: the first of them is always set.
  const shift = Math.max(0, 31 - SUB_BITS - Math.clz32(units));
  return shift * SUB_COUNT + (units >>> shift);
}

/** In milliseconds, to the nanosecond. */
function middleOf(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / SUB_COUNT) - 1);
  const lowest = (bucket - shift * SUB_COUNT) * 2 ** shift;
  return Math.round(((lowest + 2 ** shift / 2) / UNITS_PER_MS) * 1e6) / 1e6;
}
