import { HookgateError } from "../errors.ts";
import { silentLog } from "../log.ts";
import type { Log } from "../log.ts";
import { CachedDocument } from "./cached-document.ts";
import type { CacheSettings } from "./cached-document.ts";
import type { CryptoPort } from "./crypto.ts";
import { fetchJwks, parseJwksUrl } from "./jwks-fetch.ts";
import type { JwksFetch } from "./jwks-fetch.ts";
import { createThumbprint, parseJwks } from "./jwk.ts";
import type { PublicJwk, SignatureAlgorithm } from "./jwk.ts";
import type { KeySet } from "./key-set.ts";
import { createVerificationKey } from "./keys.ts";
import type { VerificationKey } from "./keys.ts";

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
type KeyMap = ReadonlyMap<string, VerificationKey>;

class FetchedKeySet implements RemoteKeySet {
  readonly algs: readonly SignatureAlgorithm[] = ALGS;
  readonly #crypto: CryptoPort | undefined;
  readonly #cache: CachedDocument<KeyMap>;

  constructor(settings: CacheSettings, crypto: CryptoPort | undefined) {
    this.#crypto = crypto;
    this.#cache = new CachedDocument(settings, async (previous) =>
      this.#import(await fetchJwks(settings.fetch, parseJwks), previous),
    );
  }

  find(kid: string): Promise<VerificationKey | undefined> {
    return this.#cache.find((keys) => keys.get(kid), kid);
  }

  refresh(): Promise<void> {
    return this.#cache.refresh();
  }

  async #import(jwks: readonly PublicJwk[], previous: KeyMap | undefined): Promise<KeyMap> {
    const keys = new Map<string, VerificationKey>();
    for (const jwk of jwks) {
      const kid = await createThumbprint(jwk);
      try {
        // A key that was there stays imported: its id is its hash.
        const known = previous?.get(kid);
        keys.set(kid, known ?? (await createVerificationKey(jwk, { crypto: this.#crypto })));
      } catch (error) {
        // One bad key must not take the good ones with it.
        if (!(error instanceof HookgateError)) throw error;
        this.#cache.warn(error);
      }
    }
    return keys;
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
 * Checks the options and fills in the defaults.
 * @throws {TypeError} {RangeError} as {@link createRemoteKeySet}
 */
export function toCacheSettings(options: RemoteKeySetOptions): CacheSettings {
  return {
    fetch: {
      url: parseJwksUrl(options.url, options.sameOriginAs),
      fetch: options.fetch,
      timeoutMs: positive("timeoutMs", options.timeoutMs, 5000),
      maxBodyBytes: positive("maxBodyBytes", options.maxBodyBytes, 65_536),
    },
    now: options.now ?? Date.now,
    maxAgeMs: positive("maxAgeMs", options.maxAgeMs, 300_000),
    maxStaleMs: positive("maxStaleMs", options.maxStaleMs, 86_400_000),
    cooldownMs: positive("cooldownMs", options.cooldownMs, 30_000),
    shareFetch: options.shareFetch ?? false,
    waitUntil: options.waitUntil ?? leave,
    log: options.log ?? silentLog,
  };
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
  return new FetchedKeySet(toCacheSettings(options), options.crypto);
}
