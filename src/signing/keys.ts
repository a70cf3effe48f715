import { CompactSign, compactVerify, errors, importJWK } from "jose";
import { HookgateError } from "../errors.ts";
import { encodeAscii, fromBase64Url, toAsciiBytes, toBase64Url } from "./base64url.ts";
import { andThen, createTextMac, isEqualText, webCrypto } from "./crypto.ts";
import type { CryptoPort, MaybePromise, SignBytes, VerifyBytes } from "./crypto.ts";
import { createThumbprint, toPublicJwk } from "./jwk.ts";
import type { Jwks, PrivateJwk, PublicJwk, PublishedJwk, SignatureAlgorithm } from "./jwk.ts";
import { parseCompact } from "./jws.ts";
import type { CompactJws } from "./jws.ts";
import { isOnP256 } from "./p256.ts";

/** The `typ` of a signed message; a request never passes for a reply. */
export type TokenType = "hook-request+jwt" | "hook-reply+jwt" | "hook-approval+jwt" | "hook-approval-link+jwt";

/** Signs claims, given as ASCII JSON, into a compact JWS. */
export type SignClaims = (claims: string) => MaybePromise<string>;

/** What {@link SigningKey.prepare} is asked for. */
export interface PrepareOptions {
  readonly typ: TokenType;
  /** The name to send: the one the peer declared. `@default` the key's own `alg` */
  readonly alg?: SignatureAlgorithm | undefined;
}

/** A key that signs. The key material is not reachable through it. */
export interface SigningKey {
  /** The RFC 7638 thumbprint; for a secret, `hs-` and 8 hexadecimal digits. */
  readonly kid: string;
  /** The name it signs with unless told another. */
  readonly alg: SignatureAlgorithm;
  /** Every name it may sign with. */
  readonly algs: readonly SignatureAlgorithm[];
  /** What to publish; absent for a secret. */
  readonly published: PublishedJwk | undefined;
  /**
   * Makes a signer of one type of message; the protected header is encoded here, once.
   * @throws {RangeError} when `alg` is not a name this key may sign with
   */
  prepare(options: PrepareOptions): SignClaims;
}

/** A key that verifies. */
export interface VerificationKey {
  /** The RFC 7638 thumbprint; for a secret, `hs-` and 8 hexadecimal digits. */
  readonly kid: string;
  /** The only names a token under this key may carry. */
  readonly algs: readonly SignatureAlgorithm[];
  /** Whether the signature verifies; `alg` is one of `algs`, checked by the caller. */
  verify(jws: CompactJws, alg: SignatureAlgorithm): MaybePromise<boolean>;
}

/** A shared secret: it signs and verifies. */
export type SecretKey = SigningKey & VerificationKey;

/** The fewest bytes a shared secret may have. */
export const MIN_SECRET_BYTES = 32;

const ALGS: Readonly<Record<SignatureAlgorithm, readonly SignatureAlgorithm[]>> = {
  ES256: Object.freeze(["ES256"] as const),
  EdDSA: Object.freeze(["EdDSA", "Ed25519"] as const),
  Ed25519: Object.freeze(["EdDSA", "Ed25519"] as const),
  HS256: Object.freeze(["HS256"] as const),
};
const SIGNATURE_BYTES = 64;
const encoder = new TextEncoder();

interface KeyName {
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
}

interface Header extends KeyName {
  readonly typ: TokenType;
}

function toHeader(key: KeyName, options: PrepareOptions): Header {
  const alg = options.alg ?? key.alg;
  if (!ALGS[key.alg].includes(alg)) {
    throw new RangeError(`alg must be one of ${ALGS[key.alg].join(", ")} for this key, got ${alg}`);
  }
  return { alg, typ: options.typ, kid: key.kid };
}

/** Signs an ASCII text; the signature is base64url. */
type SignText = (text: string) => MaybePromise<string>;

function prepareText(header: Header, sign: SignText): SignClaims {
  const prefix = `${encodeAscii(JSON.stringify(header))}.`;
  return (claims) => {
    const input = prefix + encodeAscii(claims);
    return andThen(sign(input), (signature) => `${input}.${signature}`);
  };
}

function signText(sign: SignBytes): SignText {
  return (text) => andThen(sign(toAsciiBytes(text)), toBase64Url);
}

function verifyBytes(verify: VerifyBytes): VerificationKey["verify"] {
  return (jws) => {
    const signature = fromBase64Url(jws.signature);
    // A DER signature has another length; it must not reach a primitive that might take it.
    return signature.length === SIGNATURE_BYTES && verify(signature, toAsciiBytes(jws.signingInput));
  };
}

async function prepareJose(jwk: PrivateJwk): Promise<(header: Header) => SignClaims> {
  const key = await importJWK({ ...toPublicJwk(jwk), d: jwk.d }, jwk.alg);
  return (header) => (claims) => new CompactSign(toAsciiBytes(claims)).setProtectedHeader({ ...header }).sign(key);
}

async function verifyJose(jwk: PublicJwk): Promise<VerificationKey["verify"]> {
  const key = await importJWK({ ...jwk }, jwk.alg);
  return async (jws, alg) => {
    try {
      await compactVerify(jws.token, key, { algorithms: [alg] });
      return true;
    } catch (error) {
      if (error instanceof errors.JOSEError) return false;
      throw error;
    }
  };
}

interface Imported<K> {
  readonly port: CryptoPort;
  readonly key: K;
}

/** Imported keys by the identity of their JWK. Resolved keys only: a promise must not cross requests on Workers. */
class ImportCache<K> {
  readonly #keys = new WeakMap<object, readonly Imported<K>[]>();

  async get(jwk: object, port: CryptoPort, importKey: () => Promise<K>): Promise<K> {
    const found = this.#find(jwk, port);
    if (found !== undefined) return found.key;
    const key = await importKey();
    this.#keys.set(jwk, [...(this.#keys.get(jwk) ?? []), { port, key }]);
    return key;
  }

  #find(jwk: object, port: CryptoPort): Imported<K> | undefined {
    return this.#keys.get(jwk)?.find((entry) => entry.port === port);
  }
}

const signingKeys = new ImportCache<SigningKey>();
const verificationKeys = new ImportCache<VerificationKey>();

/** Options of the functions that make keys. */
export interface KeyOptions {
  /** The crypto port. `@default` {@link webCrypto}, with jose for key pairs */
  readonly crypto?: CryptoPort | undefined;
}

async function importVerificationKey(jwk: PublicJwk, port: CryptoPort): Promise<VerificationKey> {
  if (jwk.kty === "EC" && !isOnP256(jwk)) throw new TypeError("the point is not on the curve");
  const verify = port.asymmetric ? verifyBytes(port.asymmetric.verifier(jwk)) : await verifyJose(jwk);
  return Object.freeze({ kid: await createThumbprint(jwk), algs: ALGS[jwk.alg], verify });
}

async function importSigningKey(jwk: PrivateJwk, port: CryptoPort): Promise<SigningKey> {
  const publicJwk = toPublicJwk(jwk);
  const name: KeyName = { kid: await createThumbprint(jwk), alg: jwk.alg };
  const sign = port.asymmetric && signText(port.asymmetric.signer(jwk));
  const prepare = sign ? (header: Header): SignClaims => prepareText(header, sign) : await prepareJose(jwk);
  const key: SigningKey = Object.freeze({
    ...name,
    algs: ALGS[jwk.alg],
    published: Object.freeze({ ...publicJwk, kid: name.kid, use: "sig" }),
    prepare: (options: PrepareOptions): SignClaims => prepare(toHeader(name, options)),
  });
  await checkPair(key, await importVerificationKey(publicJwk, port));
  return key;
}

// Engines import an Ed25519 key from `d` alone, so a wrong `x` would publish a key that verifies nothing.
async function checkPair(key: SigningKey, verifier: VerificationKey): Promise<void> {
  const jws = parseCompact(await key.prepare({ typ: "hook-request+jwt" })("{}"));
  if (!(await verifier.verify(jws, key.alg))) throw new TypeError("the members do not belong together");
}

async function orConfigError<K>(importKey: () => Promise<K>): Promise<K> {
  try {
    return await importKey();
  } catch {
    // No cause: an engine's message may describe the key.
    throw new HookgateError("ERR_CONFIG", "invalid JSON Web Key: its members are not one valid key");
  }
}

/**
 * Imports a private key. The same JWK object with the same port is imported once.
 * @throws {HookgateError} `ERR_CONFIG` when the members are not one valid key pair
 */
export function createSigningKey(jwk: PrivateJwk, options: KeyOptions = {}): Promise<SigningKey> {
  const port = options.crypto ?? webCrypto;
  return orConfigError(() => signingKeys.get(jwk, port, () => importSigningKey(jwk, port)));
}

/**
 * Imports a public key. The same JWK object with the same port is imported once.
 * @throws {HookgateError} `ERR_CONFIG` when the members are not a valid key, such as a point that is not on the curve
 */
export function createVerificationKey(jwk: PublicJwk, options: KeyOptions = {}): Promise<VerificationKey> {
  const port = options.crypto ?? webCrypto;
  return orConfigError(() => verificationKeys.get(jwk, port, () => importVerificationKey(jwk, port)));
}

// A canonical text stands for one sequence of bytes, so the texts are compared.
function verifyMac(mac: SignText): VerificationKey["verify"] {
  return (jws) => andThen(mac(jws.signingInput), (expected) => isEqualText(expected, jws.signature));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Makes a key of a shared secret, for HS256. One secret serves both directions and no key is derived from it:
 * a request cannot pass for a reply, nor a reply for a request, because `typ`, `iss` and `aud` differ and `rqh` names
 * the one request that is answered.
 * @param secret - At least 32 bytes. A string stands for its UTF-8 bytes, as in JWT libraries of other languages;
 * it should come from a random generator, since a phrase can be guessed from one signature.
 * @throws {RangeError} when the secret is shorter than 32 bytes
 */
export async function createSecretKey(secret: string | Uint8Array, options: KeyOptions = {}): Promise<SecretKey> {
  const port = options.crypto ?? webCrypto;
  const bytes = typeof secret === "string" ? encoder.encode(secret) : new Uint8Array(secret);
  if (bytes.length < MIN_SECRET_BYTES) {
    throw new RangeError(`secret must have at least ${MIN_SECRET_BYTES} bytes, got ${bytes.length}`);
  }
  const mac = createTextMac(bytes, port);
  const hash = await port.digest(bytes);
  const name: KeyName = { kid: `hs-${toHex(hash.subarray(0, 4))}`, alg: "HS256" };
  return Object.freeze({
    ...name,
    algs: ALGS.HS256,
    published: undefined,
    prepare: (options_: PrepareOptions): SignClaims => prepareText(toHeader(name, options_), mac),
    verify: verifyMac(mac),
  });
}

/**
 * The JWK Set to publish: every key that signs now or soon. A secret adds nothing to it.
 * @see {@link https://www.rfc-editor.org/rfc/rfc7517#section-5}
 */
export function toJwks(keys: readonly SigningKey[]): Jwks {
  return { keys: keys.flatMap(({ published }) => (published === undefined ? [] : [published])) };
}
