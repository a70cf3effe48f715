import { HookgateError } from "../../src/errors.ts";
import { toBase64Url } from "../../src/signing/base64url.ts";
import { webCrypto } from "../../src/signing/crypto.ts";
import type { CryptoPort } from "../../src/signing/crypto.ts";
import {
  createPrivateJwk,
  createThumbprint,
  parseJwks,
  parsePrivateJwk,
  parsePrivateJwks,
  parsePublicJwk,
  toPublicJwk,
} from "../../src/signing/jwk.ts";
import { parseCompact } from "../../src/signing/jws.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey, toJwks } from "../../src/signing/keys.ts";
import { equal, ok, rejects } from "./case.ts";
import type { Case } from "./case.ts";
import { BODY, createPair, createSide, reasonOf, received, SECRET, thrownBy } from "./signing-setting.ts";

const SOURCE = "http.md 2: Keys";

// The example key of RFC 8037, appendix A, with its thumbprint.
const RFC8037 = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
const RFC8037_D = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const RFC8037_KID = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return "nothing was thrown";
  } catch (error) {
    return error instanceof HookgateError && error.cause === undefined
      ? `${error.code} ${error.message}`
      : "another error";
  }
}

const parsing: readonly Case[] = [
  {
    id: "signing/a private key is read from an object or its text, reduced to what counts",
    source: SOURCE,
    async run() {
      const jwk = { ...RFC8037, d: RFC8037_D, kid: "mine", use: "sig", key_ops: ["sign"], extra: 1 };
      const expected = { ...RFC8037, alg: "EdDSA", d: RFC8037_D };
      equal(parsePrivateJwk(jwk), expected);
      equal(parsePrivateJwk(JSON.stringify(jwk)), expected);
      equal(parsePrivateJwk({ ...jwk, alg: "Ed25519" }).alg, "Ed25519");
      equal(parsePrivateJwks(jwk), [expected]);
      equal(parsePrivateJwks({ keys: [jwk, { ...jwk, alg: "Ed25519" }] }).length, 2);
      equal(await createThumbprint(parsePrivateJwk(jwk)), RFC8037_KID);
      equal((await createSigningKey(parsePrivateJwk(jwk))).kid, RFC8037_KID);
    },
  },
  {
    id: "signing/what is no key of ours is refused, and the message does not quote it",
    source: "design.md: messages never hold tokens, keys, headers or bodies",
    async run() {
      const jwk = { ...RFC8037, d: RFC8037_D };
      const wrong: readonly unknown[] = [
        `{"d":"${RFC8037_D}`,
        RFC8037_D,
        [jwk],
        null,
        { ...jwk, d: undefined },
        { ...jwk, d: RFC8037_D.slice(1) },
        { ...jwk, d: `${RFC8037_D.slice(0, -1)}B` },
        { ...jwk, x: 1 },
        { ...jwk, use: "enc" },
        { ...jwk, key_ops: ["verify"] },
        { ...jwk, alg: "ES256" },
        { ...jwk, crv: "X25519" },
        { kty: "EC", crv: "P-256", x: jwk.x, d: jwk.d },
        { kty: "oct", k: RFC8037_D },
        { kty: "RSA", n: "AQAB", e: "AQAB", d: "AQAB" },
      ];
      for (const value of wrong) {
        const message = await messageOf(() => parsePrivateJwk(value));
        ok(message.startsWith("ERR_CONFIG ") && !message.includes(RFC8037_D.slice(1, 12)), message);
      }
      for (const keys of [[], [jwk, jwk, jwk], "x"])
        equal(
          thrownBy(() => parsePrivateJwks({ keys })),
          "ERR_CONFIG",
        );
    },
  },
  {
    id: "signing/a private key in the place of a public one is refused",
    source: SOURCE,
    async run() {
      equal(parsePublicJwk(RFC8037), { ...RFC8037, alg: "EdDSA" });
      equal(
        thrownBy(() => parsePublicJwk({ ...RFC8037, d: RFC8037_D })),
        "ERR_CONFIG",
      );
      equal(
        thrownBy(() => parsePublicJwk({ ...RFC8037, key_ops: ["sign"] })),
        "ERR_CONFIG",
      );
      const jwk = await createPrivateJwk();
      equal(Object.keys(toPublicJwk(jwk)), ["kty", "crv", "x", "y", "alg"]);
    },
  },
  {
    id: "signing/a JWK Set is read without what cannot be trusted in it",
    source: "http.md 2: HS and key pairs never in one list",
    async run() {
      const keys = [
        RFC8037,
        { kty: "oct", k: "AAAA" },
        { ...RFC8037, d: RFC8037_D },
        { ...RFC8037, use: "enc" },
        { kty: "RSA" },
        1,
      ];
      equal(parseJwks({ keys }), [{ ...RFC8037, alg: "EdDSA" }]);
      equal(parseJwks('{"keys":[]}'), []);
      const wrong: readonly unknown[] = [
        "",
        "[]",
        {},
        { keys: {} },
        { keys: Array.from({ length: 65 }, () => RFC8037) },
      ];
      for (const value of wrong)
        equal(
          thrownBy(() => parseJwks(value)),
          "ERR_CONFIG",
        );
    },
  },
];

const importing: readonly Case[] = [
  {
    id: "signing/members that are not one key are refused when they are imported",
    source: SOURCE,
    async run() {
      const ec = await createPrivateJwk("ES256");
      const other = await createPrivateJwk("ES256");
      const okp = await createPrivateJwk("EdDSA");
      const off = { ...toPublicJwk(ec), x: okp.x };
      await rejects(createVerificationKey(off), "ERR_CONFIG");
      await createVerificationKey(toPublicJwk(ec));
      await rejects(createSigningKey({ ...ec, d: other.d }), "ERR_CONFIG");
      await rejects(createSigningKey({ ...okp, x: (await createPrivateJwk("EdDSA")).x }), "ERR_CONFIG");
    },
  },
  {
    id: "signing/the same JWK object is imported once for each port",
    source: "http.md 2: imported keys are cached by identity",
    async run() {
      const jwk = await createPrivateJwk();
      const publicJwk = toPublicJwk(jwk);
      const port: CryptoPort = { ...webCrypto };
      equal((await createSigningKey(jwk)) === (await createSigningKey(jwk)), true);
      equal((await createVerificationKey(publicJwk)) === (await createVerificationKey(publicJwk)), true);
      equal((await createSigningKey(jwk)) === (await createSigningKey(jwk, { crypto: port })), false);
      equal((await createSigningKey(jwk)) === (await createSigningKey({ ...jwk })), false);
    },
  },
  {
    id: "signing/a signature of another length never reaches the port",
    source: "transport-facts.md 1.3: signature is 64-byte P1363, not DER",
    async run() {
      const jwk = toPublicJwk(await createPrivateJwk());
      const asymmetric = { verifier: () => () => true, signer: () => () => new Uint8Array(64) };
      const key = await createVerificationKey(jwk, { crypto: { ...webCrypto, asymmetric } });
      for (const [length, expected] of [
        [63, false],
        [64, true],
        [65, false],
        [71, false],
      ] as const) {
        const jws = parseCompact(`e30.e30.${toBase64Url(new Uint8Array(length))}`);
        equal([length, await key.verify(jws, "ES256")], [length, expected]);
      }
    },
  },
  {
    id: "signing/a secret has at least 32 bytes, and its id is the start of its hash",
    source: "http.md 2: HS256",
    async run() {
      await rejects(createSecretKey("x".repeat(31)), "RangeError");
      await rejects(createSecretKey(new Uint8Array(31)), "RangeError");
      await createSecretKey("\u00e9".repeat(16));
      const bytes = new TextEncoder().encode("x".repeat(32));
      const key = await createSecretKey(bytes);
      equal(key.kid, (await createSecretKey("x".repeat(32))).kid);
      const hash = await webCrypto.digest(bytes);
      equal(key.kid, `hs-${Array.from(hash.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("")}`);
    },
  },
  {
    id: "signing/a secret that its owner overwrites afterwards still signs as before",
    source: SOURCE,
    async run() {
      const bytes = new TextEncoder().encode("x".repeat(32));
      const key = await createSecretKey(bytes);
      bytes.fill(0);
      const { requestSigner } = createPair({ key, keys: createKeySet([key]) }, await createSide("HS256"));
      const same = await createSecretKey("x".repeat(32));
      const { requestVerifier } = createPair({ key: same, keys: createKeySet([same]) }, await createSide("HS256"));
      const { token } = await requestSigner.sign({ method: "m", body: BODY });
      equal(await reasonOf(received(requestVerifier, token)), "accepted");
    },
  },
  {
    id: "signing/no key shows its material",
    source: "design.md: Secrets never in messages",
    async run() {
      const jwk = await createPrivateJwk();
      const shown = JSON.stringify([await createSigningKey(jwk), await createSecretKey(SECRET)]);
      ok(!shown.includes(jwk.d) && !shown.includes(SECRET), "a key in JSON");
    },
  },
];

const sets: readonly Case[] = [
  {
    id: "signing/the published set has every key pair and no secret",
    source: "http.md 2: GET /.well-known/jwks.json",
    async run() {
      const [first, second] = [await createPrivateJwk("ES256"), await createPrivateJwk("Ed25519")];
      const keys = [await createSigningKey(first), await createSigningKey(second), await createSecretKey(SECRET)];
      const jwks = toJwks(keys);
      equal(jwks, {
        keys: [
          { ...toPublicJwk(first), kid: await createThumbprint(first), use: "sig" },
          { ...toPublicJwk(second), kid: await createThumbprint(second), use: "sig" },
        ],
      });
      equal(parseJwks(JSON.stringify(jwks)), [toPublicJwk(first), toPublicJwk(second)]);
    },
  },
  {
    id: "signing/two keys are active at once, and a retired one is not",
    source: "http.md 2: Two keys active at once each way",
    async run() {
      const jwks = [await createPrivateJwk("ES256"), await createPrivateJwk("EdDSA")];
      const verifiers = await Promise.all(jwks.map((jwk) => createVerificationKey(toPublicJwk(jwk))));
      const both = createKeySet(verifiers);
      for (const jwk of jwks) {
        const pair = createPair({ key: await createSigningKey(jwk), keys: both }, await createSide("HS256"));
        const { token } = await pair.requestSigner.sign({ method: "m", body: BODY });
        equal(await reasonOf(received(pair.requestVerifier, token)), "accepted");
        const others = createKeySet(
          verifiers.filter((key) => !token.includes(key.kid) && key !== verifiers[jwks.indexOf(jwk)]),
        );
        const later = createPair({ key: await createSigningKey(jwk), keys: others }, await createSide("HS256"));
        ok(
          ["kid_unknown", "alg_not_allowed"].includes(await reasonOf(received(later.requestVerifier, token))),
          "retired",
        );
      }
    },
  },
  {
    id: "signing/a set is of secrets or of key pairs, with distinct ids",
    source: "http.md 2: HS and key pairs never in one list",
    async run() {
      const secret = await createSecretKey(SECRET);
      const pair = await createVerificationKey(toPublicJwk(await createPrivateJwk()));
      equal(
        thrownBy(() => createKeySet([secret, pair])),
        "TypeError",
      );
      equal(
        thrownBy(() => createKeySet([])),
        "RangeError",
      );
      equal(
        thrownBy(() => createKeySet([secret, secret])),
        "RangeError",
      );
      equal(
        thrownBy(() => createKeySet(Array.from({ length: 17 }, () => secret))),
        "RangeError",
      );
      equal(createKeySet([secret]).algs, ["HS256"]);
      equal(createKeySet([pair]).algs, ["ES256"]);
    },
  },
];

/** Keys and sets of them. */
export const signingKeysCases: readonly Case[] = [...parsing, ...importing, ...sets];
