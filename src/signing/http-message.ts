import { VerificationError } from "./verification-error.ts";

/** A request as it came in. The body is the raw bytes, read once and not yet parsed. */
export interface HttpMessage {
  readonly method: string;
  /** The value of `content-type`. */
  readonly contentType: string | null | undefined;
  /** The value of `hook-signature`. */
  readonly signature: string | null | undefined;
  readonly body: Uint8Array;
}

/** The most bytes a body may have where nothing else is configured: 1 MiB. */
export const DEFAULT_MAX_BODY_BYTES = 1_048_576;

const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i;

/**
 * Checks the option `maxBodyBytes`, or gives its default.
 * @throws {RangeError} when it is not a positive integer
 */
export function createBodyLimit(maxBodyBytes: number | undefined): number {
  const limit = maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new RangeError(`maxBodyBytes must be a positive integer, got ${limit}`);
  }
  return limit;
}

/**
 * Checks what comes before the signature: POST, JSON, size.
 * @throws {VerificationError} `not_post`, `not_json`, `body_too_large`
 */
export function checkHttp(message: Omit<HttpMessage, "signature">, maxBodyBytes: number): void {
  if (message.method !== "POST") throw new VerificationError("not_post");
  if (typeof message.contentType !== "string" || !JSON_TYPE.test(message.contentType)) {
    throw new VerificationError("not_json");
  }
  if (message.body.length > maxBodyBytes) throw new VerificationError("body_too_large");
}
