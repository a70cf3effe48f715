import { compactVerify, CompactSign, decodeJwt, decodeProtectedHeader, importJWK, jwtVerify, SignJWT } from "jose";
import { createBodyHash } from "../../src/signing/crypto.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey } from "../../src/signing/keys.ts";
import { createRequestSigner, createRequestVerifier, verifyMethod } from "../../src/signing/request.ts";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { equal, ok } from "./case.ts";
import type { Case } from "./case.ts";
import {
  BODY,
  createPair,
  createSide,
  ENDPOINT,
  ENDPOINT_URL,
  GATEWAY,
  NOW_MS,
  reasonOf,
  received,
  REPLY,
  SECRET,
  thrownBy,
} from "./signing-setting.ts";

const SOURCE = "http.md 2: Signatures";
const NOW = NOW_MS / 1000;
const encoder = new TextEncoder();

function roundTrip(gateway: "ES256" | "EdDSA" | "Ed25519" | "HS256", endpoint: "ES256" | "EdDSA" | "HS256"): Case {
  return {
    id: `signing/a call in ${gateway} and its reply in ${endpoint}`,
    source: SOURCE,
    async run() {
      const asking = await createSide(gateway);
      const pair = createPair(asking, endpoint === "HS256" ? asking : await createSide(endpoint));
      const sent = await pair.requestSigner.sign({ method: "hook.before_tool", body: BODY });
      const verified = await received(pair.requestVerifier, sent.token);
      const bh = await createBodyHash(BODY);
      equal(verified.claims, {
        iss: GATEWAY,
        aud: ENDPOINT_URL,
        iat: NOW,
        exp: NOW + 60,
        jti: sent.jti,
        htm: "POST",
        bh,
        mtd: "hook.before_tool",
      });
      equal([verified.kid, verified.alg, verified.token], [asking.key.kid, gateway, sent.token]);
      verifyMethod(verified, { method: "hook.before_tool" });
      const signature = await pair.replySigner.sign({ request: verified, status: 200, body: REPLY });
      const reply = await pair.replyVerifier.verify({ signature, status: 200, body: REPLY, request: sent });
      equal(reply.claims, {
        iss: ENDPOINT,
        aud: GATEWAY,
        iat: NOW,
        exp: NOW + 60,
        rid: sent.jti,
        rqh: await createBodyHash(encoder.encode(sent.token)),
        sts: 200,
        bh: await createBodyHash(REPLY),
      });
    },
  };
}

async function signHS256(): Promise<string> {
  const { requestSigner } = createPair(await createSide("HS256"), await createSide("HS256"));
  return (await requestSigner.sign({ method: "hook.before_tool", body: BODY })).token;
}

const forms: readonly Case[] = [
  {
    id: "signing/a token has the header and the claims of the protocol and no others",
    source: SOURCE,
    async run() {
      const token = await signHS256();
      const key = await createSecretKey(SECRET);
      equal(decodeProtectedHeader(token), { alg: "HS256", typ: "hook-request+jwt", kid: key.kid });
      equal(Object.keys(decodeJwt(token)), ["iss", "aud", "iat", "exp", "jti", "htm", "bh", "mtd"]);
      const { jti } = decodeJwt(token);
      ok(/^019ab697-e800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(String(jti)), `not a UUIDv7: ${jti}`);
      ok(/^hs-[0-9a-f]{8}$/.test(key.kid), "the id of a secret");
    },
  },
  {
    id: "signing/a body hash made once signs as the body does",
    source: "design.md: Serialise once",
    async run() {
      const pair = createPair(await createSide("HS256"), await createSide("HS256"));
      const bodyHash = await createBodyHash(BODY);
      const first = await pair.requestSigner.sign({ method: "hook.before_tool", bodyHash });
      const second = await pair.requestSigner.sign({ method: "hook.before_tool", bodyHash });
      const verified = await received(pair.requestVerifier, first.token);
      await received(pair.requestVerifier, second.token);
      const signature = await pair.replySigner.sign({
        request: verified,
        status: 200,
        bodyHash: await createBodyHash(REPLY),
      });
      await pair.replyVerifier.verify({ signature, status: 200, body: REPLY, request: first });
    },
  },
  {
    id: "signing/parties and methods that are not ASCII, and those that would break out of JSON",
    source: SOURCE,
    async run() {
      const { key, keys } = await createSide("ES256");
      for (const name of ["https://hooks.example.com/h\u00e9?q=\u{1f600}", '","aud":"x', "\u2028\\"]) {
        const options = { issuer: name, audience: name, now: () => NOW_MS };
        const { token } = await createRequestSigner({ key, ...options }).sign({ method: name, body: BODY });
        const verifier = createRequestVerifier({
          keys,
          replay: createMemoryReplayStore({ now: () => NOW_MS }),
          ...options,
        });
        const { claims } = await received(verifier, token);
        equal([claims.iss, claims.aud, claims.mtd], [name, name, name]);
      }
    },
  },
  {
    id: "signing/the longest names still make a token that is accepted, and longer ones are refused at once",
    source: "http.md 2: at most 4 KiB",
    async run() {
      const { key, keys } = await createSide("ES256");
      const options = { issuer: "\u00e9".repeat(170), audience: "a".repeat(1024), now: () => NOW_MS };
      const { token } = await createRequestSigner({ key, ...options }).sign({ method: "hook.before_tool", body: BODY });
      const replay = createMemoryReplayStore({ now: () => NOW_MS });
      equal(await reasonOf(received(createRequestVerifier({ keys, replay, ...options }), token)), "accepted");
      for (const name of ["", "a".repeat(1025), "\u00e9".repeat(171)]) {
        equal(
          thrownBy(() => createRequestSigner({ key, ...options, issuer: name })),
          "TypeError",
        );
        equal(
          thrownBy(() => createRequestVerifier({ keys, replay, ...options, audience: name })),
          "TypeError",
        );
      }
    },
  },
  {
    id: "signing/each attempt has a jti of its own",
    source: "http.md 1: the signature and jti are fresh",
    async run() {
      const { requestSigner } = createPair(await createSide("HS256"), await createSide("HS256"));
      const sign = async (): Promise<string> => (await requestSigner.sign({ method: "m", body: BODY })).jti;
      equal(new Set(await Promise.all(Array.from({ length: 500 }, sign))).size, 500);
    },
  },
];

const names: readonly Case[] = [
  {
    id: "signing/an Ed25519 key is accepted under both names and signs with the declared one",
    source: "http.md 2: both names accepted for one key (RFC 9864)",
    async run() {
      for (const declared of ["EdDSA", "Ed25519"] as const) {
        const { key, keys } = await createSide(declared);
        equal(key.alg, declared);
        for (const alg of ["EdDSA", "Ed25519"] as const) {
          const options = { issuer: GATEWAY, audience: ENDPOINT_URL, now: () => NOW_MS };
          const { token } = await createRequestSigner({ key, alg, ...options }).sign({ method: "m", body: BODY });
          equal(decodeProtectedHeader(token).alg, alg);
          const verifier = createRequestVerifier({
            keys,
            replay: createMemoryReplayStore({ now: () => NOW_MS }),
            ...options,
          });
          equal((await received(verifier, token)).alg, alg);
        }
      }
    },
  },
  {
    id: "signing/a key does not sign under a name that is not its own",
    source: "http.md 2: alg in that key's allow-list",
    async run() {
      for (const own of ["ES256", "EdDSA", "HS256"] as const) {
        const { key } = await createSide(own);
        const alg = own === "ES256" ? "HS256" : "ES256";
        equal(
          thrownBy(() => createRequestSigner({ key, alg, issuer: "a", audience: "b" })),
          "RangeError",
        );
      }
    },
  },
];

const interop: readonly Case[] = [
  {
    id: "signing/jose verifies what we sign",
    source: "http.md 2: made and checked with jose",
    async run() {
      for (const alg of ["ES256", "EdDSA", "Ed25519"] as const) {
        const jwk = await createPrivateJwk(alg);
        const options = { issuer: GATEWAY, audience: ENDPOINT_URL, now: () => NOW_MS };
        const signer = createRequestSigner({ key: await createSigningKey(jwk), ...options });
        const { token } = await signer.sign({ method: "m", body: BODY });
        const { payload } = await jwtVerify(token, await importJWK({ ...toPublicJwk(jwk) }, alg), {
          algorithms: [alg],
          issuer: GATEWAY,
          audience: ENDPOINT_URL,
          typ: "hook-request+jwt",
          currentDate: new Date(NOW_MS),
          requiredClaims: ["jti", "htm", "bh", "mtd"],
        });
        equal(payload["htm"], "POST");
      }
      await compactVerify(await signHS256(), encoder.encode(SECRET), { algorithms: ["HS256"] });
    },
  },
  {
    id: "signing/we verify what jose signs",
    source: "http.md 2: made and checked with jose",
    async run() {
      for (const alg of ["ES256", "EdDSA", "Ed25519"] as const) {
        const jwk = await createPrivateJwk(alg);
        const key = await createVerificationKey(toPublicJwk(jwk));
        const token = await new SignJWT({ htm: "POST", bh: await createBodyHash(BODY), mtd: "m" })
          .setProtectedHeader({ alg, typ: "hook-request+jwt", kid: key.kid })
          .setIssuer(GATEWAY)
          .setAudience(ENDPOINT_URL)
          .setIssuedAt(NOW)
          .setExpirationTime(NOW + 60)
          .setJti("0123456789abcdef")
          .sign(await importJWK({ ...jwk, kid: key.kid }, alg));
        const options = { issuer: GATEWAY, audience: ENDPOINT_URL, now: () => NOW_MS };
        const verifier = createRequestVerifier({
          keys: createKeySet([key]),
          replay: createMemoryReplayStore({ now: () => NOW_MS }),
          ...options,
        });
        equal(await reasonOf(received(verifier, token)), "accepted");
      }
    },
  },
  {
    id: "signing/HS256 through the port equals jose byte for byte",
    source: "http.md 2: proven equal to jose by test",
    async run() {
      const token = await signHS256();
      const payload = encoder.encode(JSON.stringify(decodeJwt(token)));
      const header = { alg: "HS256", typ: "hook-request+jwt", kid: (await createSecretKey(SECRET)).kid };
      equal(await new CompactSign(payload).setProtectedHeader(header).sign(encoder.encode(SECRET)), token);
    },
  },
];

/** Tokens that are right, and that other code agrees with. */
export const signingTokensCases: readonly Case[] = [
  roundTrip("ES256", "ES256"),
  roundTrip("ES256", "EdDSA"),
  roundTrip("EdDSA", "ES256"),
  roundTrip("Ed25519", "EdDSA"),
  roundTrip("HS256", "HS256"),
  ...forms,
  ...names,
  ...interop,
];
