import { HookgateError } from "../errors.ts";
import type { MaybePromise } from "./crypto.ts";

/** Remembers which messages were seen, so that none counts twice. */
export interface ReplayStore {
  /**
   * Inserts a key unless it is there, in one atomic step.
   * @param key - Up to 2 KiB; opaque.
   * @param expiresAtMs - Milliseconds since the epoch until which the key must be kept.
   * @returns true when the key was not there, false when it was and has not expired.
   * @throws when the store cannot tell, and when `expiresAtMs` has passed by its own clock: it would remember nothing, so
   * two clocks that are far apart would let every replay through. The message is refused then.
   */
  insert(key: string, expiresAtMs: number): MaybePromise<boolean>;
}

/** Options of {@link createMemoryReplayStore}. */
export interface MemoryReplayStoreOptions {
  /**
   * The most keys kept, at least 1. When all of them are unexpired a new message is refused rather than an old key
   * forgotten: forgetting would open the door to the message that a flood was sent to make room for. At 90 s a key,
   * the default holds 5,800 messages a second, in about 120 MB.
   * `@default` 524288
   */
  readonly maxKeys?: number | undefined;
  /** Milliseconds since the epoch; the verifier's own clock. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

const SWEPT_PER_INSERT = 4;

class MemoryReplayStore implements ReplayStore {
  readonly #expiries = new Map<string, number>();
  readonly #maxKeys: number;
  readonly #now: () => number;
  // One iterator lives on: a new one for each sweep would step over every deleted entry again.
  #entries: MapIterator<[string, number]> = this.#expiries.entries();
  #oldest: [string, number] | undefined;
  #sweptAllAtMs = Number.NEGATIVE_INFINITY;

  constructor(maxKeys: number, now: () => number) {
    this.#maxKeys = maxKeys;
    this.#now = now;
  }

  insert(key: string, expiresAtMs: number): boolean {
    const now = this.#now();
    if (!(expiresAtMs > now)) throw new HookgateError("ERR_OVERLOADED", "the replay store's clock is past the expiry");
    this.#sweep(now);
    const known = this.#expiries.get(key);
    if (known !== undefined && known > now) return false;
    if (this.#expiries.size >= this.#maxKeys && known === undefined) this.#sweepAll(now);
    // Deleted first, so that the order stays the order of insertion.
    if (known !== undefined) this.#expiries.delete(key);
    this.#expiries.set(key, expiresAtMs);
    return true;
  }

  /** Keys expire about in the order they came, so a few looks at the oldest per insert keep up without a timer. */
  #sweep(now: number): void {
    for (let looks = 0; looks < SWEPT_PER_INSERT; looks += 1) {
      this.#oldest ??= this.#next();
      if (this.#oldest === undefined) return;
      const [key, expiresAtMs] = this.#oldest;
      if (this.#expiries.get(key) === expiresAtMs) {
        if (expiresAtMs > now) return;
        this.#expiries.delete(key);
      }
      this.#oldest = undefined;
    }
  }

  #next(): [string, number] | undefined {
    const step = this.#entries.next();
    if (step.done !== true) return step.value;
    this.#entries = this.#expiries.entries();
    return undefined;
  }

  #sweepAll(now: number): void {
    // At most once a second, so that a full store does not make each message cost a walk over all keys.
    if (now - this.#sweptAllAtMs >= 1000) {
      this.#sweptAllAtMs = now;
      for (const [key, expiresAtMs] of this.#expiries) if (expiresAtMs <= now) this.#expiries.delete(key);
    }
    if (this.#expiries.size >= this.#maxKeys) throw new HookgateError("ERR_OVERLOADED", "the replay store is full");
  }
}

/**
 * Makes a replay store in memory: exact within one process. Several processes or isolates behind one address need a
 * shared store, or a message counts once in each. Its `insert` throws `ERR_OVERLOADED` when it is full of unexpired keys.
 * @throws {RangeError} when `maxKeys` is not a positive integer
 */
export function createMemoryReplayStore(options: MemoryReplayStoreOptions = {}): ReplayStore {
  const maxKeys = options.maxKeys ?? 524_288;
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new RangeError(`maxKeys must be a positive integer, got ${maxKeys}`);
  }
  return new MemoryReplayStore(maxKeys, options.now ?? Date.now);
}
