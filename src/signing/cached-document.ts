import { HookgateError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { FetchJwksOptions } from "./jwks-fetch.ts";
import { VerificationError } from "./verification-error.ts";

/** Settings of a {@link CachedDocument}, with every default filled in. */
export interface CacheSettings {
  readonly fetch: FetchJwksOptions;
  readonly now: () => number;
  readonly maxAgeMs: number;
  readonly maxStaleMs: number;
  readonly cooldownMs: number;
  readonly shareFetch: boolean;
  readonly waitUntil: (fetching: Promise<void>) => void;
  readonly log: Log;
}

/** Fetches a document and reads it; what it gave before is handed in. */
export type LoadDocument<T extends object> = (previous: T | undefined) => Promise<T>;

interface Fetched<T> {
  readonly document: T;
  readonly atMs: number;
}

const FIRST_RETRY_MS = 1000;

/**
 * Keys that are published at a URL, fetched when they are needed, again in the background when they age, at once but not
 * often when one is missing, and used on while the URL does not answer.
 */
export class CachedDocument<T extends object> {
  readonly #settings: CacheSettings;
  readonly #load: LoadDocument<T>;
  #fetched: Fetched<T> | undefined;
  #fetching: Promise<void> | undefined;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(settings: CacheSettings, load: LoadDocument<T>) {
    this.#settings = settings;
    this.#load = load;
  }

  /**
   * What `select` finds in the document; when it finds nothing, in a newer one.
   * @param kid - The key id that is looked for, for the error.
   * @throws {VerificationError} `keys_unavailable` when there is no document that is fresh enough
   */
  async find<R>(select: (document: T) => R | undefined, kid: string | undefined): Promise<R | undefined> {
    const { now, maxAgeMs } = this.#settings;
    const age = this.#age(now());
    if (age >= maxAgeMs) return this.#findRefreshed(select, kid);
    const found = this.#select(select);
    const mayFetch = now() - this.#lastStartMs >= this.#settings.cooldownMs;
    if (found === undefined) {
      if (!mayFetch && this.#fetching === undefined) return undefined;
      await this.#tryRefresh();
      return this.#select(select);
    }
    if (age >= maxAgeMs / 2 && mayFetch) this.#settings.waitUntil(this.#tryRefresh());
    return found;
  }

  /**
   * Fetches the document now.
   * @throws {HookgateError} `ERR_CONFIG` when the URL does not answer with it in time and size
   */
  async refresh(): Promise<void> {
    if (this.#fetching !== undefined) return this.#fetching;
    const fetching = this.#fetch();
    if (!this.#settings.shareFetch) return fetching;
    this.#fetching = fetching;
    try {
      await fetching;
    } finally {
      this.#fetching = undefined;
    }
  }

  /** Logs what went wrong with the document or a part of it. */
  warn(error: HookgateError): void {
    this.#settings.log.warn(error.message, { origin: new URL(this.#settings.fetch.url).origin });
  }

  #select<R>(select: (document: T) => R | undefined): R | undefined {
    return this.#fetched === undefined ? undefined : select(this.#fetched.document);
  }

  /** Too old to use unless the URL does not answer; it is then not asked again for every message. */
  async #findRefreshed<R>(select: (document: T) => R | undefined, kid: string | undefined): Promise<R | undefined> {
    const { now, maxStaleMs, fetch } = this.#settings;
    const nowMs = now();
    // Another message has just asked: the keys there are serve the others until it knows.
    const isAsking = this.#fetched !== undefined && nowMs - this.#lastStartMs < fetch.timeoutMs;
    if (nowMs >= this.#retryAtMs && !isAsking) await this.#tryRefresh();
    if (this.#age(now()) >= maxStaleMs) throw new VerificationError("keys_unavailable", { kid });
    return this.#select(select);
  }

  async #tryRefresh(): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      if (!(error instanceof HookgateError)) throw error;
      this.warn(error);
    }
  }

  async #fetch(): Promise<void> {
    const { now, cooldownMs } = this.#settings;
    const startMs = now();
    this.#lastStartMs = startMs;
    try {
      const document = await this.#load(this.#fetched?.document);
      // A slow answer must not replace a later one.
      if (this.#fetched === undefined || startMs >= this.#fetched.atMs) this.#fetched = { document, atMs: startMs };
      this.#failures = 0;
      this.#retryAtMs = Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#retryAtMs = now() + Math.min(cooldownMs, FIRST_RETRY_MS * 2 ** this.#failures);
      this.#failures += 1;
      throw error;
    }
  }

  #age(nowMs: number): number {
    return this.#fetched === undefined ? Number.POSITIVE_INFINITY : nowMs - this.#fetched.atMs;
  }
}
