import { compactVerify, CompactSign, importJWK } from "jose";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nodeCrypto } from "../../../adapters/node/crypto.ts";
import { createTextMac, toHashText, webCrypto } from "../../../src/signing/crypto.ts";
import { createPrivateJwk, toPublicJwk } from "../../../src/signing/jwk.ts";
import { parseCompact } from "../../../src/signing/jws.ts";
import { createKeySet } from "../../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey } from "../../../src/signing/keys.ts";
import { createMemoryReplayStore } from "../../../src/signing/replay.ts";
import { createRequestSigner, createRequestVerifier } from "../../../src/signing/request.ts";

/** The order of the group of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const encoder = new TextEncoder();
const claims = fc.json({ maxDepth: 2 }).map((text) => JSON.stringify({ text: encodeURIComponent(text) }));

describe("the node:crypto port", () => {
  test("hashes and authenticates as WebCrypto does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.uint8Array({ minLength: 32, maxLength: 100 }),
        async (data, secret) => {
          expect(Buffer.from(await nodeCrypto.digest(data))).toEqual(Buffer.from(await webCrypto.digest(data)));
          expect(Buffer.from(await nodeCrypto.hmac(secret)(data))).toEqual(
            Buffer.from(await webCrypto.hmac(secret)(data)),
          );
        },
      ),
    );
  });

  test("gives as text what WebCrypto gives by way of bytes", async () => {
    const ascii = fc.string({ unit: "binary-ascii", maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(ascii, fc.uint8Array({ minLength: 32, maxLength: 100 }), async (text, secret) => {
        const data = encoder.encode(text);
        expect(await toHashText(text, nodeCrypto)).toBe(await toHashText(data, webCrypto));
        expect(await toHashText(data, nodeCrypto)).toBe(await toHashText(text, webCrypto));
        expect(await createTextMac(secret, nodeCrypto)(text)).toBe(await createTextMac(secret, webCrypto)(text));
      }),
    );
  });

  test("one key authenticates texts of any length, each as if it were the first", async () => {
    const text = fc.oneof(
      fc.string({ unit: "binary-ascii", maxLength: 200 }),
      fc.integer({ min: 4000, max: 4200 }).map((length) => "a".repeat(length)),
    );
    const secret = fc.uint8Array({ minLength: 32, maxLength: 130 });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 2, maxLength: 6 }), secret, async (texts, bytes) => {
        const [own, web] = [createTextMac(bytes, nodeCrypto), createTextMac(bytes, webCrypto)];
        for (const one of texts) expect(await own(one)).toBe(await web(one));
      }),
    );
  });

  test("a text of any characters has the hash of its UTF-8", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 100 }), async (text) => {
        const expected = await toHashText(encoder.encode(text), webCrypto);
        expect([await toHashText(text, nodeCrypto), await toHashText(text, webCrypto)]).toEqual([expected, expected]);
      }),
    );
  });

  test("signs in HS256 what jose signs, byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(claims, fc.uint8Array({ minLength: 32, maxLength: 100 }), async (payload, secret) => {
        const key = await createSecretKey(secret, { crypto: nodeCrypto });
        const token = await key.prepare({ typ: "hook-request+jwt" })(payload);
        const header = { alg: "HS256", typ: "hook-request+jwt", kid: key.kid };
        expect(token).toBe(await new CompactSign(encoder.encode(payload)).setProtectedHeader(header).sign(secret));
        expect(await key.verify(parseCompact(token), "HS256")).toBe(true);
      }),
    );
  });

  test.each(["ES256", "EdDSA", "Ed25519"] as const)("agrees with jose on %s, in both directions", async (alg) => {
    const jwk = await createPrivateJwk(alg);
    const signing = await createSigningKey(jwk, { crypto: nodeCrypto });
    const verifying = await createVerificationKey(toPublicJwk(jwk), { crypto: nodeCrypto });
    const sign = signing.prepare({ typ: "hook-reply+jwt" });
    const [privateKey, publicKey] = [await importJWK({ ...jwk }, alg), await importJWK({ ...toPublicJwk(jwk) }, alg)];
    const header = { alg, typ: "hook-reply+jwt", kid: signing.kid };
    await fc.assert(
      fc.asyncProperty(claims, async (payload) => {
        const ours = await sign(payload);
        const theirs = await new CompactSign(encoder.encode(payload)).setProtectedHeader(header).sign(privateKey);
        expect(ours.slice(0, ours.lastIndexOf("."))).toBe(theirs.slice(0, theirs.lastIndexOf(".")));
        // Ed25519 is deterministic; ES256 is not, and its signatures are checked by verifying them.
        expect(alg === "ES256" || ours === theirs).toBe(true);
        await compactVerify(ours, publicKey, { algorithms: [alg] });
        expect(await verifying.verify(parseCompact(theirs), alg)).toBe(true);
        const other = theirs.replace(/\.[^.]*\./, `.${Buffer.from("{}").toString("base64url")}.`);
        expect(await verifying.verify(parseCompact(other), alg)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  test("refuses the same keys as jose", async () => {
    const [one, two] = [await createPrivateJwk("ES256"), await createPrivateJwk("ES256")];
    const okp = await createPrivateJwk("EdDSA");
    await expect(createSigningKey({ ...one, d: two.d }, { crypto: nodeCrypto })).rejects.toMatchObject({
      code: "ERR_CONFIG",
    });
    const mixed = { ...okp, x: toPublicJwk(await createPrivateJwk("EdDSA")).x };
    await expect(createSigningKey(mixed, { crypto: nodeCrypto })).rejects.toMatchObject({ code: "ERR_CONFIG" });
    const off = { ...toPublicJwk(one), x: two.x };
    await expect(createVerificationKey(off, { crypto: nodeCrypto })).rejects.toMatchObject({ code: "ERR_CONFIG" });
  });

  test("the other ES256 signature of a message is a replay of it", async () => {
    const jwk = await createPrivateJwk("ES256");
    const parties = { issuer: "gateway", audience: "endpoint", crypto: nodeCrypto };
    const signer = createRequestSigner({ key: await createSigningKey(jwk, { crypto: nodeCrypto }), ...parties });
    const key = await createVerificationKey(toPublicJwk(jwk), { crypto: nodeCrypto });
    const keys = createKeySet([key]);
    const verifier = createRequestVerifier({ keys, replay: createMemoryReplayStore(), ...parties });
    const body = Buffer.from("{}");
    const { token } = await signer.sign({ method: "m", body });
    const { signingInput, signature } = parseCompact(token);
    const bytes = Buffer.from(signature, "base64url");
    const s = ORDER - BigInt(`0x${bytes.subarray(32).toString("hex")}`);
    const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")]);
    const twin = `${signingInput}.${other.toString("base64url")}`;
    // It verifies, as in every ECDSA library; the replay key is therefore iss and jti, never the signature.
    expect(await key.verify(parseCompact(twin), "ES256")).toBe(true);
    const request = { method: "POST", contentType: "application/json", body };
    await verifier.verify({ ...request, signature: token });
    await expect(verifier.verify({ ...request, signature: twin })).rejects.toMatchObject({ reason: "replayed" });
  });
});
