/**
 * A JWS maker of its own on node:crypto: it shares nothing with src/signing, so that the vectors check that code and are
 * not made by it. It signs whatever it is told to, also what no signer should.
 * @module
 */
import { createECDH, createHash, createHmac, createPrivateKey, createPublicKey, sign } from "node:crypto";
import type { JsonWebKey, KeyObject } from "node:crypto";
import type { Json, VectorKey } from "./vector.ts";

const PKCS8_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");

export function sha256(data: string | Uint8Array): Buffer {
  return createHash("sha256").update(data).digest();
}

export function encode(data: string | Uint8Array): string {
  return Buffer.from(data).toString("base64url");
}

function thumbprint(members: Readonly<Record<string, string>>): string {
  return encode(
    sha256(JSON.stringify(Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1))))),
  );
}

/** The P-256 key whose private scalar is the hash of the seed: the same on every run. */
export function createEs256(seed: string): VectorKey {
  const d = sha256(seed);
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(d);
  const point = ecdh.getPublicKey();
  const x = encode(point.subarray(1, 33));
  const y = encode(point.subarray(33));
  const kid = thumbprint({ crv: "P-256", kty: "EC", x, y });
  return { kid, alg: "ES256", jwk: { kty: "EC", crv: "P-256", x, y, d: encode(d), alg: "ES256" } };
}

/** The Ed25519 key whose private bytes are the hash of the seed. */
export function createEd25519(seed: string): VectorKey {
  const d = sha256(seed);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, d]), format: "der", type: "pkcs8" });
  const x = String(createPublicKey(key).export({ format: "jwk" }).x);
  const kid = thumbprint({ crv: "Ed25519", kty: "OKP", x });
  return { kid, alg: "EdDSA", jwk: { kty: "OKP", crv: "Ed25519", x, d: encode(d), alg: "EdDSA" } };
}

export function createHs256(secret: string): VectorKey {
  return { kid: `hs-${sha256(secret).toString("hex").slice(0, 8)}`, alg: "HS256", secret };
}

export function toKeyObject(key: VectorKey): KeyObject {
  return createPrivateKey({ key: { ...key.jwk }, format: "jwk" });
}

export function toPublic(key: VectorKey): JsonWebKey {
  const { d: _d, ...publicJwk } = key.jwk ?? {};
  return publicJwk;
}

export function signBytes(key: VectorKey, input: string): Buffer {
  if (key.secret !== undefined) return createHmac("sha256", key.secret).update(input).digest();
  if (key.alg === "EdDSA") return sign(null, Buffer.from(input), toKeyObject(key));
  return sign("sha256", Buffer.from(input), { key: toKeyObject(key), dsaEncoding: "ieee-p1363" });
}

/** A compact JWS over these very texts. */
export function signTexts(key: VectorKey, header: string, payload: string): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${encode(signBytes(key, input))}`;
}

export function signJson(key: VectorKey, header: Json, claims: Json): string {
  return signTexts(key, JSON.stringify(header), JSON.stringify(claims));
}
