/**
 * The base64url forms the signing modules need: strict, so that one value has one spelling.
 * Bytes go through jose's codec; short JSON texts take the engine's own `btoa` and `atob`, which are several times faster.
 * @see {@link https://www.rfc-editor.org/rfc/rfc4648#section-5}
 * @module
 */
import { base64url } from "jose";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const NOT_ASCII = /[^\0-\x7f]/;
const NOT_ASCII_UNITS = /[\x7f-\uffff]/g;
const LAST_OF_TWO = "AQgw";
const LAST_OF_THREE = "AEIMQUYcgkosw048";

/** The base64url text of bytes, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return base64url.encode(bytes);
}

/**
 * The bytes of a base64url text.
 * @throws {TypeError} when the text is not base64url; check {@link isCanonical} first where the text is a peer's
 */
export function fromBase64Url(text: string): Uint8Array {
  return base64url.decode(text);
}

/**
 * Whether base64url characters end as an encoder would end them: unused bits zero, no lone character.
 * Without this check a token has several spellings with one meaning.
 * @see {@link https://www.rfc-editor.org/rfc/rfc4648#section-3.5}
 */
export function isCanonical(text: string): boolean {
  const last = text.charAt(text.length - 1);
  switch (text.length & 3) {
    case 0:
      return true;
    case 2:
      return LAST_OF_TWO.includes(last);
    case 3:
      return LAST_OF_THREE.includes(last);
    default:
      return false;
  }
}

/** A value as JSON in ASCII only: what is not ASCII is written as `\uXXXX`, so one character is one byte. */
export function toAsciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    NOT_ASCII_UNITS,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The base64url text of an ASCII text. */
export function encodeAscii(text: string): string {
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The JSON object a canonical base64url text holds, or nothing: a parser's message would quote the text. */
export function decodeJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const json = NOT_ASCII.test(binary) ? utf8.decode(Uint8Array.from(binary, (unit) => unit.charCodeAt(0))) : binary;
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is an object that is neither null nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
