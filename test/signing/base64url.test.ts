import * as fc from "fast-check";
import { base64url } from "jose";
import { expect, test } from "vitest";
import {
  decodeJsonObject,
  encodeAscii,
  fromBase64Url,
  isCanonical,
  toAsciiBytes,
  toAsciiJson,
  toBase64Url,
} from "../../src/signing/base64url.ts";

test("bytes are written and read as jose and Node do", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = toBase64Url(bytes);
      expect(text).toBe(base64url.encode(bytes));
      expect(text).toBe(Buffer.from(bytes).toString("base64url"));
      expect(Buffer.from(fromBase64Url(text))).toEqual(Buffer.from(bytes));
      expect(isCanonical(text)).toBe(true);
    }),
  );
});

test("of all spellings of up to three characters, those an encoder writes are canonical", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".split("");
  const spellings = alphabet.flatMap((a) => [a, `A${a}`, `AA${a}`, `AAA${a}`, `_-8${a}A`]);
  for (const text of spellings) {
    expect([text, isCanonical(text)]).toEqual([text, Buffer.from(text, "base64url").toString("base64url") === text]);
  }
});

test("a JSON text is ASCII and means the same", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, text) => {
      const json = toAsciiJson([value, text]);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify([value, text])));
      expect(Buffer.from(toAsciiBytes(json))).toEqual(Buffer.from(json, "utf8"));
      expect(encodeAscii(json)).toBe(Buffer.from(json).toString("base64url"));
      expect(decodeJsonObject(encodeAscii(`{"a":${json}}`))).toEqual({ a: JSON.parse(json) as unknown });
    }),
  );
});

test("what is no JSON object in UTF-8 is nothing", () => {
  const texts = ["", "null", "1", "[]", '"x"', "{", "{}x", "\ufeff{}", "{'a':1}"];
  for (const text of texts) expect(decodeJsonObject(Buffer.from(text).toString("base64url"))).toBeUndefined();
  expect(
    decodeJsonObject(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString("base64url")),
  ).toBeUndefined();
  expect(decodeJsonObject(Buffer.from('{"\u00e9":"\ud83d\ude00"}').toString("base64url"))).toEqual({
    "\u00e9": "\ud83d\ude00",
  });
});
