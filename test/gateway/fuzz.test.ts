import {
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  jsonValue,
  oneof,
  record,
  string,
  uint8Array,
} from "fast-check";
import { expect, test } from "vitest";
import { createGatewayClient } from "../../src/client/index.ts";
import { createGateway } from "../../src/gateway/index.ts";
import { HOST_METHODS, HookManager } from "../../src/picoclaw/index.ts";
import { gatewayOf, post, requestOf, toAnswer } from "../conformance/gateway-fixture.ts";

const HOOKS = {
  hook: {
    beforeTool: () => ({ call: { arguments: { changed: true } } }),
    approveTool: () => ({ approved: true }),
    beforeLlm: () => ({}),
    onEvent: () => {},
  },
};

const STATUSES = [200, 202, 400];

function checkReply(reply: unknown): void {
  const { jsonrpc, error, result } = reply as { jsonrpc: unknown; error?: { code: number }; result?: unknown };
  expect(jsonrpc).toBe("2.0");
  expect((error === undefined) !== (result === undefined)).toBe(true);
  // Nothing that a caller sends is a fault of the gateway's.
  expect(error?.code).not.toBe(-32603);
}

test("whatever bytes come, the answer is JSON-RPC", async () => {
  const gateway = await gatewayOf(HOOKS);
  await assert(
    asyncProperty(uint8Array({ maxLength: 200 }), async (bytes) => {
      const { status, json } = await toAnswer(await gateway.fetch(requestOf({ body: new Uint8Array(bytes) })));
      expect(STATUSES).toContain(status);
      if (status !== 202) checkReply(json);
    }),
    { numRuns: 300 },
  );
});

test("whatever JSON comes, one message or many, the answer is JSON-RPC", async () => {
  const gateway = await gatewayOf(HOOKS);
  const message = record(
    {
      jsonrpc: constantFrom("2.0", "1.0", 2),
      id: oneof(string(), integer(), constant(null), jsonValue()),
      method: oneof(constantFrom(...HOST_METHODS), string()),
      params: oneof(
        record(
          { tool: string(), model: string(), Kind: string(), arguments: jsonValue(), meta: jsonValue() },
          { requiredKeys: [] },
        ),
        jsonValue(),
      ),
    },
    { requiredKeys: [] },
  );
  await assert(
    asyncProperty(oneof(message, array(message, { maxLength: 5 }), jsonValue()), async (body) => {
      const { status, json } = await post(gateway, JSON.stringify(body));
      expect(STATUSES).toContain(status);
      if (status !== 202) for (const reply of Array.isArray(json) ? json : [json]) checkReply(reply);
    }),
    { numRuns: 1000 },
  );
});

test("a gateway may be the host of another", async () => {
  const manager = new HookManager();
  await manager.mount(HOOKS.hook, { name: "inner" });
  const inner = createGateway({ host: manager, hooks: () => manager.hooks() });
  const clientOf = (gateway: typeof inner): ReturnType<typeof createGatewayClient> =>
    createGatewayClient({
      url: "http://127.0.0.1",
      fetch: (url, init) => gateway.fetch(new Request(url, { ...init })),
    });
  const outer = createGateway({ host: clientOf(inner), hooks: () => [] });
  const decision = await clientOf(outer).checkTool({ tool: "exec" });
  expect(decision).toMatchObject({
    action: "continue",
    changed: true,
    approved: true,
    call: { arguments: { changed: true } },
  });
  expect(decision.trace.records.map(({ hook, point }) => `${hook} ${point}`)).toEqual([
    "inner before_tool",
    "inner approve_tool",
  ]);
});

test("what is wrong between two gateways is not told to the host", async () => {
  const inner = await gatewayOf({}, { auth: {} });
  const host = createGatewayClient({
    url: "http://127.0.0.1",
    fetch: (url, init) => inner.fetch(new Request(url, { ...init })),
  });
  const { json } = await post(
    createGateway({ host, hooks: () => [] }),
    '{"jsonrpc":"2.0","id":1,"method":"hook.before_tool","params":{"tool":"x"}}',
  );
  expect(json).toMatchObject({ error: { code: -32603, message: "internal error" } });
});
