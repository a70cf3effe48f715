import { createGatewayClient, type GatewayClientSigning, type GatewayFetch } from "../../src/client/index.ts";
import type { Gateway } from "../../src/gateway/index.ts";
import { createObjectLog, type LogFields } from "../../src/log.ts";
import type { Hook } from "../../src/picoclaw/index.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createSecretKey, createSigningKey, type SigningKey } from "../../src/signing/keys.ts";
import { createRequestSigner, type RequestSignerOptions } from "../../src/signing/request.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, toolCall } from "./fixture.ts";
import { CALL, callText, post, requestOf } from "./gateway-fixture.ts";
import { AUDIENCE, configuredGateway, HOST, NOW_MS, SECRET, summary } from "./host-auth-setting.ts";

const encoder = new TextEncoder();
const OTHER = "another secret of more than 32 bytes, for tests";

function signatureAuth(changes: object = { secret: SECRET }): Readonly<Record<string, unknown>> {
  return { auth: { signatures: [{ name: "the bot", issuer: HOST, audience: AUDIENCE, ...changes }] } };
}

/** What a request is signed with, where that is not what is good. */
interface Signed extends Partial<Pick<RequestSignerOptions, "issuer" | "audience" | "now">> {
  readonly key?: SigningKey;
  readonly method?: string;
  /** What is signed, where it is not what is sent. */
  readonly signedBody?: string;
}

async function sign(body: string, signed: Signed = {}): Promise<string> {
  const { key = await createSecretKey(SECRET), method = "hook.before_tool", signedBody = body, ...options } = signed;
  const parties = { issuer: HOST, audience: AUDIENCE, now: () => NOW_MS, ...options };
  const signer = createRequestSigner({ key, ...parties });
  return (await signer.sign({ method, body: encoder.encode(signedBody) })).token;
}

async function answerTo(gateway: Gateway, signed: Signed = {}, body = CALL): Promise<string> {
  return summary(await post(gateway, body, { "hook-signature": await sign(body, signed) }));
}

/** A client of this gateway, without a network between. */
function clientOf(gateway: Gateway, signing: Partial<GatewayClientSigning>, change?: (answer: Response) => Response) {
  const fetch: GatewayFetch = async (url, { headers, body }) => {
    const response = await gateway.fetch(new Request(url, { method: "POST", headers, body: body ?? null }));
    return change === undefined ? response : change(response);
  };
  const good = { issuer: HOST, now: () => NOW_MS, ...signing };
  return createGatewayClient({ url: AUDIENCE, fetch, signing: good });
}

function unsigned(answer: Response): Response {
  answer.headers.delete("hook-signature");
  return answer;
}

function changed(answer: Response): Response {
  return new Response(APPROVED, answer);
}

const approving: Hook = { approveTool: () => ({ approved: true }) };

/** Hosts that sign their requests. */
export const hostSignatureCases: readonly Case[] = casesOf(
  { topic: "host-signature", source: "The gateway's interface, section 3, Auth of hosts" },
  {
    "a-good-one-may-call": async () => {
      equal(await answerTo(await configuredGateway(signatureAuth())), "continue");
      for (const alg of ["ES256", "EdDSA"] as const) {
        const jwk = await createPrivateJwk(alg);
        const gateway = await configuredGateway(signatureAuth({ key: toPublicJwk(jwk) }));
        equal(await answerTo(gateway, { key: await createSigningKey(jwk) }), "continue");
      }
    },
    "anything-else-may-not": async () => {
      const gateway = await configuredGateway(signatureAuth());
      const bad: Readonly<Record<string, Signed>> = {
        kid_unknown: { key: await createSecretKey(OTHER) },
        alg_not_allowed: { key: await createSigningKey(await createPrivateJwk()) },
        aud_mismatch: { audience: "https://gate.test/" },
        expired: { now: () => NOW_MS - 90_000 },
        not_yet_valid: { now: () => NOW_MS + 30_000 },
        bh_mismatch: { signedBody: callText("hook.before_tool", { tool: "other" }) },
        mtd_mismatch: { method: "hook.approve_tool" },
      };
      for (const [reason, signed] of Object.entries(bad)) equal(await answerTo(gateway, signed), `401 ${reason}`);
      equal(await answerTo(gateway, { issuer: "stranger" }), "401 the credentials are not known here");
      const token = await sign(CALL);
      equal(summary(await post(gateway, CALL, { "hook-signature": `${token}, ${token}` })), "401 signature_duplicated");
      equal(summary(await post(gateway, CALL)), "401 a bearer token is required");
    },
    "each-refusal-says-why-and-the-log-has-the-key": async () => {
      const lines: LogFields[] = [];
      const log = createObjectLog((_, line) => lines.push(line));
      const gateway = await configuredGateway(signatureAuth(), { log });
      const messages = { aud_mismatch: "aud is not this party", mtd_mismatch: "mtd is not the method of the body" };
      const bad = { aud_mismatch: { audience: "https://gate.test/" }, mtd_mismatch: { method: "hook.approve_tool" } };
      const { kid } = await createSecretKey(SECRET);
      for (const reason of ["aud_mismatch", "mtd_mismatch"] as const) {
        const { json } = await post(gateway, CALL, { "hook-signature": await sign(CALL, bad[reason]) });
        equal((json as { readonly error: unknown }).error, {
          code: -32001,
          message: messages[reason],
          data: { reason },
        });
        equal(
          lines.filter((line) => line["reason"] === reason).map((line) => line["kid"]),
          [kid],
        );
      }
    },
    "a-secret-is-no-key-and-a-key-no-secret": async () => {
      const jwk = toPublicJwk(await createPrivateJwk());
      const gateway = await configuredGateway(signatureAuth({ key: jwk }));
      equal(await answerTo(gateway, { key: await createSecretKey(JSON.stringify(jwk)) }), "401 alg_not_allowed");
    },
    "a-replayed-one-counts-once": async () => {
      const gateway = await configuredGateway(signatureAuth());
      const headers = { "hook-signature": await sign(CALL) };
      equal(summary(await post(gateway, CALL, headers)), "continue");
      equal(summary(await post(gateway, CALL, headers)), "401 replayed");
    },
    "a-replay-store-that-fails-lets-nobody-in": async () => {
      const replay = { insert: () => Promise.reject(new Error("down")) };
      equal(await answerTo(await configuredGateway(signatureAuth(), { replay })), "503 replay_store_unavailable");
    },
    "scopes-say-what-it-may-do": async () => {
      const gateway = await configuredGateway(signatureAuth({ secret: SECRET, scopes: ["observe"] }));
      const { json } = await post(gateway, CALL, { "hook-signature": await sign(CALL) });
      ok(JSON.stringify(json).includes("needs a token with scope call"), JSON.stringify(json));
    },
    "a-batch-is-signed-as-one": async () => {
      const gateway = await configuredGateway(signatureAuth());
      const body = `[${CALL}]`;
      const { status, json } = await post(gateway, body, { "hook-signature": await sign(body, { method: "batch" }) });
      equal([status, Array.isArray(json)], [200, true]);
      equal(await answerTo(gateway, { method: "hook.before_tool" }, body), "401 mtd_mismatch");
    },
    "it-opens-no-page": async () => {
      const gateway = await configuredGateway(signatureAuth({ secret: SECRET, scopes: ["admin"] }));
      const headers = { "hook-signature": await sign(""), "content-type": "application/json" };
      const { status } = await gateway.fetch(requestOf({ method: "GET", path: "/v1/hooks", headers }));
      equal(status, 400);
    },
    "two-secrets-while-rotating": async () => {
      const gateway = await configuredGateway(signatureAuth({ secret: [OTHER, SECRET] }));
      equal(await answerTo(gateway), "continue");
      equal(await answerTo(gateway, { key: await createSecretKey(OTHER) }), "continue");
      // Each is answered under the secret that it has.
      for (const secret of [SECRET, OTHER]) {
        const client = clientOf(gateway, { secret, gateway: "hookgate" });
        equal((await client.beforeTool(toolCall())).trace.records, []);
      }
    },
    "the-client-signs-and-verifies": async () => {
      const jwk = await createPrivateJwk();
      const own = await createPrivateJwk("EdDSA");
      const gateway = await configuredGateway(
        { id: "gate", signing_key: own, ...signatureAuth({ key: toPublicJwk(jwk) }) },
        { hooks: { approving } },
      );
      const client = clientOf(gateway, { key: jwk, gateway: "gate", gatewayKey: toPublicJwk(own) });
      equal((await client.approveTool(toolCall())).approved, true);
      client.emit({ Kind: "turn_start" });
      await client.flush(1000);
      const unverified = clientOf(gateway, { key: JSON.stringify(jwk) });
      equal((await unverified.approveTool(toolCall())).approved, true);
    },
    "the-client-takes-no-answer-of-somebody-else": async () => {
      const gateway = await configuredGateway(signatureAuth(), { hooks: { approving } });
      const good = { secret: SECRET, gateway: "hookgate" };
      equal((await clientOf(gateway, good).approveTool(toolCall())).approved, true);
      for (const [kind, signing, change] of [
        ["bad_signature", { ...good, gateway: "other" }, undefined],
        ["unsigned_reply", good, unsigned],
        ["bad_signature", good, changed],
      ] as const) {
        const { approved, trace } = await clientOf(gateway, signing, change).approveTool(toolCall());
        equal([approved, trace.records.map((record) => record.kind)], [false, [kind]]);
      }
    },
    "the-client-is-told-that-it-may-not": async () => {
      const gateway = await configuredGateway(signatureAuth());
      await rejects(clientOf(gateway, { secret: OTHER }).beforeTool(toolCall()), "ERR_UNAUTHORIZED");
    },
    "the-client-refuses-what-cannot-work": async () => {
      const gateway = await configuredGateway({});
      for (const [signing, name] of [
        [{}, "TypeError"],
        [{ secret: SECRET, key: "{}" }, "TypeError"],
        [{ secret: "short" }, "RangeError"],
        [{ key: "{}" }, "ERR_CONFIG"],
        [{ secret: SECRET, issuer: "" }, "TypeError"],
        [{ secret: SECRET, gatewayKey: "{}" }, "TypeError"],
        [{ key: await createPrivateJwk(), gateway: "hookgate" }, "TypeError"],
      ] as const) {
        await rejects(
          Promise.resolve().then(() => clientOf(gateway, signing)),
          name,
        );
      }
    },
  },
);

const APPROVED = '{"jsonrpc":"2.0","id":1,"result":{"approved":true,"trace":{"id":"1","records":[]}}}';

/** The gateway's own keys. */
export const gatewayKeyCases: readonly Case[] = casesOf(
  { topic: "gateway-keys", source: "Signatures, section 2, Keys" },
  {
    "the-public-half-is-published": async () => {
      const [one, two] = [await createPrivateJwk(), await createPrivateJwk("EdDSA")];
      const gateway = await configuredGateway({ signing_key: { keys: [one, two] } });
      const response = await gateway.fetch(requestOf({ method: "GET", path: "/.well-known/jwks.json" }));
      const { keys } = (await response.json()) as { readonly keys: readonly Readonly<Record<string, unknown>>[] };
      equal([response.status, response.headers.get("cache-control")], [200, "public, max-age=300"]);
      equal(
        keys.map(({ x, d, use }) => [x, d, use]),
        [
          [one.x, undefined, "sig"],
          [two.x, undefined, "sig"],
        ],
      );
    },
    "without-one-there-is-no-such-path": async () => {
      const gateway = await configuredGateway({});
      equal((await gateway.fetch(requestOf({ method: "GET", path: "/.well-known/jwks.json" }))).status, 404);
    },
  },
);

/** How long a caller waits. */
export const callerTimeoutCases: readonly Case[] = casesOf(
  { topic: "caller-timeout", source: "A hook call over HTTP, section 1" },
  {
    "a-gateway-answers-a-little-before-its-caller-gives-up": async () => {
      const seen: number[] = [];
      const hook: Hook = {
        beforeTool(_, { remainingMs }) {
          seen.push(remainingMs);
        },
      };
      const gateway = await configuredGateway({}, { hooks: { hook }, now: () => 0 });
      for (const timeout of ["2000", "100", "99999999999", "-1", "x"]) {
        await post(gateway, CALL, { "hook-timeout-ms": timeout });
      }
      ok(seen[0] !== undefined && seen[0] > 1800 && seen[0] <= 1900, `of 2000 there were ${seen[0]}`);
      ok(seen[1] !== undefined && seen[1] > 50 && seen[1] <= 90, `of 100 there were ${seen[1]}`);
      for (const remaining of seen.slice(2)) ok(remaining > 4900, `of the default there were ${remaining}`);
    },
  },
);
