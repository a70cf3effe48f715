import { HookgateError } from "../errors.ts";
import { silentLog } from "../log.ts";
import type { Log } from "../log.ts";
import type { CryptoPort } from "./crypto.ts";
import { fetchJwks, parseJwksUrl } from "./jwks-fetch.ts";
import type { FetchJwksOptions, JwksFetch } from "./jwks-fetch.ts";
import { createThumbprint } from "./jwk.ts";
import type { PublicJwk, SignatureAlgorithm } from "./jwk.ts";
import type { KeySet } from "./key-set.ts";
import { createVerificationKey } from "./keys.ts";
import type { VerificationKey } from "./keys.ts";
import { VerificationError } from "./verification-error.ts";

/** Options of {@link createRemoteKeySet}. */
export interface RemoteKeySetOptions {
  /**
   * Where the JWK Set is: https, or http on a loopback address. From the configuration, never from a message.
   * Redirects are not followed.
   */
  readonly url: string;
  /** The URL of the endpoint whose keys these are. Given: the JWK Set must have the same origin. */
  readonly sameOriginAs?: string | undefined;
  readonly fetch: JwksFetch;
  /** Imports the keys. `@default` `webCrypto`, with jose for key pairs */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
  /**
   * Milliseconds after which fetched keys are fetched again before they are used; from half of it on, they are fetched in
   * the background. It is also how long a key that was withdrawn stays trusted while the URL answers. `@default` 300000
   */
  readonly maxAgeMs?: number | undefined;
  /**
   * Milliseconds for which keys are used while the URL does not answer. The threat: who can block the URL keeps a
   * withdrawn key alive that long. `@default` 86400000
   */
  readonly maxStaleMs?: number | undefined;
  /** Milliseconds between two fetches that unknown key ids can cause; anyone can send one. `@default` 30000 */
  readonly cooldownMs?: number | undefined;
  /** Milliseconds one fetch may take, body included. `@default` 5000 */
  readonly timeoutMs?: number | undefined;
  /** The most bytes the document may have. `@default` 65536 */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Whether calls that need keys at the same time wait for one fetch. Never on Workers, which refuse a promise that
   * another request made; everywhere else it spares fetches at the start. `@default` false
   */
  readonly shareFetch?: boolean | undefined;
  /** Keeps a background fetch alive after the reply; the host's `waitUntil`. `@default` the fetch is left to itself */
  readonly waitUntil?: ((fetching: Promise<void>) => void) | undefined;
  /** Hears of every fetch that failed and every key that was left out. `@default` `silentLog` */
  readonly log?: Log | undefined;
}

/** The keys a peer publishes at a URL. */
export interface RemoteKeySet extends KeySet {
  /**
   * Fetches the keys now, such as before the first call.
   * @throws {HookgateError} `ERR_CONFIG` when the URL does not answer with a JWK Set in time and size
   */
  refresh(): Promise<void>;
}

const ALGS: readonly SignatureAlgorithm[] = Object.freeze(["ES256", "EdDSA", "Ed25519"] as const);
const FIRST_RETRY_MS = 1000;

interface Settings {
  readonly fetch: FetchJwksOptions;
  readonly crypto: CryptoPort | undefined;
  readonly now: () => number;
  readonly maxAgeMs: number;
  readonly maxStaleMs: number;
  readonly cooldownMs: number;
  readonly shareFetch: boolean;
  readonly waitUntil: (fetching: Promise<void>) => void;
  readonly log: Log;
}

interface Fetched {
  readonly keys: ReadonlyMap<string, VerificationKey>;
  readonly atMs: number;
}

class FetchedKeySet implements RemoteKeySet {
  readonly algs: readonly SignatureAlgorithm[] = ALGS;
  readonly #settings: Settings;
  #fetched: Fetched | undefined;
  #fetching: Promise<void> | undefined;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async find(kid: string): Promise<VerificationKey | undefined> {
    const { now, maxAgeMs } = this.#settings;
    const age = this.#age(now());
    if (age >= maxAgeMs) return this.#findRefreshed(kid);
    const key = this.#fetched?.keys.get(kid);
    const mayFetch = now() - this.#lastStartMs >= this.#settings.cooldownMs;
    if (key === undefined) {
      if (!mayFetch && this.#fetching === undefined) return undefined;
      await this.#tryRefresh();
      return this.#fetched?.keys.get(kid);
    }
    if (age >= maxAgeMs / 2 && mayFetch) this.#settings.waitUntil(this.#tryRefresh());
    return key;
  }

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

  /** Too old to use unless the URL does not answer; it is then not asked again for every message. */
  async #findRefreshed(kid: string): Promise<VerificationKey | undefined> {
    const { now, maxStaleMs, fetch } = this.#settings;
    const nowMs = now();
    // Another message has just asked: the keys there are serve the others until it knows.
    const isAsking = this.#fetched !== undefined && nowMs - this.#lastStartMs < fetch.timeoutMs;
    if (nowMs >= this.#retryAtMs && !isAsking) await this.#tryRefresh();
    if (this.#age(now()) >= maxStaleMs) throw new VerificationError("keys_unavailable", { kid });
    return this.#fetched?.keys.get(kid);
  }

  async #tryRefresh(): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      if (!(error instanceof HookgateError)) throw error;
      this.#warn(error);
    }
  }

  async #fetch(): Promise<void> {
    const { now, cooldownMs, fetch } = this.#settings;
    const startMs = now();
    this.#lastStartMs = startMs;
    try {
      const keys = await this.#import(await fetchJwks(fetch));
      // A slow answer must not replace a later one.
      if (this.#fetched === undefined || startMs >= this.#fetched.atMs) this.#fetched = { keys, atMs: startMs };
      this.#failures = 0;
      this.#retryAtMs = Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#retryAtMs = now() + Math.min(cooldownMs, FIRST_RETRY_MS * 2 ** this.#failures);
      this.#failures += 1;
      throw error;
    }
  }

  async #import(jwks: readonly PublicJwk[]): Promise<ReadonlyMap<string, VerificationKey>> {
    const keys = new Map<string, VerificationKey>();
    for (const jwk of jwks) {
      const kid = await createThumbprint(jwk);
      try {
        // A key that was there stays imported: its id is its hash.
        const known = this.#fetched?.keys.get(kid);
        keys.set(kid, known ?? (await createVerificationKey(jwk, { crypto: this.#settings.crypto })));
      } catch (error) {
        // One bad key must not take the good ones with it.
        if (!(error instanceof HookgateError)) throw error;
        this.#warn(error);
      }
    }
    return keys;
  }

  #warn(error: HookgateError): void {
    this.#settings.log.warn(error.message, { origin: new URL(this.#settings.fetch.url).origin });
  }

  #age(nowMs: number): number {
    return this.#fetched === undefined ? Number.POSITIVE_INFINITY : nowMs - this.#fetched.atMs;
  }
}

function positive(option: string, value: number | undefined, fallback: number): number {
  const chosen = value ?? fallback;
  if (!Number.isSafeInteger(chosen) || chosen < 1) {
    throw new RangeError(`${option} must be a positive integer, got ${chosen}`);
  }
  return chosen;
}

function leave(fetching: Promise<void>): void {
  // A fetch that failed was logged and does not reject.
  void fetching;
}

/**
 * Makes a set of the keys a peer publishes. Nothing is fetched until a key is needed. A set that cannot be fetched is used
 * on from the cache; fetched keys, not the promises of them, are what calls share.
 * @throws {TypeError} when `url` is not https (or http on a loopback address), holds credentials, or is of another origin
 * than `sameOriginAs`
 * @throws {RangeError} when a time or a size is not a positive integer
 * @see {@link https://www.rfc-editor.org/rfc/rfc7517#section-5}
 */
export function createRemoteKeySet(options: RemoteKeySetOptions): RemoteKeySet {
  return new FetchedKeySet({
    fetch: {
      url: parseJwksUrl(options.url, options.sameOriginAs),
      fetch: options.fetch,
      timeoutMs: positive("timeoutMs", options.timeoutMs, 5000),
      maxBodyBytes: positive("maxBodyBytes", options.maxBodyBytes, 65_536),
    },
    crypto: options.crypto,
    now: options.now ?? Date.now,
    maxAgeMs: positive("maxAgeMs", options.maxAgeMs, 300_000),
    maxStaleMs: positive("maxStaleMs", options.maxStaleMs, 86_400_000),
    cooldownMs: positive("cooldownMs", options.cooldownMs, 30_000),
    shareFetch: options.shareFetch ?? false,
    waitUntil: options.waitUntil ?? leave,
    log: options.log ?? silentLog,
  });
}
