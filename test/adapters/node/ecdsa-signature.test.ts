import { generateKeyPairSync, sign, verify } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fromDer, toDer } from "../../../adapters/node/ecdsa-signature.ts";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
/** Halves with zeros in front, ones that need a sign byte, and plain ones. */
const half = fc
  .tuple(fc.nat(32), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(([zeros, bytes]) => Uint8Array.from(bytes, (byte, index) => (index < zeros ? 0 : byte)));

test("there and back is the same, for every length of the integers", () => {
  fc.assert(
    fc.property(half, half, (r, s) => {
      const signature = Buffer.concat([r, s]);
      const der = toDer(signature);
      expect(Buffer.from(fromDer(der))).toEqual(signature);
      expect(der.length).toBeLessThanOrEqual(72);
    }),
    { numRuns: 2000 },
  );
});

test("both forms are the ones of node:crypto", () => {
  for (let index = 0; index < 600; index += 1) {
    const data = Buffer.from(`message ${index}`);
    const der = sign("sha256", data, privateKey);
    const p1363 = fromDer(der);
    expect(verify("sha256", data, { key: publicKey, dsaEncoding: "ieee-p1363" }, p1363)).toBe(true);
    expect(Buffer.from(toDer(p1363))).toEqual(der);
    const theirs = sign("sha256", data, { key: privateKey, dsaEncoding: "ieee-p1363" });
    expect(verify("sha256", data, publicKey, toDer(theirs))).toBe(true);
  }
});

test("what is no signature verifies in neither form", () => {
  const data = Buffer.from("message");
  const theirs = sign("sha256", data, { key: privateKey, dsaEncoding: "ieee-p1363" });
  const order = Buffer.from("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "hex");
  const zero = Buffer.alloc(32);
  const wrong = [
    Buffer.alloc(64),
    Buffer.alloc(64, 255),
    Buffer.concat([zero, theirs.subarray(32)]),
    Buffer.concat([theirs.subarray(0, 32), zero]),
    Buffer.concat([order, theirs.subarray(32)]),
    Buffer.concat([theirs.subarray(0, 32), order]),
    Buffer.concat([theirs.subarray(32), theirs.subarray(0, 32)]),
  ];
  for (const signature of wrong) {
    expect(verify("sha256", data, publicKey, toDer(signature))).toBe(false);
    expect(verify("sha256", data, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(false);
  }
});

test("what OpenSSL would not have made is refused", () => {
  const der = Buffer.from(toDer(Buffer.alloc(64, 7)));
  const changes: readonly Buffer[] = [
    Buffer.alloc(0),
    der.subarray(1),
    der.subarray(0, -1),
    Buffer.concat([der, Buffer.from([0])]),
    Buffer.from(der.toString("hex").replace("0220", "0320"), "hex"),
    Buffer.from("30060200020107", "hex"),
    Buffer.concat([Buffer.from([0x30, 38, 2, 33]), Buffer.alloc(33, 1), Buffer.from([2, 1, 1])]),
  ];
  for (const change of changes) expect(() => fromDer(change)).toThrow("not a DER signature");
});
