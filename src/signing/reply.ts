import { toAsciiJson } from "./base64url.ts";
import { andThen, toHashText, webCrypto } from "./crypto.ts";
import type { CryptoPort, MaybePromise } from "./crypto.ts";
import type { SignatureAlgorithm } from "./jwk.ts";
import type { KeySet } from "./key-set.ts";
import type { SigningKey } from "./keys.ts";
import { toBodyHash } from "./request.ts";
import type { BodyToSign, SignedRequest, VerifiedRequest } from "./request.ts";
import { checkParty, LIFETIME_SECONDS, verifyToken } from "./token.ts";
import type { TokenRules, VerifiedToken } from "./token.ts";
import { VerificationError } from "./verification-error.ts";

/**
 * The claims of a signed reply.
 * @see docs/protocol.md, "Signatures"
 */
export interface ReplyClaims {
  /** The endpoint's name. */
  readonly iss: string;
  /** The gateway's id. */
  readonly aud: string;
  /** Seconds since the epoch. */
  readonly iat: number;
  /** Seconds since the epoch; at most 120 after `iat`. */
  readonly exp: number;
  /** The request's `jti`. */
  readonly rid: string;
  /** Base64url of the SHA-256 of the request's compact JWS. */
  readonly rqh: string;
  /** The HTTP status. */
  readonly sts: number;
  /** Base64url of the SHA-256 of the body. */
  readonly bh: string;
}

/** What {@link ReplySigner.sign} signs. */
export type ReplyToSign = BodyToSign & {
  /** The request that is answered. */
  readonly request: VerifiedRequest;
  /** The HTTP status, 100 to 599. */
  readonly status: number;
};

/** Signs the replies of one endpoint. */
export interface ReplySigner {
  /** Signs a reply to the gateway that sent the request: the value of the `hook-signature` header. */
  sign(reply: ReplyToSign): MaybePromise<string>;
}

/** Options of {@link createReplySigner}. */
export interface ReplySignerOptions {
  readonly key: SigningKey;
  /** The endpoint's name, as the gateway is configured with, 1 to 1024 characters. */
  readonly issuer: string;
  /** The algorithm's name the gateway declared. `@default` the key's own */
  readonly alg?: SignatureAlgorithm | undefined;
  /** Hashes bodies. `@default` {@link webCrypto} */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

/**
 * Makes a signer of replies. The protected header is encoded here, once.
 * @throws {RangeError} when `alg` is not a name the key may sign with
 * @throws {TypeError} when `issuer` is not a string of 1 to 1024 characters
 * @see docs/protocol.md, "Signatures"
 */
export function createReplySigner(options: ReplySignerOptions): ReplySigner {
  const { crypto: port = webCrypto, now = Date.now } = options;
  const signClaims = options.key.prepare({ typ: "hook-reply+jwt", alg: options.alg });
  const iss = toAsciiJson(checkParty("issuer", options.issuer));
  return Object.freeze({
    sign(reply: ReplyToSign): MaybePromise<string> {
      const { token, claims } = reply.request;
      return andThen(toHashText(token, port), (rqh) =>
        andThen(toBodyHash(reply, port), (bodyHash) => {
          const iat = Math.floor(now() / 1000);
          return signClaims(
            `{"iss":${iss},"aud":${toAsciiJson(claims.iss)},"iat":${iat},"exp":${iat + LIFETIME_SECONDS},` +
              `"rid":${toAsciiJson(claims.jti)},"rqh":"${rqh}","sts":${Math.trunc(reply.status)},` +
              `"bh":${toAsciiJson(bodyHash)}}`,
          );
        }),
      );
    },
  });
}

/** A reply as it came in, and the request it must answer. */
export interface ReplyToVerify {
  /** The value of `hook-signature`. */
  readonly signature: string | null | undefined;
  /** The HTTP status. */
  readonly status: number;
  /** The raw bytes, not yet parsed. */
  readonly body: Uint8Array;
  /** The request as it was sent last: a retry is another request. */
  readonly request: SignedRequest;
}

/** A reply that was verified. */
export interface VerifiedReply {
  readonly claims: ReplyClaims;
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
}

/** Verifies the replies of one endpoint to one gateway. */
export interface ReplyVerifier {
  /**
   * Verifies a reply against the request that is held; only then is its body parsed.
   * @throws {VerificationError} with the first rule that is broken: `signature_missing` to `not_yet_valid`, then
   * `rid_mismatch`, `rqh_mismatch`, `sts_mismatch`, `bh_mismatch`
   */
  verify(reply: ReplyToVerify): Promise<VerifiedReply>;
}

/** Options of {@link createReplyVerifier}. */
export interface ReplyVerifierOptions {
  /** The endpoint's keys, never the gateway's own. */
  readonly keys: KeySet;
  /** The endpoint's name. */
  readonly issuer: string;
  /** The gateway's id. */
  readonly audience: string;
  /** Hashes bodies. `@default` {@link webCrypto} */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

interface Expected {
  readonly rid: string;
  readonly rqh: string;
  readonly sts: number;
  readonly bh: string;
}

function toReplyClaims({ claims, iat, exp, kid }: VerifiedToken, expected: Expected): ReplyClaims {
  if (claims["rid"] !== expected.rid) throw new VerificationError("rid_mismatch", { kid });
  if (claims["rqh"] !== expected.rqh) throw new VerificationError("rqh_mismatch", { kid });
  if (claims["sts"] !== expected.sts) throw new VerificationError("sts_mismatch", { kid });
  if (claims["bh"] !== expected.bh) throw new VerificationError("bh_mismatch", { kid });
  return { iss: String(claims["iss"]), aud: String(claims["aud"]), iat, exp, ...expected };
}

/**
 * Makes a verifier of replies. It needs no replay store: a reply answers the one request that is held.
 * @throws {TypeError} when `issuer` or `audience` is not a string of 1 to 1024 characters
 * @see docs/protocol.md, "Signatures"
 */
export function createReplyVerifier(options: ReplyVerifierOptions): ReplyVerifier {
  const { keys, crypto: port = webCrypto, now = Date.now } = options;
  const issuer = checkParty("issuer", options.issuer);
  const audience = checkParty("audience", options.audience);
  const rules: TokenRules = { typ: "hook-reply+jwt", keys, issuer, audience, now };
  return Object.freeze({
    // One promise and no more: where hashing waits for nothing, neither does what comes after it.
    async verify(reply: ReplyToVerify): Promise<VerifiedReply> {
      return andThen(verifyToken(reply.signature, rules), (verified) =>
        andThen(toHashText(reply.request.token, port), (rqh) =>
          andThen(toHashText(reply.body, port), (bh) => {
            const claims = toReplyClaims(verified, { rid: reply.request.jti, rqh, sts: reply.status, bh });
            return { claims, kid: verified.kid, alg: verified.alg };
          }),
        ),
      );
    },
  });
}
