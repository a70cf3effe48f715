import type { Gateway, GatewayOptions } from "../../src/gateway/index.ts";
import { HookManager } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, createGate } from "./fixture.ts";
import { CALL, errorOf, gatewayOf, post, requestOf, toAnswer, tokenOf } from "./gateway-fixture.ts";

const LIMITS = "The gateway's interface, section 3, Limits";

async function limited(limits: GatewayOptions["limits"], now: () => number): Promise<Gateway> {
  return gatewayOf({}, { now, ...(limits === undefined ? {} : { limits }) });
}

/** Limits, draining and a host that leaves. */
export const limitCases: readonly Case[] = casesOf(
  { topic: "gateway-limit", source: LIMITS },
  {
    "a-token-may-call-so-often-a-minute": async () => {
      let nowMs = 0;
      const gateway = await limited({ requestsPerMinute: 2 }, () => nowMs);
      const statuses = async (): Promise<readonly number[]> => {
        const answers = [await post(gateway, CALL), await post(gateway, CALL), await post(gateway, CALL)];
        return answers.map(({ status }) => status);
      };
      equal(await statuses(), [200, 200, 429]);
      const { headers, json } = await post(gateway, CALL);
      equal(
        [headers.get("retry-after"), errorOf(json)],
        ["30", { code: -32002, message: "too many calls with this token", data: { retry_after_ms: 30_000 } }],
      );
      nowMs += 30_000;
      equal(await statuses(), [200, 429, 429]);
      nowMs += 600_000;
      equal(await statuses(), [200, 200, 429]);
    },
    "each-token-has-its-own": async () => {
      const tokens = await Promise.all([tokenOf("a", "call"), tokenOf("b", "call")]);
      const auth = { tokens: tokens.map(({ known }) => known) };
      const gateway = await gatewayOf({}, { auth, limits: { requestsPerMinute: 1 } });
      const statuses: number[] = [];
      for (const { headers } of [...tokens, ...tokens]) statuses.push((await post(gateway, CALL, headers)).status);
      equal(statuses, [200, 200, 429, 429]);
    },
    "a-batch-counts-by-its-calls": async () => {
      let nowMs = 0;
      const gateway = await limited({ requestsPerMinute: 2 }, () => nowMs);
      equal((await post(gateway, `[${CALL},${CALL},${CALL},${CALL}]`)).status, 200);
      nowMs += 60_000;
      equal((await post(gateway, CALL)).status, 429);
      nowMs += 30_000;
      equal((await post(gateway, CALL)).status, 200);
    },
    "one-call-too-many-is-refused-at-once": async () => {
      const held = createGate();
      const gateway = await gatewayOf({ hook: { beforeTool: () => held.promise } }, { limits: { maxConcurrency: 2 } });
      const running = [post(gateway, CALL), post(gateway, CALL)];
      const { status, headers, json } = await post(gateway, CALL);
      equal([status, headers.get("retry-after"), errorOf(json).data], [503, "1", { retry_after_ms: 1000 }]);
      held.open();
      equal(
        (await Promise.all(running)).map((answer) => answer.status),
        [200, 200],
      );
      equal((await post(gateway, CALL)).status, 200);
    },
    "a-body-that-comes-slowly-holds-up-nobody": async () => {
      const gateway = await gatewayOf({}, { limits: { maxConcurrency: 1 } });
      const senders: ReadableStreamDefaultController<Uint8Array>[] = [];
      const slow = Array.from({ length: 3 }, () => {
        const body = new ReadableStream<Uint8Array>({ start: (sender) => void senders.push(sender) });
        return gateway.fetch(requestOf({ body }));
      });
      equal((await post(gateway, CALL)).status, 200);
      for (const [index, sender] of senders.entries()) {
        sender.close();
        equal((await slow[index])?.status, 400);
      }
    },
    "draining-lets-calls-finish-and-takes-no-more": async () => {
      const held = createGate();
      const kinds: string[] = [];
      const gateway = await gatewayOf({
        hook: { beforeTool: () => held.promise, onEvent: ({ Kind }) => void kinds.push(Kind) },
      });
      const running = post(gateway, `[{"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"turn_end"}},${CALL}]`);
      let isDrained = false;
      const drained = gateway.drain(60_000).then(() => {
        isDrained = true;
      });
      const refused = await post(gateway, CALL);
      equal([refused.status, errorOf(refused.json).code], [503, -32002]);
      const ready = await toAnswer(await gateway.fetch(requestOf({ method: "GET", path: "/readyz" })));
      equal([ready.status, (ready.json as { status: string }).status], [503, "draining"]);
      equal(isDrained, false);
      held.open();
      equal((await running).status, 200);
      await drained;
      equal(kinds, ["turn_end"]);
    },
    "draining-ends-at-its-time": async () => {
      const gateway = await gatewayOf({ hook: { beforeTool: () => new Promise<void>(() => {}) } });
      const gone = new AbortController();
      const running = gateway.fetch(requestOf({ body: CALL, signal: gone.signal }));
      await gateway.drain(10);
      gone.abort();
      await running;
    },
    "a-host-that-leaves-aborts-its-hooks": async () => {
      const called = createGate();
      const gone = new AbortController();
      const aborted = createGate<unknown>();
      const gateway = await gatewayOf({
        hook: {
          beforeTool(_call, { signal }) {
            signal.addEventListener("abort", () => aborted.open("aborted"));
            called.open();
            return new Promise(() => {});
          },
        },
      });
      const answer = gateway.fetch(requestOf({ body: CALL, signal: gone.signal }));
      await called.promise;
      gone.abort();
      equal(await aborted.promise, "aborted");
      await answer;
    },
    "limits-must-be-positive-integers": async () => {
      for (const value of [0, -1, 1.5, Number.NaN]) {
        await rejects(gatewayOf({}, { limits: { maxBatch: value } }), "RangeError");
      }
    },
  },
);

/** Everything but `/rpc`. */
export const pageCases: readonly Case[] = casesOf(
  { topic: "gateway-page", source: "The gateway's interface, section 3, Also" },
  {
    "healthz-says-it-is-alive": async () => {
      const gateway = await gatewayOf({}, { auth: {} });
      const { status, json } = await toAnswer(await gateway.fetch(requestOf({ method: "GET", path: "/healthz" })));
      equal([status, json], [200, { status: "ok" }]);
      const head = await toAnswer(await gateway.fetch(requestOf({ method: "HEAD", path: "/healthz" })));
      equal([head.status, head.text], [200, ""]);
    },
    "readyz-says-which-hook-is-not-and-why": async () => {
      const host = new HookManager();
      await host.mount({ beforeTool: () => {} }, { name: "good" });
      const [good] = host.hooks();
      ok(good !== undefined, "the hook is not mounted");
      const broken = { ...good, name: "broken", state: "backing_off" as const, lastError: "command not found" };
      const { known, headers } = await tokenOf("ops", "admin");
      const auth = { tokens: [known] };
      const look = async (required: boolean, asWhom: Readonly<Record<string, string>>): Promise<unknown> => {
        const gateway = await gatewayOf({}, { host, hooks: () => [good, { ...broken, required }], auth });
        const request = requestOf({ method: "GET", path: "/readyz", headers: asWhom });
        const { status, json } = await toAnswer(await gateway.fetch(request));
        return [status, json];
      };
      const why = { name: "broken", state: "backing_off", reason: "command not found" };
      equal(await look(false, headers), [200, { status: "ready", hooks: [{ ...why, required: false }] }]);
      equal(await look(true, headers), [503, { status: "not_ready", hooks: [{ ...why, required: true }] }]);
      equal(await look(true, {}), [503, { status: "not_ready" }]);
    },
    "hooks-are-listed": async () => {
      const gateway = await gatewayOf({ a: { beforeTool: () => {} } });
      await post(gateway, CALL);
      const { status, json } = await toAnswer(await gateway.fetch(requestOf({ method: "GET", path: "/v1/hooks" })));
      const [hook] = (json as { readonly hooks: readonly Record<string, unknown>[] }).hooks;
      equal([status, hook?.["name"], hook?.["calls"], hook?.["points"]], [200, "a", 1, ["before_tool"]]);
      const rebound = requestOf({ method: "GET", path: "/v1/hooks", headers: { host: "evil.example" } });
      equal((await toAnswer(await gateway.fetch(rebound))).status, 403);
    },
    "a-wrong-method-is-told-the-right-one": async () => {
      const gateway = await gatewayOf();
      for (const [method, path, allow] of [
        ["GET", "/rpc", "POST"],
        ["PUT", "/rpc", "POST"],
        ["DELETE", "/v1/hooks", "GET, HEAD"],
        ["POST", "/healthz", "GET, HEAD"],
      ] as const) {
        const { status, headers, json } = await toAnswer(await gateway.fetch(requestOf({ method, path })));
        equal([status, headers.get("allow"), errorOf(json).code], [405, allow, -32600]);
      }
      const head = await toAnswer(await gateway.fetch(requestOf({ method: "HEAD" })));
      equal([head.status, head.text], [405, ""]);
    },
    "a-wrong-path-is-told-what-there-is": async () => {
      const { status, json } = await toAnswer(
        await (await gatewayOf()).fetch(requestOf({ method: "GET", path: "/nope" })),
      );
      equal(status, 404);
      ok(errorOf(json).message.includes("/rpc, /healthz"), errorOf(json).message);
    },
  },
);
