import { CompactSign } from "jose";
import { createBodyHash } from "../../src/signing/crypto.ts";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import type { ReplayStore } from "../../src/signing/replay.ts";
import { createRequestVerifier, verifyMethod } from "../../src/signing/request.ts";
import type { RequestVerifier } from "../../src/signing/request.ts";
import { isHookgateError, toHttpStatus, toRpcCode } from "../../src/errors.ts";
import {
  isVerificationError,
  toNoVerdictKind,
  VerificationError,
  verificationReasons,
} from "../../src/signing/verification-error.ts";
import { equal, ok } from "./case.ts";
import type { Case } from "./case.ts";
import {
  BODY,
  createPair,
  createSide,
  ENDPOINT_URL,
  GATEWAY,
  NOW_MS,
  reasonOf,
  received,
  REPLY,
  SECRET,
  thrownBy,
} from "./signing-setting.ts";

const NOW = NOW_MS / 1000;
const SOURCE = "http.md 2: Verification, in this order";
const encoder = new TextEncoder();

type Change = Readonly<Record<string, unknown>>;

/** A token in HS256 with one thing changed, made by jose. */
async function forge(header: Change = {}, claims: Change = {}): Promise<string> {
  const side = await createSide("HS256");
  const payload = {
    iss: GATEWAY,
    aud: ENDPOINT_URL,
    iat: NOW,
    exp: NOW + 60,
    jti: crypto.randomUUID(),
    htm: "POST",
    bh: await createBodyHash(BODY),
    mtd: "hook.before_tool",
    ...claims,
  };
  return new CompactSign(encoder.encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: "HS256", typ: "hook-request+jwt", kid: side.key.kid, ...header })
    .sign(encoder.encode(SECRET));
}

async function createVerifier(
  replay: ReplayStore = createMemoryReplayStore({ now: () => NOW_MS }),
  nowMs = NOW_MS,
): Promise<RequestVerifier> {
  const { keys } = await createSide("HS256");
  return createRequestVerifier({ keys, issuer: GATEWAY, audience: ENDPOINT_URL, replay, now: () => nowMs });
}

/** Each row breaks two rules; the one that comes first must be the one that is told. */
const PAIRS: readonly (readonly [string, Change, Change])[] = [
  ["typ_mismatch", { typ: "JWT", kid: "x" }, {}],
  ["kid_unknown", { kid: "x" }, { iss: "x" }],
  ["iss_mismatch", {}, { iss: "x", aud: "x" }],
  ["aud_mismatch", {}, { aud: "x", iat: "x" }],
  ["time_malformed", {}, { iat: NOW + 0.5, exp: NOW + 500 }],
  ["lifetime_too_long", {}, { iat: NOW - 500, exp: NOW - 300 }],
  ["expired", {}, { iat: NOW - 100, exp: NOW - 30, htm: "GET" }],
  ["not_yet_valid", {}, { iat: NOW + 30, exp: NOW + 90, htm: "GET" }],
  ["htm_mismatch", {}, { htm: "GET", bh: "x" }],
  ["bh_mismatch", {}, { bh: "x", mtd: 1 }],
  ["mtd_malformed", {}, { mtd: "", jti: "x" }],
  ["jti_malformed", {}, { jti: "x" }],
];

const order: readonly Case[] = [
  {
    id: "signing/the first rule that is broken is the one that is told",
    source: SOURCE,
    async run() {
      const verifier = await createVerifier();
      equal(await reasonOf(received(verifier, await forge())), "accepted");
      for (const [reason, header, claims] of PAIRS) {
        equal(await reasonOf(received(verifier, await forge(header, claims))), reason);
      }
      const request = { method: "POST", contentType: "application/json", signature: "x", body: BODY };
      equal(await reasonOf(verifier.verify({ ...request, method: "GET", contentType: "x" })), "not_post");
      equal(
        await reasonOf(verifier.verify({ ...request, contentType: "x", body: new Uint8Array(2_000_000) })),
        "not_json",
      );
      equal(await reasonOf(verifier.verify({ ...request, body: new Uint8Array(1_048_577) })), "body_too_large");
      equal(await reasonOf(verifier.verify({ ...request, signature: undefined })), "signature_missing");
    },
  },
  {
    id: "signing/the times at their edges",
    source: "http.md 2: exp - iat at most 120 s, 30 s of skew",
    async run() {
      const at = async (offsetMs: number, exp = NOW + 60): Promise<string> =>
        reasonOf(
          received(
            await createVerifier(createMemoryReplayStore({ now: () => NOW_MS }), NOW_MS + offsetMs),
            await forge({}, { exp }),
          ),
        );
      equal(await at(89_999), "accepted");
      equal(await at(90_000), "expired");
      equal(await at(-29_999), "accepted");
      equal(await at(-30_000), "not_yet_valid");
      equal(await at(0, NOW + 120), "accepted");
      equal(await at(0, NOW + 121), "lifetime_too_long");
      equal(await at(0, NOW), "time_malformed");
    },
  },
];

const replays: readonly Case[] = [
  {
    id: "signing/a request counts once, and the store keeps it as long as it is valid",
    source: "http.md 2: kept until exp + skew",
    async run() {
      const inserted: [string, number][] = [];
      const memory = createMemoryReplayStore({ now: () => NOW_MS });
      const verifier = await createVerifier({
        insert: (key, expiresAtMs) => {
          inserted.push([key, expiresAtMs]);
          return memory.insert(key, expiresAtMs);
        },
      });
      const token = await forge({}, { jti: "0123456789abcdef" });
      equal(await reasonOf(received(verifier, token)), "accepted");
      equal(await reasonOf(received(verifier, token)), "replayed");
      equal(inserted[0], [`${GATEWAY}|0123456789abcdef`, (NOW + 90) * 1000]);
    },
  },
  {
    id: "signing/of many deliveries at once one counts",
    source: "http.md 2: an atomic insert",
    async run() {
      const verifier = await createVerifier();
      const token = await forge();
      const results = await Promise.all(Array.from({ length: 20 }, () => reasonOf(received(verifier, token))));
      equal(results.filter((reason) => reason === "accepted").length, 1);
      equal(results.filter((reason) => reason === "replayed").length, 19);
    },
  },
  {
    id: "signing/a replay store whose clock is ahead refuses, since it would remember nothing",
    source: "http.md 2: kept until exp + skew",
    async run() {
      const verifier = await createVerifier(createMemoryReplayStore({ now: () => NOW_MS + 90_000 }));
      equal(await reasonOf(received(verifier, await forge())), "replay_store_unavailable");
    },
  },
  {
    id: "signing/what is refused never reaches the replay store",
    source: "http.md 2: last",
    async run() {
      const verifier = await createVerifier({
        insert: () => {
          throw new Error("the store was asked");
        },
      });
      for (const [reason, header, claims] of PAIRS) {
        equal(await reasonOf(received(verifier, await forge(header, claims))), reason);
      }
    },
  },
  {
    id: "signing/a replay store that fails refuses",
    source: "design.md: no path swallows an error",
    async run() {
      const cause = new Error("down");
      for (const insert of [
        () => Promise.reject(cause),
        (): never => {
          throw cause;
        },
      ]) {
        const error: unknown = await received(await createVerifier({ insert }), await forge()).catch(
          (thrown: unknown) => thrown,
        );
        ok(isVerificationError(error) && error.reason === "replay_store_unavailable", "the reason");
        equal([error.cause, toHttpStatus(error.code)], [cause, 503]);
      }
    },
  },
];

const confusion: readonly Case[] = [
  {
    id: "signing/with one secret a request is no reply and a reply is no request",
    source: "http.md 2: typ",
    async run() {
      const side = await createSide("HS256");
      const pair = createPair(side, side);
      const sent = await pair.requestSigner.sign({ method: "hook.before_tool", body: BODY });
      const reflected = pair.replyVerifier.verify({ signature: sent.token, status: 200, body: BODY, request: sent });
      equal(await reasonOf(reflected), "typ_mismatch");
      const request = await received(pair.requestVerifier, sent.token);
      const reply = await pair.replySigner.sign({ request, status: 200, body: REPLY });
      equal(await reasonOf(received(pair.requestVerifier, reply, REPLY)), "typ_mismatch");
    },
  },
  {
    id: "signing/a reply answers the one attempt that is held",
    source: "http.md 2: rid, rqh",
    async run() {
      const side = await createSide("HS256");
      const pair = createPair(side, side);
      const first = await pair.requestSigner.sign({ method: "m", body: BODY });
      const second = await pair.requestSigner.sign({ method: "m", body: BODY });
      const request = await received(pair.requestVerifier, first.token);
      const signature = await pair.replySigner.sign({ request, status: 200, body: REPLY });
      const reply = { signature, status: 200, body: REPLY };
      equal(await reasonOf(pair.replyVerifier.verify({ ...reply, request: second })), "rid_mismatch");
      const spliced = { ...second, jti: first.jti };
      equal(await reasonOf(pair.replyVerifier.verify({ ...reply, request: spliced })), "rqh_mismatch");
      equal(await reasonOf(pair.replyVerifier.verify({ ...reply, status: 201, request: first })), "sts_mismatch");
      equal(await reasonOf(pair.replyVerifier.verify({ ...reply, body: BODY, request: first })), "bh_mismatch");
      equal(await reasonOf(pair.replyVerifier.verify({ ...reply, request: first })), "accepted");
    },
  },
  {
    id: "signing/the body's method is the one that was signed",
    source: "http.md 2: its method must equal mtd",
    async run() {
      const one = await received(await createVerifier(), await forge());
      const batch = await received(await createVerifier(), await forge({}, { mtd: "batch" }));
      equal(
        thrownBy(() => verifyMethod(one, { method: "hook.before_tool" })),
        "nothing",
      );
      equal(
        thrownBy(() => verifyMethod(batch, [{ method: "hook.event" }])),
        "nothing",
      );
      const wrong: readonly unknown[] = [
        { method: "hook.event" },
        {},
        [],
        null,
        "hook.before_tool",
        { method: ["hook.before_tool"] },
      ];
      for (const message of wrong)
        equal(
          thrownBy(() => verifyMethod(one, message)),
          "ERR_UNAUTHORIZED",
        );
      for (const message of [{ method: "hook.event" }, {}, null, "batch"]) {
        equal(
          thrownBy(() => verifyMethod(batch, message)),
          "ERR_UNAUTHORIZED",
        );
      }
      // Named like the marker of a batch, and still one request: nothing it could reach, but it is said here.
      equal(
        thrownBy(() => verifyMethod(batch, { method: "batch" })),
        "ERR_UNAUTHORIZED",
      );
    },
  },
];

const errors: readonly Case[] = [
  {
    id: "signing/an error tells its code and kid and nothing else of the message",
    source: "http.md 2: nothing of a failed token is logged but its code and kid",
    async run() {
      const verifier = await createVerifier();
      const token = await forge({}, { iss: "sensitive-issuer", secret: "sensitive-claim" });
      const error: unknown = await received(verifier, token).catch((thrown: unknown) => thrown);
      ok(isVerificationError(error) && isHookgateError(error), "the class");
      equal(error.kid, (await createSide("HS256")).key.kid);
      const told = JSON.stringify([error.message, error.cause, Object.entries(error)]);
      ok(!told.includes("sensitive") && !told.includes(token.slice(0, 20)), told);
      const evil: unknown = await received(verifier, await forge({ kid: "a\nb" })).catch((thrown: unknown) => thrown);
      ok(isVerificationError(evil) && evil.kid === undefined, "a kid that is not safe to log");
    },
  },
  {
    id: "signing/every reason has a code, a status and a no-verdict kind",
    source: "errors.ts: one table",
    async run() {
      equal(new Set(verificationReasons).size, verificationReasons.length);
      for (const reason of verificationReasons) {
        const error = new VerificationError(reason);
        ok(error.message.length > 0 && toRpcCode(error.code) < 0, reason);
        ok([400, 401, 413, 415, 503].includes(toHttpStatus(error.code)), reason);
        ok(toNoVerdictKind(reason).length > 0, reason);
      }
      equal(toNoVerdictKind("signature_missing"), "unsigned_reply");
      equal(toNoVerdictKind("rqh_mismatch"), "replayed_reply");
      equal(toNoVerdictKind("signature_invalid"), "bad_signature");
      equal(isVerificationError(new Error("no")), false);
    },
  },
];

/** The rules of verification. */
export const signingRulesCases: readonly Case[] = [...order, ...replays, ...confusion, ...errors];
