import type { MaybePromise } from "./crypto.ts";
import type { SignatureAlgorithm } from "./jwk.ts";
import type { VerificationKey } from "./keys.ts";

/** The keys that are trusted for one peer. */
export interface KeySet {
  /** The names a token of this peer may carry at all; each key narrows them. Never HS256 together with another. */
  readonly algs: readonly SignatureAlgorithm[];
  /**
   * The trusted key of this id, if there is one.
   * @throws {VerificationError} `keys_unavailable` when the keys must be fetched and cannot be
   */
  find(kid: string): MaybePromise<VerificationKey | undefined>;
}

/** The most keys that can be trusted for one peer at once; a rotation needs two. */
export const MAX_SET_KEYS = 16;

/**
 * Makes a set of pinned keys or shared secrets: one, or two while rotating.
 * @param keys - 1 to 16 keys with distinct ids; secrets and key pairs are never in one set.
 * @throws {RangeError} when there are none or too many, or two have the same id
 * @throws {TypeError} when secrets and key pairs are mixed: then a public key could be taken for a secret
 */
export function createKeySet(keys: readonly VerificationKey[]): KeySet {
  if (keys.length < 1 || keys.length > MAX_SET_KEYS) {
    throw new RangeError(`keys must list 1 to ${MAX_SET_KEYS} keys, got ${keys.length}`);
  }
  const algs = [...new Set(keys.flatMap((key) => key.algs))];
  if (algs.includes("HS256") && algs.length > 1) {
    throw new TypeError("keys must be shared secrets or key pairs, got both");
  }
  const byId = new Map(keys.map((key) => [key.kid, key]));
  if (byId.size !== keys.length) throw new RangeError("keys must have distinct ids, got one twice");
  return Object.freeze({ algs: Object.freeze(algs), find: (kid: string) => byId.get(kid) });
}
