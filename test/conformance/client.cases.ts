import {
  createGatewayClient,
  type GatewayClientOptions,
  type GatewayFetch,
  type GatewayRequest,
} from "../../src/client/index.ts";
import { isHookgateError } from "../../src/errors.ts";
import type { HookHost } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, keepingLog, outcomesOf } from "./fixture.ts";
import { gatewayOf, tokenOf } from "./gateway-fixture.ts";

const SOURCE = "The gateway's interface, section 3; Approvals, section 4";
const URL_TEXT = "http://127.0.0.1:8787";
const TOKEN = "s3cret-t0ken";

function clientOf(fetch: GatewayFetch, options: Partial<GatewayClientOptions> = {}): HookHost {
  return createGatewayClient({ url: URL_TEXT, token: TOKEN, fetch, ...options });
}

/** A gateway that answers everything with this. */
function answering(body: string | Uint8Array<ArrayBuffer>, init: ResponseInit = {}): GatewayFetch {
  return () => Promise.resolve(new Response(body, { headers: { "content-type": "application/json" }, ...init }));
}

/** A gateway that answers a call with this result, or with this error. */
function replying(reply: object): GatewayFetch {
  return (_url, { body }) => {
    const { id } = JSON.parse(body ?? "") as { readonly id: unknown };
    return answering(JSON.stringify({ jsonrpc: "2.0", id, ...reply }))(_url, {} as GatewayRequest);
  };
}

const hangs: GatewayFetch = () => new Promise(() => {});

const down: GatewayFetch = () =>
  Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(TOKEN), { code: "ECONNREFUSED" }) }));

const trace = { id: "1", records: [] };

/** What is no answer, and the kind of no-verdict it is. */
const NO_ANSWERS: Readonly<Record<string, readonly [kind: string, fetch: GatewayFetch]>> = {
  "a gateway that is down": ["unreachable", down],
  "a gateway that hangs": ["timeout", hangs],
  "a body that never ends": ["timeout", async () => new Response(new ReadableStream(), { headers: {} })],
  "a status of the server's fault": ["http_status", answering("{}", { status: 500 })],
  "a path that is not there": ["http_status", answering("not found", { status: 404 })],
  "no content where there must be some": ["http_status", async () => new Response(null, { status: 204 })],
  "a full gateway": ["overloaded", answering("{}", { status: 503 })],
  "a token used too often": ["overloaded", answering("{}", { status: 429 })],
  "an overloaded reply": ["overloaded", replying({ error: { code: -32002, message: "full" } })],
  "a redirect": ["redirect", async () => new Response(null, { status: 307, headers: { location: "/x" } })],
  "a page to log in": ["content_type", answering("<html>", { headers: { "content-type": "text/html" } })],
  "no JSON": ["bad_json", answering("{")],
  "no UTF-8": ["bad_json", answering(new Uint8Array([0xff]))],
  "no envelope": ["bad_envelope", answering('{"approved":true}')],
  "a batch": ["bad_envelope", answering("[]")],
  "another version": ["bad_envelope", answering('{"jsonrpc":"1.0","id":"1","result":{}}')],
  "neither result nor error": ["bad_envelope", replying({})],
  "both result and error": ["bad_envelope", replying({ result: {}, error: { code: 1, message: "" } })],
  "another call's reply": ["wrong_id", replying({ id: "other", result: { approved: true, trace } })],
  "an error of the gateway's": ["rpc_error", replying({ error: { code: -32603, message: "internal error" } })],
  "no result": ["bad_result", replying({ result: null })],
  "a result without a trace": ["bad_result", replying({ result: { action: "continue", approved: true } })],
  "a result without a decision": ["bad_result", replying({ result: { trace } })],
  "an action there is not": ["bad_result", replying({ result: { action: "Continue", approved: "yes", trace } })],
  "an answer that is too large": ["too_large", answering(`"${"x".repeat(2000)}"`)],
};

async function recordsOf(fetch: GatewayFetch): Promise<readonly unknown[]> {
  const { log, warnings } = keepingLog();
  const timeouts = { interceptorMs: 15, approvalMs: 15 };
  const client = clientOf(fetch, { log, timeouts, maxReplyBytes: 1000 });
  const call = { tool: "exec", arguments: { a: 1 } };
  const before = await client.beforeTool(call);
  equal([before.action, before.changed, before.reason, before.call.arguments], ["continue", false, "", { a: 1 }]);
  const approval = await client.approveTool(call);
  const check = await client.checkTool(call);
  equal([approval.approved, check.approved, check.action, check.reason], [false, false, "continue", approval.reason]);
  equal(
    warnings.map(({ fields }) => [fields["point"], fields["effect"]]),
    [
      ["before_tool", "skipped"],
      // The one of checkTool is the same again.
      ["approve_tool", "not skipped"],
    ],
  );
  equal(outcomesOf(approval), outcomesOf(before));
  equal(outcomesOf(check), outcomesOf(before));
  ok(!JSON.stringify([before, approval, check, warnings]).includes(TOKEN), "the token shows");
  const [record] = before.trace.records;
  equal([record?.hook, record?.source, record?.outcome, record?.failed_open], ["gateway", "http", "no_verdict", true]);
  equal(approval.trace.records[0]?.failed_open, undefined);
  return [record?.kind, approval.reason];
}

/** What is no answer is decided by the client's own policy, visibly. */
export const noAnswerCases: readonly Case[] = casesOf(
  { topic: "client-no-answer", source: SOURCE },
  Object.fromEntries(
    Object.entries(NO_ANSWERS).map(([name, [kind, fetch]]) => [
      name.replaceAll(" ", "-"),
      async () => {
        const how = kind === "timeout" ? "timed out" : "failed";
        equal(await recordsOf(fetch), [kind, `tool approval hook "gateway" ${how}`]);
      },
    ]),
  ),
);

/** Building is made to reject where it throws. */
const build = async (options: Partial<GatewayClientOptions>): Promise<HookHost> => clientOf(hangs, options);

async function errorOf(promise: Promise<unknown>): Promise<readonly [code: string, message: string]> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  if (!isHookgateError(error)) throw new Error(`no error but ${JSON.stringify(error)}`);
  return [error.code, error.message];
}

const FAULTS: Readonly<Record<string, GatewayFetch>> = {
  ERR_UNAUTHORIZED: answering(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"bad ${TOKEN}"}}`, {
    status: 401,
  }),
  ERR_FORBIDDEN: answering("<html>", { status: 403 }),
  ERR_BODY_TOO_LARGE: answering("{}", { status: 413 }),
  ERR_INVALID_PARAMS: replying({ error: { code: -32602, message: `params.tool: bad ${TOKEN}` } }),
  ERR_METHOD_NOT_FOUND: replying({ error: { code: -32601, message: "unknown method" } }),
  ERR_INVALID_REQUEST: replying({ error: { code: -32600, message: "no" } }),
};

/** What the caller is at fault for, or asked for. */
export const faultCases: readonly Case[] = casesOf(
  { topic: "client-fault", source: SOURCE },
  {
    "a-fault-of-the-caller-rejects": async () => {
      for (const [code, fetch] of Object.entries(FAULTS)) {
        for (const ask of [clientOf(fetch).beforeTool({ tool: "x" }), clientOf(fetch).checkTool({ tool: "x" })]) {
          const [got, message] = await errorOf(ask);
          equal(got, code);
          ok(!message.includes(TOKEN), message);
        }
      }
    },
    "interceptors-may-abort-instead": async () => {
      const client = clientOf(down, { failure: { interceptors: "abort_turn" } });
      const before = await client.beforeLlm({ model: "m" });
      equal([before.action, before.reason], ["abort_turn", 'hook "gateway" failed']);
      equal(before.trace.records[0]?.failed_open, undefined);
      const check = await client.checkTool({ tool: "x" });
      equal([check.action, check.approved, check.reason], ["abort_turn", false, 'hook "gateway" failed']);
      equal(check.trace.records[0]?.point, "before_tool");
    },
    "a-host-that-aborts-is-answered-at-once": async () => {
      let signal: AbortSignal | undefined;
      const client = clientOf((_url, request) => {
        signal = request.signal;
        return new Promise(() => {});
      });
      const gone = new AbortController();
      const call = client.beforeTool({ tool: "x" }, { signal: gone.signal });
      gone.abort();
      await rejects(call, "ERR_ABORTED");
      ok(signal?.aborted, "the call was not cut");
      await rejects(client.checkTool({ tool: "x" }, { signal: gone.signal }), "ERR_ABORTED");
    },
    "a-call-leaves-no-listener-behind": async () => {
      const gone = new AbortController();
      let listeners = 0;
      const count =
        <A extends unknown[]>(step: number, act: (...args: A) => void) =>
        (...args: A): void => {
          listeners += step;
          act(...args);
        };
      const { signal } = gone;
      signal.addEventListener = count(1, signal.addEventListener.bind(signal));
      signal.removeEventListener = count(-1, signal.removeEventListener.bind(signal));
      for (const fetch of [down, replying({ result: { action: "continue", trace } })]) {
        await clientOf(fetch).beforeTool({ tool: "x" }, { signal });
      }
      equal(listeners, 0);
    },
    "what-cannot-be-sent-is-no-verdict": async () => {
      const { action, trace: seen } = await clientOf(hangs).beforeTool({ tool: "x", arguments: { n: 1n } });
      equal([action, seen.records[0]?.kind], ["continue", "unencodable"]);
    },
    "a-closed-client": async () => {
      const client = clientOf(hangs);
      await client.close();
      await client.close();
      await rejects(client.beforeTool({ tool: "x" }), "ERR_CLOSED");
      client.emit({ Kind: "turn_start" });
    },
    "the-token-goes-to-the-gateway-and-nowhere-else": async () => {
      const seen: unknown[] = [];
      const client = clientOf((url, { headers, redirect, method }) => {
        seen.push([url, headers["authorization"], redirect, method]);
        return down(url, {} as GatewayRequest);
      });
      await client.beforeTool({ tool: "x" });
      equal(seen, [[`${URL_TEXT}/rpc`, `Bearer ${TOKEN}`, "manual", "POST"]]);
    },
    "where-a-gateway-may-be": async () => {
      for (const url of [
        "http://localhost:1",
        "http://[::1]/x",
        "http://127.9.9.9",
        "https://gateway.example/base/rpc",
      ]) {
        await build({ url });
      }
      await build({ url: "http://gateway.example", allowInsecure: true });
      for (const url of [
        "http://gateway.example",
        "https://u:p@gateway.example",
        "ftp://127.0.0.1",
        "/rpc",
        "",
        "http://10.0.0.1",
      ]) {
        await rejects(build({ url }), "TypeError");
      }
      for (const token of ["", "a b", "a\nb", "é"]) await rejects(build({ token }), "TypeError");
      await rejects(build({ timeouts: { interceptorMs: 0 } }), "RangeError");
      await rejects(build({ failure: { approvals: "continue" } } as unknown as GatewayClientOptions), "TypeError");
    },
  },
);

interface Sink {
  readonly fetch: GatewayFetch;
  /** The kinds of each batch. */
  readonly batches: (readonly unknown[])[];
}

/** Takes batches of events; the first `failures` of them fail. */
function sink(failures = 0, status = 500): Sink {
  const batches: (readonly unknown[])[] = [];
  let left = failures;
  return {
    batches,
    async fetch(_url, { body }) {
      const batch = JSON.parse(body ?? "") as readonly { readonly params: { readonly Kind: unknown } }[];
      left -= 1;
      if (left >= 0) return new Response("", { status });
      batches.push(batch.map(({ params }) => params.Kind));
      return new Response(null, { status: 202 });
    },
  };
}

/** Events. */
export const clientEventCases: readonly Case[] = casesOf(
  { topic: "client-event", source: "Events, section 8" },
  {
    "they-leave-in-order-and-in-batches": async () => {
      const { fetch, batches } = sink();
      const client = clientOf(fetch);
      for (let i = 0; i < 120; i += 1) client.emit({ Kind: `k${i}` });
      await client.flush(5000);
      equal(
        batches.map(({ length }) => length),
        [50, 50, 20],
      );
      equal(
        batches.flat(),
        Array.from({ length: 120 }, (_, i) => `k${i}`),
      );
      await client.close();
    },
    "they-reach-the-observers-of-a-gateway": async () => {
      const seen: unknown[] = [];
      const hook = {
        onEvent: ({ Kind, Payload }: { readonly Kind: string; readonly Payload?: unknown }) =>
          void seen.push([Kind, Payload]),
      };
      const { known } = await tokenOf("host", "observe");
      const gateway = await gatewayOf({ hook }, { auth: { tokens: [known] } });
      const client = clientOf(
        (url, { method, headers, body }) => gateway.fetch(new Request(url, { method, headers, body: body ?? null })),
        {
          token: "secret-of-host",
        },
      );
      const payload = { Tool: "exec" };
      client.emit({ Kind: "agent.tool.exec_start", Payload: payload });
      payload.Tool = "changed later";
      await client.close();
      await gateway.drain(1000);
      equal(seen, [["tool_exec_start", { Tool: "exec" }]]);
    },
    "when-too-many-wait-the-newest-are-dropped": async () => {
      const { fetch, batches } = sink();
      const { log, warnings } = keepingLog();
      const client = clientOf(fetch, { maxQueuedEvents: 2, log });
      for (const Kind of ["a", "b", "c", "d"]) client.emit({ Kind });
      await client.flush(5000);
      equal([batches, warnings.length], [[["a", "b"]], 1]);
    },
    "a-batch-that-fails-is-sent-again": async () => {
      const { fetch, batches } = sink(1);
      const client = clientOf(fetch);
      client.emit({ Kind: "a" });
      await client.flush(5000);
      equal(batches, [["a"]]);
    },
    "a-batch-that-is-not-allowed-is-not-sent-again": async () => {
      const { fetch, batches } = sink(1, 403);
      const { log, warnings } = keepingLog();
      const client = clientOf(fetch, { log });
      client.emit({ Kind: "a" });
      await client.flush(5000);
      equal([batches, warnings.length], [[], 1]);
    },
    "emitting-never-throws": async () => {
      const client = clientOf(answering("", { status: 403 }));
      const cyclic: Record<string, unknown> = {};
      cyclic["self"] = cyclic;
      for (const Payload of [cyclic, 1n, "x".repeat(2_000_000), undefined]) client.emit({ Kind: "a", Payload });
      await client.flush(1);
      await client.close();
    },
  },
);
