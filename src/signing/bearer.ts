/**
 * Bearer JWTs of hosts, as an identity provider issues them: verified with jose, whatever kind of key it uses.
 * @module
 */
import { createLocalJWKSet, errors, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTVerifyGetKey, JWTVerifyResult } from "jose";
import { HookgateError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import { decodeJsonObject } from "./base64url.ts";
import { CachedDocument } from "./cached-document.ts";
import { MAX_JWKS_KEYS } from "./jwk.ts";
import { fetchJwks } from "./jwks-fetch.ts";
import { toCacheSettings } from "./remote-key-set.ts";
import type { RemoteKeySetOptions } from "./remote-key-set.ts";
import { CLOCK_SKEW_SECONDS } from "./token.ts";
import { VerificationError } from "./verification-error.ts";
import type { VerificationReason } from "./verification-error.ts";

/** The algorithms a bearer JWT may be signed with. No shared secrets: whoever verifies could then issue. */
export type BearerAlgorithm = "ES256" | "ES384" | "EdDSA" | "Ed25519" | "PS256" | "RS256";

/** A JWT that was verified. */
export interface VerifiedBearer {
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Verifies the JWTs of one issuer. */
export interface BearerVerifier {
  /**
   * Verifies a JWT: form, type, algorithm, key, signature, issuer, audience, times, in that order.
   * @throws {VerificationError} with the first rule that is broken
   */
  verify(token: string): Promise<VerifiedBearer>;
}

/** The keys of an issuer. They are opaque: what verifies is {@link BearerVerifier}. */
export interface BearerKeys {
  /**
   * The keys among which one has this id; for a token without one, all of them.
   * @throws {VerificationError} `keys_unavailable`
   */
  find(kid: string | undefined): Promise<JWTVerifyGetKey | undefined>;
}

/** Options of {@link createBearerVerifier}. */
export interface BearerVerifierOptions {
  readonly keys: BearerKeys;
  /** The `iss` of its tokens, exactly. */
  readonly issuer: string;
  /** The `aud` its tokens must name, alone or in a list: a token for somebody else must not do here. */
  readonly audience: string;
  /** The only algorithms that are accepted; the token's header never chooses. */
  readonly algorithms: readonly BearerAlgorithm[];
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

/** The most characters a JWT may have. Identity providers put much into theirs. */
export const MAX_BEARER_LENGTH = 8192;

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
/** What an access token may call itself; a hook signature is none of these. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, "jwt", "at+jwt", "application/at+jwt"]);
const KINDS: ReadonlySet<unknown> = new Set(["EC", "OKP", "RSA"]);
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

function invalid(what: string): HookgateError {
  return new HookgateError("ERR_CONFIG", `invalid JSON Web Key: ${what}`);
}

function parseJson(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    throw invalid("it is not JSON");
  }
}

function isPublicKey(value: unknown): value is JSONWebKeySet["keys"][number] {
  return isObject(value) && KINDS.has(value["kty"]) && !PRIVATE_MEMBERS.some((name) => Object.hasOwn(value, name));
}

/**
 * Reads the public keys of an issuer, each an object or its JSON text.
 * @throws {HookgateError} `ERR_CONFIG` when one is not a public EC, OKP or RSA key
 */
export function parseHostKeys(values: readonly unknown[]): JSONWebKeySet {
  const keys = values.map((value) => {
    const key = parseJson(value);
    if (!isPublicKey(key)) throw invalid("it must be a public EC, OKP or RSA key");
    return key;
  });
  return { keys };
}

/** Reads a published set; what cannot verify a JWT is left out. */
function parsePublishedKeys(text: string): JSONWebKeySet {
  const document = parseJson(text);
  const keys: unknown = isObject(document) ? document["keys"] : undefined;
  if (!Array.isArray(keys)) throw invalid(`a JWK Set needs a list "keys"`);
  if (keys.length > MAX_JWKS_KEYS) throw invalid(`a JWK Set may list ${MAX_JWKS_KEYS} keys, got ${keys.length}`);
  return { keys: keys.filter(isPublicKey) };
}

interface Issued {
  readonly ids: ReadonlySet<unknown>;
  readonly getKey: JWTVerifyGetKey;
}

function toIssued(jwks: JSONWebKeySet): Issued {
  return { ids: new Set(jwks.keys.map(({ kid }) => kid)), getKey: createLocalJWKSet(jwks) };
}

function findIn(kid: string | undefined): (issued: Issued) => JWTVerifyGetKey | undefined {
  return ({ ids, getKey }) => (kid === undefined || ids.has(kid) ? getKey : undefined);
}

/** Makes the keys of an issuer whose public keys are configured. One without an id is tried on tokens of any. */
export function createLocalBearerKeys(jwks: JSONWebKeySet): BearerKeys {
  const named = toIssued(jwks);
  const nameless = createLocalJWKSet({ keys: jwks.keys.filter(({ kid }) => kid === undefined) });
  const getNameless: JWTVerifyGetKey = ({ alg }, token) => nameless({ alg }, token);
  const fallback = named.ids.has(undefined) ? getNameless : undefined;
  return { find: (kid) => Promise.resolve(findIn(kid)(named) ?? fallback) };
}

/**
 * Makes the keys of an issuer that publishes them. They are fetched, cached and refreshed as those of a peer.
 * @throws {TypeError} {RangeError} as `createRemoteKeySet`
 */
export function createRemoteBearerKeys(options: RemoteKeySetOptions): BearerKeys {
  const settings = toCacheSettings(options);
  const cache = new CachedDocument(settings, async () => toIssued(await fetchJwks(settings.fetch, parsePublishedKeys)));
  return { find: (kid) => cache.find(findIn(kid), kid) };
}

interface Header {
  readonly typ?: unknown;
  readonly alg?: unknown;
  readonly kid?: unknown;
}

function readHeader(token: string): Header {
  if (token.length > MAX_BEARER_LENGTH) throw new VerificationError("signature_too_long");
  if (!COMPACT.test(token)) throw new VerificationError("signature_malformed");
  const header = decodeJsonObject(token.slice(0, token.indexOf(".")));
  if (header === undefined) throw new VerificationError("header_malformed");
  return header;
}

/** Why a claim was refused, by its name. */
const CLAIMS: Readonly<Record<string, VerificationReason>> = {
  iss: "iss_mismatch",
  aud: "aud_mismatch",
  exp: "time_malformed",
  iat: "time_malformed",
  nbf: "not_yet_valid",
};

function toReason(error: unknown): VerificationReason {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed) return CLAIMS[error.claim] ?? "claims_malformed";
  if (error instanceof errors.JOSEAlgNotAllowed) return "alg_not_allowed";
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return "kid_unknown";
  if (error instanceof errors.JOSENotSupported) return "header_forbidden";
  if (error instanceof errors.JWTInvalid) return "claims_malformed";
  // A key that is too short, too, is no reason to trust.
  return "signature_invalid";
}

/**
 * Makes a verifier of bearer JWTs.
 * @throws {RangeError} when no algorithm is allowed
 * @see {@link https://www.rfc-editor.org/rfc/rfc8725}
 */
export function createBearerVerifier(options: BearerVerifierOptions): BearerVerifier {
  const { keys, issuer, audience, now = Date.now } = options;
  const algorithms = [...options.algorithms];
  if (algorithms.length === 0) throw new RangeError("algorithms must list at least one algorithm, got none");
  const allowed: ReadonlySet<unknown> = new Set(algorithms);
  const rules = { issuer, audience, algorithms, clockTolerance: CLOCK_SKEW_SECONDS, requiredClaims: ["exp"] };
  return Object.freeze({
    async verify(token: string): Promise<VerifiedBearer> {
      const { typ, alg, kid: given } = readHeader(token);
      const kid = typeof given === "string" ? given : undefined;
      if (!TYPES.has(typeof typ === "string" ? typ.toLowerCase() : typ))
        throw new VerificationError("typ_mismatch", { kid });
      // Before the key is looked for, so that a token with a foreign alg cannot make us fetch keys.
      if (!allowed.has(alg)) throw new VerificationError("alg_not_allowed", { kid });
      const getKey = await keys.find(kid);
      if (getKey === undefined) throw new VerificationError("kid_unknown", { kid });
      let result: JWTVerifyResult;
      try {
        result = await jwtVerify(token, getKey, { ...rules, currentDate: new Date(now()) });
      } catch (error) {
        throw new VerificationError(toReason(error), { kid });
      }
      return { claims: result.payload };
    },
  });
}
