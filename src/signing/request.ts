import { isObject } from "../is-object.ts";
import { toAsciiJson } from "./base64url.ts";
import { andThen, toHashText, webCrypto } from "./crypto.ts";
import type { CryptoPort, MaybePromise } from "./crypto.ts";
import type { SignatureAlgorithm } from "./jwk.ts";
import type { KeySet } from "./key-set.ts";
import type { SigningKey } from "./keys.ts";
import type { ReplayStore } from "./replay.ts";
import { checkParty, CLOCK_SKEW_SECONDS, LIFETIME_SECONDS, verifyToken } from "./token.ts";
import type { TokenRules, VerifiedToken } from "./token.ts";
import { createUuidV7 } from "./uuid.ts";
import { VerificationError } from "./verification-error.ts";
import { checkHttp, createBodyLimit } from "./http-message.ts";
import type { HttpMessage } from "./http-message.ts";

/**
 * The claims of a signed request.
 * @see docs/protocol.md, "Signatures"
 */
export interface RequestClaims {
  /** The gateway's id. */
  readonly iss: string;
  /** The endpoint's URL, exactly as both sides configure it. */
  readonly aud: string;
  /** Seconds since the epoch. */
  readonly iat: number;
  /** Seconds since the epoch; at most 120 after `iat`. */
  readonly exp: number;
  /** 16 to 64 characters, never used twice. */
  readonly jti: string;
  readonly htm: "POST";
  /** Base64url of the SHA-256 of the body. */
  readonly bh: string;
  /** The JSON-RPC method, or `batch`. */
  readonly mtd: string;
}

/**
 * A body to sign: the bytes, a text that stands for its bytes in UTF-8, or their hash from `createBodyHash` where the same
 * bytes are signed more than once.
 */
export type BodyToSign = { readonly body: Uint8Array | string } | { readonly bodyHash: string };

/** What {@link RequestSigner.sign} signs. */
export type RequestToSign = BodyToSign & {
  /** The JSON-RPC method, or `batch` for an array. */
  readonly method: string;
};

/** A request that was signed. The gateway holds it until the reply is verified against it. */
export interface SignedRequest {
  /** The value of the `hook-signature` header. */
  readonly token: string;
  /** The token's id, a UUID version 7. */
  readonly jti: string;
}

/** Signs the requests of one gateway to one endpoint. */
export interface RequestSigner {
  /** Signs a request. Each attempt of a retried call is signed anew. */
  sign(request: RequestToSign): MaybePromise<SignedRequest>;
}

/** Options of {@link createRequestSigner}. */
export interface RequestSignerOptions {
  readonly key: SigningKey;
  /** The gateway's id, 1 to 1024 characters. */
  readonly issuer: string;
  /** The endpoint's URL, exactly as the endpoint is configured with, 1 to 1024 characters. */
  readonly audience: string;
  /** The algorithm's name the endpoint declared. `@default` the key's own */
  readonly alg?: SignatureAlgorithm | undefined;
  /** Hashes bodies. `@default` {@link webCrypto} */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

const BATCH = "batch";

/** The `bh` of a body to sign. */
export function toBodyHash(message: BodyToSign, port: CryptoPort): MaybePromise<string> {
  return "bodyHash" in message ? message.bodyHash : toHashText(message.body, port);
}

/**
 * Makes a signer of requests. The protected header and the fixed claims are encoded here, once.
 * @throws {RangeError} when `alg` is not a name the key may sign with
 * @throws {TypeError} when `issuer` or `audience` is not a string of 1 to 1024 characters
 * @see docs/protocol.md, "Signatures"
 */
export function createRequestSigner(options: RequestSignerOptions): RequestSigner {
  const { crypto: port = webCrypto, now = Date.now } = options;
  const signClaims = options.key.prepare({ typ: "hook-request+jwt", alg: options.alg });
  const iss = toAsciiJson(checkParty("issuer", options.issuer));
  const aud = toAsciiJson(checkParty("audience", options.audience));
  return Object.freeze({
    sign(request: RequestToSign): MaybePromise<SignedRequest> {
      return andThen(toBodyHash(request, port), (bodyHash) => {
        const nowMs = now();
        const iat = Math.floor(nowMs / 1000);
        const jti = createUuidV7(nowMs);
        const claims =
          `{"iss":${iss},"aud":${aud},"iat":${iat},"exp":${iat + LIFETIME_SECONDS},"jti":"${jti}",` +
          `"htm":"POST","bh":${toAsciiJson(bodyHash)},"mtd":${toAsciiJson(request.method)}}`;
        return andThen(signClaims(claims), (token) => ({ token, jti }));
      });
    },
  });
}

/** A request that was verified: proof of who sent these bytes, to be consumed once. */
export interface VerifiedRequest {
  readonly claims: RequestClaims;
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
  /** The compact JWS; a reply names its hash. */
  readonly token: string;
}

/** Verifies the requests of one gateway to one endpoint. */
export interface RequestVerifier {
  /**
   * Verifies a request; only then is its body parsed, and its method checked with {@link verifyMethod}.
   * @throws {VerificationError} with the first rule that is broken, `not_post` to `replay_store_unavailable` in the order
   * of `VerificationReason`
   */
  verify(request: HttpMessage): Promise<VerifiedRequest>;
}

/** Options of {@link createRequestVerifier}. */
export interface RequestVerifierOptions {
  /** The gateway's keys. */
  readonly keys: KeySet;
  /** The gateway's id. */
  readonly issuer: string;
  /** This endpoint's URL as configured. Never the URL or the Host of a request: whoever sends it chooses those. */
  readonly audience: string;
  /** Shared by every process that answers for this URL. */
  readonly replay: ReplayStore;
  /** The most bytes a body may have. `@default` 1048576 */
  readonly maxBodyBytes?: number | undefined;
  /** Hashes bodies. `@default` {@link webCrypto} */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

function toRequestClaims({ claims, iat, exp, kid }: VerifiedToken, bodyHash: string): RequestClaims {
  const { iss, aud, htm, bh, mtd, jti } = claims;
  if (htm !== "POST") throw new VerificationError("htm_mismatch", { kid });
  if (bh !== bodyHash) throw new VerificationError("bh_mismatch", { kid });
  if (typeof mtd !== "string" || mtd === "") throw new VerificationError("mtd_malformed", { kid });
  if (typeof jti !== "string" || jti.length < 16 || jti.length > 64) {
    throw new VerificationError("jti_malformed", { kid });
  }
  return { iss: String(iss), aud: String(aud), iat, exp, jti, htm, bh: bodyHash, mtd };
}

async function insertOnce(store: ReplayStore, claims: RequestClaims, kid: string): Promise<void> {
  let isNew: boolean;
  try {
    // Not the signature bytes: ECDSA has two for every message.
    const inserting = store.insert(`${claims.iss}|${claims.jti}`, (claims.exp + CLOCK_SKEW_SECONDS) * 1000);
    isNew = typeof inserting === "boolean" ? inserting : await inserting;
  } catch (cause) {
    throw new VerificationError("replay_store_unavailable", { kid, cause });
  }
  if (!isNew) throw new VerificationError("replayed", { kid });
}

/**
 * Makes a verifier of requests.
 * @throws {RangeError} when `maxBodyBytes` is not a positive integer
 * @throws {TypeError} when `issuer` or `audience` is not a string of 1 to 1024 characters
 * @see docs/protocol.md, "Signatures"
 */
export function createRequestVerifier(options: RequestVerifierOptions): RequestVerifier {
  const { keys, replay, crypto: port = webCrypto, now = Date.now } = options;
  const maxBodyBytes = createBodyLimit(options.maxBodyBytes);
  const issuer = checkParty("issuer", options.issuer);
  const audience = checkParty("audience", options.audience);
  const rules: TokenRules = { typ: "hook-request+jwt", keys, issuer, audience, now };
  return Object.freeze({
    async verify(request: HttpMessage): Promise<VerifiedRequest> {
      checkHttp(request, maxBodyBytes);
      return andThen(verifyToken(request.signature, rules), (verified) =>
        andThen(toHashText(request.body, port), (bodyHash) => {
          const { token, kid, alg } = verified;
          const claims = toRequestClaims(verified, bodyHash);
          // Last, so that what is not authentic cannot fill the store.
          return andThen(insertOnce(replay, claims, kid), () => ({ claims, kid, alg, token }));
        }),
      );
    },
  });
}

function methodOf(message: unknown): unknown {
  if (Array.isArray(message)) return BATCH;
  if (!isObject(message) || !Object.hasOwn(message, "method")) return undefined;
  // A single request for a method of that name would otherwise pass for a batch.
  return message["method"] === BATCH ? undefined : message["method"];
}

/**
 * Verifies that a parsed body is the method that was signed.
 * @param message - The parsed body: a JSON-RPC request, or an array of them, which is signed as `batch`.
 * @throws {VerificationError} `mtd_mismatch` when the body's method is another
 */
export function verifyMethod(request: VerifiedRequest, message: unknown): void {
  if (methodOf(message) !== request.claims.mtd) throw new VerificationError("mtd_mismatch", { kid: request.kid });
}
