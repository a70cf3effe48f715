/**
 * The crypto port: the primitives a host may provide faster than WebCrypto does.
 * On Node, WebCrypto pays a thread hop for every hash; on Workers it is in-line and needs no replacement.
 * @module
 */
import type { PrivateJwk, PublicJwk } from "./jwk.ts";
import { toAsciiBytes, toBase64Url } from "./base64url.ts";

/** Bytes now, or a promise of them: a port on Node answers at once, WebCrypto cannot. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value at once when it is there: a chain of promises costs a message more than hashing it. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Computes the 32-byte HMAC-SHA-256 of data under a key it holds. */
export type Mac = (data: Uint8Array) => MaybePromise<Uint8Array>;

/** Computes the 64-byte signature of data under a private key it holds; for P-256 that is r and s, not DER. */
export type SignBytes = (data: Uint8Array) => MaybePromise<Uint8Array>;

/** Whether a 64-byte signature of data verifies under a public key it holds. */
export type VerifyBytes = (signature: Uint8Array, data: Uint8Array) => MaybePromise<boolean>;

/** Signing with key pairs, where a host is faster at it than jose. A key is imported when the function is made, once. */
export interface AsymmetricPort {
  /** A signer for ES256 (P-256) or Ed25519, by the key's `crv`. */
  signer(jwk: PrivateJwk): SignBytes;
  /** A verifier for ES256 (P-256) or Ed25519, by the key's `crv`. */
  verifier(jwk: PublicJwk): VerifyBytes;
}

/** Computes the HMAC-SHA-256 of an ASCII text under a key it holds, as base64url. */
export type TextMac = (text: string) => string;

/** Hashing from text to text, where a host does it at once: no bytes are made in between. */
export interface TextPort {
  /** The SHA-256 of bytes, or of a text in UTF-8, as base64url. */
  digest(data: Uint8Array | string): string;
  /** HMAC-SHA-256 under one secret; the key is imported once, not per message. */
  hmac(secret: Uint8Array): TextMac;
}

/** What the signing modules ask of a host. */
export interface CryptoPort {
  /** The 32-byte SHA-256 of data. */
  digest(data: Uint8Array): MaybePromise<Uint8Array>;
  /** HMAC-SHA-256 under one secret; the key is imported once, not per message. */
  hmac(secret: Uint8Array): Mac;
  /** Absent: texts are hashed by way of their bytes. */
  readonly text?: TextPort;
  /** Absent: jose signs and verifies with key pairs. */
  readonly asymmetric?: AsymmetricPort;
}

const HMAC: HmacImportParams = { name: "HMAC", hash: "SHA-256" };

function isUnshared(data: Uint8Array): data is Uint8Array<ArrayBuffer> {
  return data.buffer instanceof ArrayBuffer;
}

// WebCrypto refuses shared memory; nothing here hands it any, so the copy is for a caller's unusual buffer only.
function toUnshared(data: Uint8Array): Uint8Array<ArrayBuffer> {
  return isUnshared(data) ? data : new Uint8Array(data);
}

function createWebMac(secret: Uint8Array): Mac {
  const raw = new Uint8Array(secret);
  let key: CryptoKey | undefined;
  return async (data) => {
    // The resolved key is kept, never the promise: Workers refuse a promise that another request made.
    key ??= await crypto.subtle.importKey("raw", raw, HMAC, false, ["sign"]);
    return new Uint8Array(await crypto.subtle.sign("HMAC", key, toUnshared(data)));
  };
}

/** The port on WebCrypto: works on every runtime, and is the fast one on Workers. */
export const webCrypto: CryptoPort = Object.freeze({
  async digest(data: Uint8Array): Promise<Uint8Array> {
    return new Uint8Array(await crypto.subtle.digest("SHA-256", toUnshared(data)));
  },
  hmac: createWebMac,
});

/**
 * The `bh` of a body: base64url of its SHA-256.
 * A body that goes to several hooks is hashed once with this and handed to each signer as `bodyHash`.
 * @param port - The crypto port. `@default` {@link webCrypto}
 */
export async function createBodyHash(body: Uint8Array, port: CryptoPort = webCrypto): Promise<string> {
  return toHashText(body, port);
}

const encoder = new TextEncoder();

/** The SHA-256 of bytes, or of a text in UTF-8, as base64url. */
export function toHashText(data: Uint8Array | string, port: CryptoPort): MaybePromise<string> {
  if (port.text !== undefined) return port.text.digest(data);
  return andThen(port.digest(typeof data === "string" ? encoder.encode(data) : data), toBase64Url);
}

/** A function that computes the HMAC-SHA-256 of an ASCII text under a secret, as base64url. */
export function createTextMac(secret: Uint8Array, port: CryptoPort): (text: string) => MaybePromise<string> {
  if (port.text !== undefined) return port.text.hmac(secret);
  const mac = port.hmac(secret);
  return (text) => andThen(mac(toAsciiBytes(text)), toBase64Url);
}

/** Whether two byte strings are equal, in a time that tells only their lengths. */
export function isEqualBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index += 1) difference |= (left[index] ?? 0) ^ (right[index] ?? 0);
  return difference === 0;
}

/** Whether two texts are equal, in a time that tells only their lengths. */
export function isEqualText(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index += 1) difference |= left.charCodeAt(index) ^ right.charCodeAt(index);
  return difference === 0;
}
