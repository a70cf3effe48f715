import type { HookEndpointOptions } from "../../src/endpoint/options.ts";
import { createHookEndpoint } from "../../src/endpoint/hook-endpoint.ts";
import { defineHook } from "../../src/picoclaw/hook.ts";
import { createPrivateJwk, type Jwks, parseJwks, toPublicJwk } from "../../src/signing/jwk.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey } from "../../src/signing/keys.ts";
import { createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner } from "../../src/signing/request.ts";
import { createWebhookSigner, createWebhookVerifier, parseWebhookSecret } from "../../src/signing/standard-webhooks.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { ask, createEndpoint, hook, now, refusalOf, toBytes, toCall, toRequest, toSigned } from "./endpoint-setting.ts";
import { ENDPOINT, ENDPOINT_URL, GATEWAY, SECRET, thrownBy } from "./signing-setting.ts";

const NEXT = "the next shared secret of more than 32 bytes, for tests";

function endpointCase(id: string, source: string, run: () => Promise<void>): Case {
  return { id: `endpoint/${id}`, source, run };
}

function toEvent(Kind: string): object {
  return { jsonrpc: "2.0", method: "hook.event", params: { Kind } };
}

function repeat(value: unknown, length: number): readonly unknown[] {
  return Array.from({ length }, () => value);
}

/** Deadlines, aborts and events. */
const lifeCases: readonly Case[] = [
  endpointCase("the handler's signal aborts at the deadline that the header says", "issue 3, item 3", async () => {
    let reason: unknown;
    const waits = defineHook({
      approveTool: (_request, { signal }) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(new Error("gave up"));
          });
        }),
    });
    const { endpoint } = createEndpoint({}, waits);
    const headers = { "hook-timeout-ms": "5" };
    const { message } = await ask(endpoint, { body: toCall("hook.approve_tool", { tool: "x" }), headers });
    equal([message?.error?.code, message?.error?.message], [-32_000, "the deadline has passed"]);
    ok(reason instanceof Error && "kind" in reason && reason.kind === "timeout", "the signal does not say why");
  }),
  endpointCase(
    "a handler that does not heed its signal is answered for",
    "design.md: settled by its timer",
    async () => {
      const { endpoint } = createEndpoint({}, { beforeTool: () => new Promise<never>(() => {}) });
      const headers = { "hook-timeout-ms": "1" };
      const { message } = await ask(endpoint, { body: toCall("hook.before_tool", { tool: "x" }), headers });
      equal(message?.error?.message, "the deadline has passed");
    },
  ),
  endpointCase("a handler sees what is left, and a header that is no number changes nothing", "http.md 1", async () => {
    const seen: number[] = [];
    const { endpoint } = createEndpoint(
      {},
      { approveTool: (_request, { remainingMs }) => void seen.push(Math.round(remainingMs / 10_000)) },
    );
    const body = toCall("hook.approve_tool", { tool: "x" });
    for (const value of ["20000", "0", "-5", "abc", "1e9", "99999999999999", "9".repeat(40)]) {
      await ask(endpoint, { body, headers: { "hook-timeout-ms": value } });
    }
    equal(seen, [2, 6, 6, 6, 6, 214_748, 6]);
  }),
  endpointCase("a caller that leaves aborts the handler", "issue 3, item 3", async () => {
    const caller = new AbortController();
    let isAborted = false;
    const { endpoint } = createEndpoint(
      {},
      {
        beforeTool: (_call, { signal }) =>
          new Promise<undefined>((resolve) => {
            signal.addEventListener("abort", () => {
              isAborted = true;
              resolve(undefined);
            });
            caller.abort();
          }),
      },
    );
    const { request } = await toSigned({ body: toCall("hook.before_tool", { tool: "x" }) });
    // A server sets the signal of a request; what a request made by hand does with its own differs from one to another.
    Object.defineProperty(request, "signal", { value: caller.signal });
    await endpoint.fetch(request);
    ok(isAborted, "the handler was not told");
  }),
  endpointCase("a batch of events is told in order and answered 202, signed", "http.md 1: Events", async () => {
    const kinds: string[] = [];
    const { endpoint, lines } = createEndpoint(
      {},
      {
        onEvent({ Kind }) {
          kinds.push(Kind);
          if (Kind === "turn_end") throw new Error("disk full");
        },
      },
    );
    const body = JSON.stringify(["turn_start", "turn_end", "agent.llm.request"].map(toEvent));
    const { status, message } = await ask(endpoint, { body, mtd: "batch" });
    equal([status, message, kinds], [202, undefined, ["turn_start", "turn_end", "llm_request"]]);
    equal(lines, [{ message: "an event was not handled", fields: { error: "disk full" } }]);
    const single = await ask(endpoint, { body: JSON.stringify(toEvent("turn_start")), mtd: "hook.event" });
    equal([single.status, kinds.length], [202, 4]);
    const later = { jsonrpc: "2.0", method: "hook.runtime_event", params: { kind: "agent.tool.exec_end" } };
    const mixed = JSON.stringify([later, toEvent("turn_start")]);
    equal((await ask(endpoint, { body: mixed, mtd: "batch" })).status, 202);
    const alone = await ask(endpoint, { body: JSON.stringify(later), mtd: "hook.runtime_event" });
    equal([alone.status, ...kinds.slice(4)], [202, "tool_exec_end", "turn_start", "tool_exec_end"]);
  }),
  endpointCase("a batch is of events only, 1 to 64", "http.md 1: single; batch only for events", async () => {
    const { endpoint } = createEndpoint();
    const event = toEvent("turn_start");
    const call = { ...event, method: "hook.approve_tool", params: { tool: "x" }, id: "1" };
    for (const batch of [[], [call], [event, call], [{ ...event, id: "1" }], [7], repeat(event, 65)]) {
      const { status, message } = await ask(endpoint, { body: JSON.stringify(batch), mtd: "batch" });
      equal([status, message?.error?.code], [400, -32_600]);
    }
    equal((await ask(endpoint, { body: JSON.stringify(repeat(event, 64)), mtd: "batch" })).status, 202);
  }),
  endpointCase("where work may go on after the answer, events do not hold it", "http.md 1: waitUntil", async () => {
    let release: (() => void) | undefined;
    const kinds: string[] = [];
    const { endpoint } = createEndpoint(
      {},
      {
        async onEvent({ Kind }) {
          await new Promise<void>((resolve) => (release = resolve));
          kinds.push(Kind);
        },
      },
    );
    const body = JSON.stringify(toEvent("turn_start"));
    const { request } = await toSigned({ body });
    const works: Promise<void>[] = [];
    const response = await endpoint.answer(request, { waitUntil: (work) => works.push(work) });
    equal([response.status, kinds, works.length], [202, [], 1]);
    release?.();
    await works[0];
    equal(kinds, ["turn_start"]);
  }),
];

function thrown(options: object): string {
  return thrownBy(() => createHookEndpoint(hook, { name: "x", url: ENDPOINT_URL, gateway: GATEWAY, ...options }));
}

/** Keys: what an endpoint can be configured with. */
const keyCases: readonly Case[] = [
  endpointCase("key pairs: the gateway's is trusted, its own signs and is published", "http.md 2: Keys", async () => {
    const [gatewayJwk, ownJwk, nextJwk] = await Promise.all([
      createPrivateJwk("EdDSA"),
      createPrivateJwk("ES256"),
      createPrivateJwk("Ed25519"),
    ]);
    const keys = { gateway: JSON.stringify(toPublicJwk(gatewayJwk)), own: { keys: [ownJwk, nextJwk] } };
    const { endpoint } = createEndpoint({ secret: undefined, keys });
    const signer = createRequestSigner({
      key: await createSigningKey(gatewayJwk),
      issuer: GATEWAY,
      audience: ENDPOINT_URL,
      now,
    });
    const { request, signed } = await toSigned({ body: toCall("hook.approve_tool", { tool: "read_file" }), signer });
    const response = await endpoint.fetch(request);
    const published = await endpoint.fetch(new Request("https://any.example/x/.well-known/jwks.json"));
    const jwks = (await published.json()) as Jwks;
    ok(!JSON.stringify(jwks).includes('"d"'), "a private key is published");
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    const posted = new Request("https://any.example/.well-known/jwks.json", init);
    equal(await refusalOf(endpoint, posted), "401 signature_missing");
    const verified = await createReplyVerifier({
      keys: createKeySet(await Promise.all(parseJwks(jwks).map((jwk) => createVerificationKey(jwk)))),
      issuer: ENDPOINT,
      audience: GATEWAY,
      now,
    }).verify({
      signature: response.headers.get("hook-signature"),
      status: response.status,
      body: new Uint8Array(await response.arrayBuffer()),
      request: signed,
    });
    equal([verified.alg, jwks.keys.length], ["ES256", 2]);
  }),
  endpointCase("a secret is never published", "http.md 2: Keys", async () => {
    const request = new Request("https://any.example/.well-known/jwks.json");
    equal(await refusalOf(createEndpoint().endpoint, request), "405 not_post");
  }),
  endpointCase(
    "while rotating, a reply is signed with the secret of its request",
    "http.md 2: Two keys active",
    async () => {
      const { endpoint } = createEndpoint({ secret: [NEXT, SECRET, undefined] });
      for (const secret of [NEXT, SECRET]) {
        const key = await createSecretKey(secret);
        const signer = createRequestSigner({ key, issuer: GATEWAY, audience: ENDPOINT_URL, now });
        const replies = createReplyVerifier({ keys: createKeySet([key]), issuer: ENDPOINT, audience: GATEWAY, now });
        const { request, signed } = await toSigned({ body: toCall("hook.hello"), signer });
        const response = await endpoint.fetch(request);
        const body = new Uint8Array(await response.arrayBuffer());
        const signature = response.headers.get("hook-signature");
        equal((await replies.verify({ signature, status: 200, body, request: signed })).kid, key.kid);
      }
    },
  ),
  endpointCase(
    "standard-webhooks: verified, answered and counted once",
    "http.md 2: Scheme standard-webhooks",
    async () => {
      const secret = `whsec_${btoa("k".repeat(32))}`;
      const secrets = [parseWebhookSecret(secret)];
      const options: HookEndpointOptions = { name: ENDPOINT, secret, scheme: "standard-webhooks", now };
      const endpoint = createHookEndpoint(hook, options);
      const body = toBytes(toCall("hook.before_tool", { tool: "shell" }));
      const id = "019ab697-e800-7000-8000-000000000001";
      const headers = { ...(await createWebhookSigner({ secrets, now }).sign({ id, body })) };
      const response = await endpoint.fetch(toRequest(body, headers));
      const reply = new Uint8Array(await response.arrayBuffer());
      await createWebhookVerifier({ secrets, now }).verifyReply({
        id: response.headers.get("webhook-id"),
        timestamp: response.headers.get("webhook-timestamp"),
        signature: response.headers.get("webhook-signature"),
        body: reply,
        request: { id, body },
      });
      equal(await refusalOf(endpoint, toRequest(body, headers)), "401 replayed");
      equal(await refusalOf(endpoint, toRequest("{}", headers)), "401 signature_invalid");
      equal(await refusalOf(endpoint, toRequest("{}")), "401 signature_missing");
    },
  ),
  endpointCase("options that do not fit are refused at the start, by name", "design.md, Style, Errors", async () => {
    equal(thrown({ secret: SECRET }), "nothing");
    equal(thrown({}), "TypeError");
    equal(thrown({ secret: undefined }), "TypeError");
    equal(thrown({ secret: [undefined] }), "TypeError");
    equal(thrown({ secret: "short" }), "RangeError");
    equal(thrown({ secret: [SECRET, SECRET, SECRET] }), "RangeError");
    equal(thrown({ secret: SECRET, unsigned: true }), "TypeError");
    equal(thrown({ secret: SECRET, url: undefined }), "TypeError");
    equal(thrown({ secret: SECRET, url: "/hook" }), "TypeError");
    equal(thrown({ secret: SECRET, gateway: undefined }), "TypeError");
    equal(thrown({ secret: SECRET, name: "" }), "TypeError");
    equal(thrown({ secret: SECRET, scheme: "jwt" }), "TypeError");
    equal(thrown({ secret: SECRET, scheme: "standard-webhooks" }), "ERR_CONFIG");
    equal(thrown({ secret: SECRET, maxBodyBytes: 0 }), "RangeError");
    equal(thrown({ keys: { gateway: "{", own: {} } }), "ERR_CONFIG");
    const own = await createPrivateJwk();
    equal(thrown({ keys: { gateway: "{", own } }), "TypeError");
    equal(thrown({ keys: { gateway: { keys: [] }, own } }), "TypeError");
    equal(thrown({ keys: { gateway: own, own } }), "ERR_CONFIG");
    equal(thrown({ keys: { gateway: toPublicJwk(own), own }, secret: SECRET }), "TypeError");
    const off = { ...own, x: own.kty === "EC" ? own.y : own.x };
    const endpoint = createHookEndpoint(hook, {
      name: "x",
      url: ENDPOINT_URL,
      gateway: GATEWAY,
      keys: { gateway: toPublicJwk(own), own: off },
    });
    await rejects(endpoint.ready(), "ERR_CONFIG");
    equal(await refusalOf(endpoint, toRequest("{}")), "500 internal error");
  }),
];

/** How an endpoint lives: deadlines, events, keys. */
export const endpointLifeCases: readonly Case[] = [...lifeCases, ...keyCases];
