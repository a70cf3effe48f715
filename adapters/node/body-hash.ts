import { createHash, hash, type Hash } from "node:crypto";
import type { BodyHead } from "../../src/transport/http-body.ts";
import type { BodyHasher } from "../../src/transport/signature.ts";

/** Shorter bodies are hashed whole: a hash object to go on from costs as much as the hashing it would save. */
const MIN_SHARED_BYTES = 8192;

/** Hashes that have read the beginning of a body, to go on from; each goes with the payload it is of. */
const begun = new WeakMap<BodyHead, Hash>();

/**
 * Hashes a body with node:crypto. A long beginning that several hooks are sent is read once: going on from it costs about
 * a microsecond, whatever its length.
 */
export const hashBody: BodyHasher = ({ bytes, head }) => {
  if (head === undefined || bytes.length < MIN_SHARED_BYTES) return hash("sha256", bytes, "base64url");
  let base = begun.get(head);
  if (base === undefined) {
    base = createHash("sha256").update(head.bytes);
    begun.set(head, base);
  }
  return base.copy().update(bytes.subarray(head.bytes.length)).digest("base64url");
};
