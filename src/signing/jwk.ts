import { calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import { HookgateError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import { isCanonical } from "./base64url.ts";

/** The names a signature algorithm has on the wire. `EdDSA` and `Ed25519` are two names of one algorithm (RFC 9864). */
export type SignatureAlgorithm = "ES256" | "EdDSA" | "Ed25519" | "HS256";

/** A P-256 public key. */
export interface EcPublicJwk {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
  readonly alg: "ES256";
}

/** An Ed25519 public key. `alg` is the name its owner signs with. */
export interface OkpPublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly alg: "EdDSA" | "Ed25519";
}

/**
 * A public key, reduced to the members that count.
 * @see {@link https://www.rfc-editor.org/rfc/rfc7517#section-4}
 */
export type PublicJwk = EcPublicJwk | OkpPublicJwk;

/** A private key. `d` is the secret: never log or send one. */
export type PrivateJwk = PublicJwk & { readonly d: string };

/** A public key as it is published: its key id is its thumbprint. */
export type PublishedJwk = PublicJwk & { readonly kid: string; readonly use: "sig" };

/**
 * A JWK Set document.
 * @see {@link https://www.rfc-editor.org/rfc/rfc7517#section-5}
 */
export interface Jwks {
  readonly keys: readonly PublishedJwk[];
}

/** The most keys a fetched JWK Set may list. */
export const MAX_JWKS_KEYS = 64;

const COORDINATE = /^[A-Za-z0-9_-]{43}$/;

function invalid(what: string): HookgateError {
  return new HookgateError("ERR_CONFIG", `invalid JSON Web Key: ${what}`);
}

function coordinate(jwk: Readonly<Record<string, unknown>>, name: "x" | "y" | "d"): string {
  const value = jwk[name];
  if (typeof value !== "string" || !COORDINATE.test(value) || !isCanonical(value)) {
    throw invalid(`"${name}" must be 32 bytes in base64url`);
  }
  return value;
}

function checkUse(jwk: Readonly<Record<string, unknown>>, operation: "sign" | "verify"): void {
  if (jwk["use"] !== undefined && jwk["use"] !== "sig") throw invalid(`"use" must be "sig" where present`);
  const operations = jwk["key_ops"];
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes(operation))) {
    throw invalid(`"key_ops" must include "${operation}" where present`);
  }
}

function toPublic(jwk: Readonly<Record<string, unknown>>): PublicJwk {
  const { kty, crv, alg } = jwk;
  if (kty === "EC" && crv === "P-256") {
    if (alg !== undefined && alg !== "ES256") throw invalid(`"alg" must be "ES256" for a P-256 key`);
    return { kty, crv, x: coordinate(jwk, "x"), y: coordinate(jwk, "y"), alg: "ES256" };
  }
  if (kty === "OKP" && crv === "Ed25519") {
    // EdDSA where the key does not say: more libraries read that name than the newer one.
    const name = alg ?? "EdDSA";
    if (name !== "EdDSA" && name !== "Ed25519") throw invalid(`"alg" must be "EdDSA" or "Ed25519" for an Ed25519 key`);
    return { kty, crv, x: coordinate(jwk, "x"), alg: name };
  }
  throw invalid("it must be a P-256 or an Ed25519 key");
}

function parseText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    // No cause: the parser's message quotes its input, and here that is a private key.
    throw invalid("it is not JSON");
  }
}

function parseObject(value: unknown): Readonly<Record<string, unknown>> {
  const parsed = parseText(value);
  if (!isObject(parsed)) throw invalid("it is not an object");
  return parsed;
}

/**
 * Reads a private key: an object, or the JSON text an environment variable holds.
 * A `kid` in it is ignored, since a key's id is its thumbprint.
 * @throws {HookgateError} `ERR_CONFIG` when it is not a private P-256 or Ed25519 key for signatures
 * @see {@link https://www.rfc-editor.org/rfc/rfc7517}
 */
export function parsePrivateJwk(value: unknown): PrivateJwk {
  const jwk = parseObject(value);
  checkUse(jwk, "sign");
  return Object.freeze({ ...toPublic(jwk), d: coordinate(jwk, "d") });
}

/**
 * Reads one private key or a set `{"keys": [...]}` of at most two: the first signs, every one is published.
 * @throws {HookgateError} `ERR_CONFIG` when it is neither, or a key in it is not one {@link parsePrivateJwk} takes
 */
export function parsePrivateJwks(value: unknown): readonly PrivateJwk[] {
  const parsed = parseObject(value);
  const { keys } = parsed;
  if (keys === undefined) return [parsePrivateJwk(parsed)];
  if (!Array.isArray(keys) || keys.length < 1 || keys.length > 2) throw invalid(`"keys" must list one or two keys`);
  return keys.map(parsePrivateJwk);
}

/**
 * Reads a public key: an object, or its JSON text.
 * @throws {HookgateError} `ERR_CONFIG` when it is not a public P-256 or Ed25519 key, or when it holds a private one:
 * a private key in the place of a public one is leaked and must not be trusted
 */
export function parsePublicJwk(value: unknown): PublicJwk {
  const jwk = parseObject(value);
  if (jwk["d"] !== undefined) throw invalid("a private key where a public one belongs");
  checkUse(jwk, "verify");
  return Object.freeze(toPublic(jwk));
}

/**
 * Reads a JWK Set. Keys of other kinds or uses are left out, and so are symmetric and private ones: a secret that is
 * published is none.
 * @throws {HookgateError} `ERR_CONFIG` when it is not a JWK Set or lists more than 64 keys
 * @see {@link https://www.rfc-editor.org/rfc/rfc7517#section-5}
 */
export function parseJwks(value: unknown): readonly PublicJwk[] {
  const { keys } = parseObject(value);
  if (!Array.isArray(keys)) throw invalid(`a JWK Set needs a list "keys"`);
  if (keys.length > MAX_JWKS_KEYS) throw invalid(`a JWK Set may list at most ${MAX_JWKS_KEYS} keys`);
  return keys.flatMap((key: unknown) => {
    try {
      return [parsePublicJwk(key)];
    } catch {
      return [];
    }
  });
}

/**
 * Reads one public key or a JWK Set of them, as an object or as its JSON text.
 * @throws {HookgateError} `ERR_CONFIG` when it is neither, or no key in the set can be used
 */
export function parsePublicJwks(value: unknown): readonly PublicJwk[] {
  const parsed = parseObject(value);
  if (!Object.hasOwn(parsed, "keys")) return [parsePublicJwk(parsed)];
  const jwks = parseJwks(parsed);
  if (jwks.length === 0) throw invalid("the set holds no P-256 or Ed25519 public key");
  return jwks;
}

/** The public half of a private key. */
export function toPublicJwk(jwk: PrivateJwk | PublicJwk): PublicJwk {
  return jwk.kty === "EC"
    ? { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y, alg: jwk.alg }
    : { kty: jwk.kty, crv: jwk.crv, x: jwk.x, alg: jwk.alg };
}

/**
 * The thumbprint of a key, which is its key id.
 * @see {@link https://www.rfc-editor.org/rfc/rfc7638}
 */
export function createThumbprint(jwk: PrivateJwk | PublicJwk): Promise<string> {
  return calculateJwkThumbprint(toPublicJwk(jwk), "sha256");
}

/**
 * Makes a new private key.
 * @param alg - The algorithm, and for Ed25519 the name to sign with. `@default` `"ES256"`, which works in every library
 */
export async function createPrivateJwk(alg: "ES256" | "EdDSA" | "Ed25519" = "ES256"): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return parsePrivateJwk({ ...(await exportJWK(privateKey)), alg });
}
