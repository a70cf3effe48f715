import { decodeJsonObject, toAsciiJson } from "./base64url.ts";
import { andThen, type MaybePromise } from "./crypto.ts";
import { type CompactJws, parseCompact, parseProtectedHeader } from "./jws.ts";
import type { SignatureAlgorithm } from "./jwk.ts";
import type { KeySet } from "./key-set.ts";
import type { TokenType, VerificationKey } from "./keys.ts";
import { VerificationError } from "./verification-error.ts";

/** Seconds a message is valid after it was signed. */
export const LIFETIME_SECONDS = 60;
/** The most seconds a peer's message may be valid. */
export const MAX_LIFETIME_SECONDS = 120;
/** Seconds two clocks may differ, each way. */
export const CLOCK_SKEW_SECONDS = 30;

/** The signature header of requests and replies, in lower case. Not `Authorization`: platforms claim that one. */
export const SIGNATURE_HEADER = "hook-signature";

/** Who a token must come from and be for. */
export interface TokenRules {
  readonly typ: TokenType;
  readonly keys: KeySet;
  readonly issuer: string;
  readonly audience: string;
  /** The most seconds it may be valid. @default {@link MAX_LIFETIME_SECONDS} */
  readonly maxLifetimeSeconds?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A token whose signature, parties and times are right; its other claims are not yet checked. */
export interface VerifiedToken {
  readonly token: string;
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
  readonly iat: number;
  readonly exp: number;
  readonly claims: Readonly<Record<string, unknown>>;
}

interface FoundKey {
  readonly key: VerificationKey;
  readonly alg: SignatureAlgorithm;
}

function findKey(alg: unknown, kid: string | undefined, keys: KeySet): MaybePromise<FoundKey> {
  const allowed = keys.algs.find((name) => name === alg);
  // Before the key is looked for, so that a token with a foreign alg cannot make us fetch keys.
  if (allowed === undefined) throw new VerificationError("alg_not_allowed", { kid });
  return andThen(kid === undefined ? undefined : keys.find(kid), (key) => {
    if (key === undefined) throw new VerificationError("kid_unknown", { kid });
    if (!key.algs.includes(allowed)) throw new VerificationError("alg_not_allowed", { kid });
    return { key, alg: allowed };
  });
}

function checkTimes(
  claims: Readonly<Record<string, unknown>>,
  { now, maxLifetimeSeconds = MAX_LIFETIME_SECONDS }: TokenRules,
  kid: string,
): { iat: number; exp: number } {
  const nowMs = now();
  const { iat, exp } = claims;
  if (typeof iat !== "number" || typeof exp !== "number" || !Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) {
    throw new VerificationError("time_malformed", { kid });
  }
  if (exp <= iat) throw new VerificationError("time_malformed", { kid });
  if (exp - iat > maxLifetimeSeconds) throw new VerificationError("lifetime_too_long", { kid });
  if (nowMs >= (exp + CLOCK_SKEW_SECONDS) * 1000) throw new VerificationError("expired", { kid });
  if (nowMs <= (iat - CLOCK_SKEW_SECONDS) * 1000) throw new VerificationError("not_yet_valid", { kid });
  return { iat, exp };
}

/**
 * Verifies what requests and replies have in common: form, header, key, signature, parties, times, in that order.
 * @param value - The value of the signature header.
 * @throws {VerificationError} `signature_missing` to `not_yet_valid`, in the order of `VerificationReason`; at once where
 * nothing has to be waited for
 * @see docs/protocol.md, "Signatures"
 */
export function verifyToken(value: string | null | undefined, rules: TokenRules): MaybePromise<VerifiedToken> {
  const jws = parseCompact(value);
  const header = parseProtectedHeader(jws);
  if (header.typ !== rules.typ) throw new VerificationError("typ_mismatch", { kid: header.kid });
  return andThen(findKey(header.alg, header.kid, rules.keys), ({ key, alg }) =>
    andThen(key.verify(jws, alg), (isValid) => {
      if (!isValid) throw new VerificationError("signature_invalid", { kid: key.kid });
      return readClaims(jws, { kid: key.kid, alg }, rules);
    }),
  );
}

interface Proof {
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
}

function readClaims(jws: CompactJws, { kid, alg }: Proof, rules: TokenRules): VerifiedToken {
  const claims = decodeJsonObject(jws.payload);
  if (claims === undefined) throw new VerificationError("claims_malformed", { kid });
  if (claims["iss"] !== rules.issuer) throw new VerificationError("iss_mismatch", { kid });
  if (claims["aud"] !== rules.audience) throw new VerificationError("aud_mismatch", { kid });
  const { iat, exp } = checkTimes(claims, rules, kid);
  return { token: jws.token, kid, alg, iat, exp, claims };
}

/**
 * Checks a name that both sides configure: a gateway's id, an endpoint's name or its URL.
 * @throws {TypeError} when it is not a string of 1 to 1024 characters, where one that is not ASCII counts as six: with
 * longer names a token could not stay under its 4096 characters
 */
export function checkParty(option: string, value: string): string {
  const length = typeof value === "string" ? toAsciiJson(value).length - 2 : 0;
  if (length < 1 || length > 1024) {
    throw new TypeError(`${option} must be a string of 1 to 1024 characters of JSON in ASCII, got ${length}`);
  }
  return value;
}
