import { fromBase64Url } from "./base64url.ts";

const P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

function toInteger(coordinate: string): bigint {
  return fromBase64Url(coordinate).reduce((value, byte) => value * 256n + BigInt(byte), 0n);
}

/**
 * Whether two coordinates, 32 bytes each in base64url, are a point of the curve P-256. Not every engine checks that when
 * it imports a key.
 * @see {@link https://nvlpubs.nist.gov/nistpubs/SpecialPublications/NIST.SP.800-186.pdf} section 3.2.1.3
 */
export function isOnP256(coordinates: { readonly x: string; readonly y: string }): boolean {
  const x = toInteger(coordinates.x);
  const y = toInteger(coordinates.y);
  return x < P && y < P && (y * y - x * x * x + 3n * x - B) % P === 0n;
}
