import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { createRequestSigner } from "../../src/signing/request.ts";
import { type Case, equal, ok } from "./case.ts";
import {
  ask,
  createEndpoint,
  type Message,
  now,
  refusalOf,
  replies,
  toBytes,
  toCall,
  toRequest,
  toSigned,
} from "./endpoint-setting.ts";
import { endpointVectorCases } from "./endpoint-vectors.cases.ts";
import { createSide, ENDPOINT_URL, GATEWAY, NOW_MS, reasonOf } from "./signing-setting.ts";

const HTTP_1 = "http.md 1: A hook call over HTTP";
const HTTP_2 = "http.md 2: Signatures";

function endpointCase(id: string, source: string, run: () => Promise<void>): Case {
  return { id: `endpoint/${id}`, source, run };
}

/** How a call ended: its result, or the code and the text of its error. */
async function resultOf(body: string, options = {}): Promise<unknown> {
  const { message } = await ask(createEndpoint(options).endpoint, { body });
  return message?.error === undefined ? message?.result : [message.error.code, message.error.message];
}

function statusOf(body: string | Uint8Array, mtd: string): Promise<readonly unknown[]> {
  return ask(createEndpoint().endpoint, { body, mtd }).then(({ status, message }) => [
    status,
    message?.id,
    message?.error?.code,
  ]);
}

const breakOff = (): Promise<never> => Promise.reject(new Error("ECONNRESET"));

/** Calls: what a gateway asks and is told, each reply verified. */
const callCases: readonly Case[] = [
  endpointCase("hello says who it is and what it serves", HTTP_1, async () => {
    equal(await resultOf(toCall("hook.hello", { name: "gate", version: 1, modes: ["tool"], transport: "http" })), {
      ok: true,
      name: "risk-desk",
      points: ["before_tool", "approve_tool"],
      version: 1,
      dialect: "picoclaw",
    });
  }),
  endpointCase("hello says what may be sent twice", HTTP_1, async () => {
    const result = (await resultOf(toCall("hook.hello"), { idempotent: ["before_tool"] })) as { idempotent?: unknown };
    equal(result.idempotent, ["before_tool"]);
  }),
  endpointCase("a call runs its handler, and what is not ASCII survives the signature", HTTP_1, async () => {
    const result = await resultOf(toCall("hook.before_tool", { tool: "shell" }));
    equal(result, { action: "deny_tool", reason: "no shell — ⛔" });
    equal(await resultOf(toCall("hook.before_tool", { tool: "search" })), {});
    equal(await resultOf(toCall("hook.approve_tool", { tool: "read_file" })), { approved: true });
    equal(await resultOf(toCall("hook.approve_tool", { tool: "shell" })), { approved: false });
  }),
  endpointCase("the id is echoed, text or number", HTTP_1, async () => {
    const { endpoint } = createEndpoint();
    for (const id of ["019ab697-e800-7000-8000-000000000001", 7, 'a"b', "é"]) {
      const { message } = await ask(endpoint, { body: toCall("hook.approve_tool", { tool: "x" }, id) });
      equal([message?.jsonrpc, message?.id], ["2.0", id]);
    }
  }),
  endpointCase("the hook's own errors are -32000 with its own message, signed", "issue 3, item 3", async () => {
    const { endpoint, lines } = createEndpoint();
    const { status, message } = await ask(endpoint, { body: toCall("hook.before_tool", { tool: "throws" }) });
    equal([status, message?.error], [200, { code: -32_000, message: "the risk desk is closed" }]);
    equal(lines[0]?.fields?.["error"], "the risk desk is closed");
    const [code] = (await resultOf(toCall("hook.before_tool", { tool: "cycle" }))) as [number];
    equal(code, -32_000);
  }),
  endpointCase("what the protocol has a code for keeps it, signed", "JSON-RPC 2.0, section 5.1", async () => {
    const codes = [
      [toCall("hook.before_llm", { model: "m", messages: [] }), -32_601],
      [toCall("hook.nothing"), -32_601],
      [toCall("hook.before_tool", { tool: 7 }), -32_602],
      [toCall("hook.before_tool", []), -32_602],
    ] as const;
    for (const [body, code] of codes) equal(((await resultOf(body)) as [number])[0], code);
  }),
  endpointCase("what is no call is refused, signed", "JSON-RPC 2.0, section 4", async () => {
    const bad: readonly (readonly [string, string, number])[] = [
      ['{"jsonrpc":"1.0","method":"hook.hello","id":"1"}', "hook.hello", -32_600],
      ['{"jsonrpc":"2.0","method":"hook.hello","id":null}', "hook.hello", -32_600],
      ['{"jsonrpc":"2.0","method":"hook.hello","id":{}}', "hook.hello", -32_600],
      ['{"jsonrpc":"2.0","method":"hook.before_tool","params":{"tool":"x"}}', "hook.before_tool", -32_600],
      ['{"jsonrpc":"2.0",', "hook.hello", -32_700],
      ["\ufeff{}", "hook.hello", -32_700],
      ["", "hook.hello", -32_700],
    ];
    for (const [body, mtd, code] of bad) equal(await statusOf(body, mtd), [400, null, code]);
    equal(await statusOf(Uint8Array.from([0x22, 0xff, 0x22]), "hook.hello"), [400, null, -32_700]);
  }),
  endpointCase("nesting of 10,000 levels is refused, signed", "http.md 2", async () => {
    const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
    const body = `{"jsonrpc":"2.0","id":"1","method":"hook.before_tool","params":{"tool":"x","arguments":{"a":${deep}}}}`;
    const [, , code] = await statusOf(body, "hook.before_tool");
    // An engine may refuse to parse it at all.
    ok(code === -32_602 || code === -32_700, `got ${String(code)}`);
  }),
];

/** Whom it answers at all. */
const refusalCases: readonly Case[] = [
  endpointCase("POST, JSON and size come first, then the signature", HTTP_2, async () => {
    const { endpoint } = createEndpoint();
    const url = ENDPOINT_URL;
    const big = new Uint8Array(10_000_000);
    equal(await refusalOf(endpoint, new Request(url)), "405 not_post");
    equal(await refusalOf(endpoint, new Request(url, { method: "PUT", body: "{}" })), "405 not_post");
    equal(await refusalOf(endpoint, toRequest(big, { "content-type": "text/plain" })), "415 not_json");
    equal(await refusalOf(endpoint, toRequest("{}", { "content-type": "application/jsonp" })), "415 not_json");
    equal(await refusalOf(endpoint, toRequest(big)), "413 body_too_large");
    equal(await refusalOf(endpoint, toRequest("{}")), "401 signature_missing");
  }),
  endpointCase("a body is not read beyond its limit", "http.md 2: size", async () => {
    let pulled = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: stream,
      duplex: "half",
    } as const;
    equal(await refusalOf(createEndpoint().endpoint, new Request(ENDPOINT_URL, init)), "413 body_too_large");
    ok(pulled < 30, `${pulled} pieces were read`);
  }),
  endpointCase("a body that ends early is refused", "http.md 2", async () => {
    const request = toRequest("{}");
    const response = await createEndpoint().endpoint.answer(request, { readBody: breakOff });
    const { error } = (await response.json()) as Message;
    equal([response.status, error?.message], [400, "the body ended early"]);
  }),
  endpointCase("another body, key, audience, issuer or time is 401 with its code", HTTP_2, async () => {
    const { endpoint } = createEndpoint();
    const body = toCall("hook.approve_tool", { tool: "read_file" });
    const other = toCall("hook.approve_tool", { tool: "shell" });
    const { key } = await createSide("HS256");
    const { key: foreign } = await createSide("ES256");
    const setting = { key, issuer: GATEWAY, audience: ENDPOINT_URL, now };
    const signedBy = async (changes: object): Promise<Request> => {
      const { token } = await createRequestSigner({ ...setting, ...changes }).sign({
        body: toBytes(body),
        method: "hook.approve_tool",
      });
      return toRequest(body, { "hook-signature": token });
    };
    const { signed } = await toSigned({ body });
    equal(await refusalOf(endpoint, toRequest(other, { "hook-signature": signed.token })), "401 bh_mismatch");
    equal(await refusalOf(endpoint, await signedBy({ key: foreign })), "401 alg_not_allowed");
    equal(await refusalOf(endpoint, await signedBy({ audience: `${ENDPOINT_URL}/` })), "401 aud_mismatch");
    equal(await refusalOf(endpoint, await signedBy({ issuer: "https://other" })), "401 iss_mismatch");
    equal(await refusalOf(endpoint, await signedBy({ now: () => NOW_MS - 91_000 })), "401 expired");
    equal(await refusalOf(endpoint, await signedBy({ now: () => NOW_MS + 31_000 })), "401 not_yet_valid");
  }),
  endpointCase("two signature headers are refused, also where both are good", HTTP_2, async () => {
    const { request, signed } = await toSigned({ body: toCall("hook.hello") });
    request.headers.append("hook-signature", signed.token);
    equal(await refusalOf(createEndpoint().endpoint, request), "401 signature_duplicated");
  }),
  endpointCase("a request counts once", "http.md 2: last an atomic insert", async () => {
    const { endpoint } = createEndpoint();
    const body = toCall("hook.approve_tool", { tool: "read_file" });
    const { request, signed } = await toSigned({ body });
    equal((await endpoint.fetch(request)).status, 200);
    equal(await refusalOf(endpoint, toRequest(body, { "hook-signature": signed.token })), "401 replayed");
  }),
  endpointCase("endpoints that share a replay store count a request once between them", "http.md 2", async () => {
    const replay = createMemoryReplayStore({ now });
    const body = toCall("hook.hello");
    const { request, signed } = await toSigned({ body });
    equal((await createEndpoint({ replay }).endpoint.fetch(request)).status, 200);
    const again = toRequest(body, { "hook-signature": signed.token });
    equal(await refusalOf(createEndpoint({ replay }).endpoint, again), "401 replayed");
  }),
  endpointCase("a replay store that fails answers nobody, and says nothing of why", "http.md 2", async () => {
    const replay = { insert: (): Promise<boolean> => Promise.reject(new Error("redis://:secret@host is down")) };
    const { endpoint } = createEndpoint({ replay });
    const { request } = await toSigned({ body: toCall("hook.hello") });
    equal(await refusalOf(endpoint, request), "503 replay_store_unavailable");
  }),
  endpointCase(
    "the body's method must be the one that was signed",
    "http.md 2: its method must equal mtd",
    async () => {
      let calls = 0;
      const { endpoint } = createEndpoint({}, { approveTool: () => ({ approved: (calls += 1) > 0 }) });
      const call = toCall("hook.approve_tool", { tool: "x" });
      for (const [body, mtd] of [
        [call, "hook.before_tool"],
        [call, "batch"],
        [`[${call}]`, "hook.approve_tool"],
        [toCall("batch"), "batch"],
        ["7", "hook.approve_tool"],
      ] as const) {
        equal(await refusalOf(endpoint, (await toSigned({ body, mtd })).request), "401 mtd_mismatch");
      }
      equal(calls, 0);
    },
  ),
  endpointCase(
    "of a refused request only the code and the kid are logged",
    "http.md 2: Nothing of a failed token",
    async () => {
      const { endpoint, lines } = createEndpoint();
      const { signed } = await toSigned({ body: toCall("hook.hello") });
      await endpoint.fetch(toRequest("{}", { "hook-signature": signed.token }));
      const kid = (await createSide("HS256")).key.kid;
      equal(lines, [{ message: "a request was refused", fields: { reason: "bh_mismatch", kid } }]);
    },
  ),
  endpointCase("a reply is only good for its own request", "http.md 2: rid, rqh", async () => {
    const { endpoint } = createEndpoint();
    const first = await toSigned({ body: toCall("hook.hello") });
    const response = await endpoint.fetch(first.request);
    const body = new Uint8Array(await response.arrayBuffer());
    const { signed } = await toSigned({ body: toCall("hook.hello") });
    const signature = response.headers.get("hook-signature");
    equal(await reasonOf(replies.verify({ signature, status: 200, body, request: signed })), "rid_mismatch");
    equal(await reasonOf(replies.verify({ signature, status: 201, body, request: first.signed })), "sts_mismatch");
  }),
  endpointCase("a web page may not ask an endpoint without keys", "http.md 3: DNS rebinding", async () => {
    const { endpoint } = createEndpoint({ secret: undefined, unsigned: true });
    const body = toCall("hook.approve_tool", { tool: "read_file" });
    const response = await endpoint.fetch(toRequest(body));
    equal([response.status, response.headers.has("hook-signature")], [200, false]);
    const status = await refusalOf(endpoint, toRequest(body, { origin: "http://10.0.0.7:3000" }));
    equal(status, "403 requests from web pages are refused");
  }),
];

/** What an endpoint promises on the wire. */
export const endpointCases: readonly Case[] = [...callCases, ...refusalCases, ...endpointVectorCases];
