import { createHmac, createPrivateKey, createPublicKey, createSecretKey, hash, sign, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { AsymmetricPort, CryptoPort, Mac } from "../../src/signing/crypto.ts";

// P1363 is what JWS carries: r and s of 32 bytes each, not DER.
const asymmetric: AsymmetricPort = Object.freeze({
  signer(jwk) {
    const key = createPrivateKey({ key: { ...jwk }, format: "jwk" });
    if (jwk.kty === "OKP") return (data) => sign(null, data, key);
    const input = { key, dsaEncoding: "ieee-p1363" } as const;
    return (data) => sign("sha256", data, input);
  },
  verifier(jwk) {
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    if (jwk.kty === "OKP") return (signature, data) => verify(null, data, key, signature);
    const input = { key, dsaEncoding: "ieee-p1363" } as const;
    return (signature, data) => verify("sha256", data, input, signature);
  },
} satisfies AsymmetricPort);

function createMac(secret: Uint8Array): Mac {
  // Made once: with the bytes in its place every message costs four times as much.
  const key: KeyObject = createSecretKey(secret);
  return (data) => createHmac("sha256", key).update(data).digest();
}

/** The crypto port on node:crypto: in-line, where WebCrypto on Node pays a thread hop for every call. */
export const nodeCrypto: CryptoPort = Object.freeze({
  digest: (data: Uint8Array): Uint8Array => hash("sha256", data, "buffer"),
  hmac: createMac,
  asymmetric,
});
