/** Bounds on what callers may send. */
export interface GatewayLimits {
  /** The largest body, in bytes; a larger one is answered 413 without being read to its end. @default 8388608 (8 MiB) */
  readonly maxBodyBytes?: number;
  /** The most messages in a batch. @default 50 */
  readonly maxBatch?: number;
  /** The most `/rpc` requests under way; the next is answered 503 at once. @default 256 */
  readonly maxConcurrency?: number;
  /** The most calls a minute for each token, a batch counting once per message. @default no limit */
  readonly requestsPerMinute?: number;
}

/** How many names a {@link RateLimit} remembers before it forgets those that have not asked for a minute. */
const MAX_NAMES = 10_000;

const MINUTE_MS = 60_000;

interface Bucket {
  left: number;
  atMs: number;
}

/** Lets each name ask so many times a minute, with a minute's worth at once at most. */
export class RateLimit {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** Takes one; 0 when there was one, otherwise in how many milliseconds there is. */
  take(name: string): number {
    const bucket = this.#bucket(name);
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * MINUTE_MS) / this.#perMinute);
    bucket.left -= 1;
    return 0;
  }

  /** Takes more than there may be: what a batch holds beyond its first call is paid for by later requests. */
  charge(name: string, count: number): void {
    this.#bucket(name).left -= count;
  }

  #bucket(name: string): Bucket {
    const atMs = this.#now();
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_NAMES) this.#forget(atMs);
      bucket = { left: this.#perMinute, atMs };
      this.#buckets.set(name, bucket);
    }
    bucket.left = Math.min(this.#perMinute, bucket.left + ((atMs - bucket.atMs) * this.#perMinute) / MINUTE_MS);
    bucket.atMs = atMs;
    return bucket;
  }

  #forget(atMs: number): void {
    for (const [name, bucket] of this.#buckets) if (atMs - bucket.atMs >= MINUTE_MS) this.#buckets.delete(name);
  }
}

/** Counts calls under way, up to a limit, and knows when there are none. */
export class InFlight {
  readonly #max: number;
  readonly #waiting = new Set<() => void>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many are under way. */
  get count(): number {
    return this.#count;
  }

  /** Whether there was room for one more. */
  enter(): boolean {
    if (this.#count >= this.#max) return false;
    this.#count += 1;
    return true;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Resolves when no call is under way, or after `timeoutMs`; the result says which. */
  async idle(timeoutMs: number): Promise<boolean> {
    if (this.#count === 0) return true;
    return new Promise((resolve) => {
      const onIdle = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(onIdle);
        resolve(false);
      }, timeoutMs);
      this.#waiting.add(onIdle);
    });
  }
}

/**
 * Reads a limit.
 * @throws {RangeError} when it is not a positive integer
 */
export function toLimit(name: keyof GatewayLimits, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`limits.${name}: expected a positive integer, got ${value}`);
}
