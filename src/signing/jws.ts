import { decodeJsonObject, isCanonical } from "./base64url.ts";
import { VerificationError } from "./verification-error.ts";

/** The most characters a compact JWS may have. */
export const MAX_TOKEN_LENGTH = 4096;

/**
 * A compact JWS, split. Its parts are canonical base64url; nothing in it is verified.
 * @see {@link https://www.rfc-editor.org/rfc/rfc7515#section-7.1}
 */
export interface CompactJws {
  readonly token: string;
  readonly header: string;
  readonly payload: string;
  readonly signature: string;
  /** What the signature is over: header, dot, payload. */
  readonly signingInput: string;
}

/** The protected header of a token, checked for shape only. */
export interface ProtectedHeader {
  readonly typ: unknown;
  readonly alg: unknown;
  /** Absent when the token has none or it is not a string. */
  readonly kid: string | undefined;
}

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
// A key or a place of a key in the message is not trust, and an extension we do not know must not be ignored.
const FORBIDDEN = ["crit", "b64", "jwk", "jku", "x5u", "x5c"] as const;

/**
 * Splits the value of a signature header.
 * @param value - The header as the host gives it; several headers are joined with a comma by every host.
 * @throws {VerificationError} `signature_missing`, `signature_duplicated`, `signature_malformed` when it is not three
 * parts of canonical base64url, `signature_too_long` when it has more than 4096 characters
 * @see {@link https://www.rfc-editor.org/rfc/rfc7515#section-7.1}
 */
export function parseCompact(value: string | null | undefined): CompactJws {
  if (typeof value !== "string" || value === "") throw new VerificationError("signature_missing");
  if (value.includes(",")) throw new VerificationError("signature_duplicated");
  if (!COMPACT.test(value)) throw new VerificationError("signature_malformed");
  if (value.length > MAX_TOKEN_LENGTH) throw new VerificationError("signature_too_long");
  const first = value.indexOf(".");
  const last = value.lastIndexOf(".");
  const header = value.slice(0, first);
  const payload = value.slice(first + 1, last);
  const signature = value.slice(last + 1);
  if (!isCanonical(header) || !isCanonical(payload) || !isCanonical(signature)) {
    throw new VerificationError("signature_malformed");
  }
  return { token: value, header, payload, signature, signingInput: value.slice(0, last) };
}

/**
 * Reads the protected header of a token.
 * @throws {VerificationError} `header_malformed` when it is not a JSON object, `header_forbidden` when it has one of
 * crit, b64, jwk, jku, x5u, x5c
 */
export function parseProtectedHeader(jws: CompactJws): ProtectedHeader {
  const known = headers.get(jws.header);
  if (known !== undefined) return known;
  const header = readProtectedHeader(jws.header);
  if (headers.size >= MAX_HEADERS) headers.clear();
  headers.set(jws.header, header);
  return header;
}

/** Headers by their text: a peer's are the same in every message. Nothing but the text decides what is read from it. */
const headers = new Map<string, ProtectedHeader>();
const MAX_HEADERS = 64;

function readProtectedHeader(text: string): ProtectedHeader {
  const header = decodeJsonObject(text);
  if (header === undefined) throw new VerificationError("header_malformed");
  const { typ, alg, kid } = header;
  const named = typeof kid === "string" ? kid : undefined;
  if (FORBIDDEN.some((name) => Object.hasOwn(header, name))) {
    throw new VerificationError("header_forbidden", { kid: named });
  }
  return { typ, alg, kid: named };
}

/**
 * The issuer a token says it has. Nothing is verified: it may choose whose keys are tried, and nothing else.
 * @returns undefined when it says none that can be read
 */
export function readUnverifiedIssuer(token: string): string | undefined {
  const payload = token.split(".", 2)[1] ?? "";
  const issuer = decodeJsonObject(payload)?.["iss"];
  return typeof issuer === "string" ? issuer : undefined;
}
