import { hash } from "node:crypto";

/** SHA-256 in this thread. WebCrypto hands each digest to another one, which for a token costs many times the digest. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return hash("sha256", bytes, "buffer");
}
