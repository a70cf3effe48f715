import { createHmac, createPrivateKey, createPublicKey, createSecretKey, hash, sign, verify } from "node:crypto";
import type {
  AsymmetricPort,
  CryptoPort,
  Mac,
  SignBytes,
  TextMac,
  TextPort,
  VerifyBytes,
} from "../../src/signing/crypto.ts";
import type { PrivateJwk, PublicJwk } from "../../src/signing/jwk.ts";
import { fromDer, toDer } from "./ecdsa-signature.ts";

// In-line, though it holds the loop for 25 to 95 microseconds: the thread pool adds a wake-up of 8 to 24 microseconds to
// each call. Where a core is idle the pool would give a fifth to a third more throughput; the latency of one call comes first.
const asymmetric: AsymmetricPort = Object.freeze({
  signer(jwk: PrivateJwk): SignBytes {
    const key = createPrivateKey({ key: { ...jwk }, format: "jwk" });
    return jwk.kty === "OKP" ? (data) => sign(null, data, key) : (data) => fromDer(sign("sha256", data, key));
  },
  verifier(jwk: PublicJwk): VerifyBytes {
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    return jwk.kty === "OKP"
      ? (signature, data) => verify(null, data, key, signature)
      : (signature, data) => verify("sha256", data, key, toDer(signature));
  },
});

function createMac(secret: Uint8Array): Mac {
  // Made once: with the bytes in its place every message costs four times as much.
  const key = createSecretKey(secret);
  return (data) => createHmac("sha256", key).update(data).digest();
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Longer texts than any token go through node:crypto's own HMAC. */
const MAX_SHORT_CHARS = 4096;

/**
 * HMAC as its definition has it, by two hashes in one call each: an Hmac object costs more than hashing a token does.
 * @see {@link https://www.rfc-editor.org/rfc/rfc2104#section-2}
 */
function createTextMac(secret: Uint8Array): TextMac {
  const key = secret.length > BLOCK_BYTES ? hash("sha256", secret, "buffer") : secret;
  const inner = Buffer.alloc(BLOCK_BYTES + MAX_SHORT_CHARS, 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c);
  for (const [at, byte] of key.entries()) {
    inner[at] = byte ^ 0x36;
    outer[at] = byte ^ 0x5c;
  }
  const long = createSecretKey(secret);
  return (text) => {
    if (text.length > MAX_SHORT_CHARS) return createHmac("sha256", long).update(text, "latin1").digest("base64url");
    const end = BLOCK_BYTES + inner.write(text, BLOCK_BYTES, "latin1");
    outer.write(hash("sha256", inner.subarray(0, end), "binary"), BLOCK_BYTES, "latin1");
    return hash("sha256", outer, "base64url");
  };
}

// What goes in and comes out as text needs no buffer, and a buffer costs more than hashing what is short.
const text: TextPort = Object.freeze({
  digest: (data: Uint8Array | string): string => hash("sha256", data, "base64url"),
  hmac: createTextMac,
});

/**
 * The crypto port on node:crypto: in-line, where WebCrypto on Node pays a thread hop for every call. It does in HS256,
 * ES256 and Ed25519 what jose does, and costs less.
 */
export const nodeCrypto: CryptoPort = Object.freeze({
  digest: (data: Uint8Array): Uint8Array => hash("sha256", data, "buffer"),
  hmac: createMac,
  text,
  asymmetric,
});
