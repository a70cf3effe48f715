import { HookgateError } from "../../src/errors.ts";
import { type Hook, HookManager } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { CALL, callText, errorOf, gatewayOf, post, refusalOf, resultOf } from "./gateway-fixture.ts";

const JSON_RPC = "JSON-RPC 2.0, sections 4 to 7";

const event = (kind: string): unknown => ({ jsonrpc: "2.0", method: "hook.event", params: { Kind: kind } });

/** A hook that keeps the kinds of the events it is told of. */
function observer(): { readonly hook: Hook; readonly kinds: string[] } {
  const kinds: string[] = [];
  return { kinds, hook: { onEvent: ({ Kind }) => void kinds.push(Kind) } };
}

/** Reading one message. */
export const messageCases: readonly Case[] = casesOf(
  { topic: "gateway-message", source: JSON_RPC },
  {
    "a-call-is-answered-with-its-id": async () => {
      const gateway = await gatewayOf();
      for (const id of ["a", "", 7, 0, -1, 1.5, null]) {
        const { status, json, headers } = await post(gateway, callText("hook.before_tool", { tool: "x" }, id));
        equal([status, headers.get("content-type")], [200, "application/json"]);
        equal([(json as { id: unknown }).id, resultOf(json)], [id, { action: "continue" }]);
      }
    },
    "an-id-that-would-not-come-back-the-same-is-refused": async () => {
      const gateway = await gatewayOf();
      for (const id of ["true", "[1]", "{}", "9007199254740993", "1e400"]) {
        const text = `{"jsonrpc":"2.0","id":${id},"method":"hook.hello"}`;
        equal(await refusalOf(gateway, text), [400, null, -32600]);
      }
    },
    "what-is-not-json": async () => {
      const gateway = await gatewayOf();
      for (const text of ['{"jsonrpc":"2.0","method":"foobar,"params":"bar","baz]', "", "undefined", "{}{}", "[1,"]) {
        equal(await refusalOf(gateway, text), [400, null, -32700]);
      }
      equal(await refusalOf(gateway, new Uint8Array([0x22, 0xff, 0x22])), [400, null, -32700]);
    },
    "what-is-no-request": async () => {
      const gateway = await gatewayOf();
      for (const text of ['{"jsonrpc":"2.0","method":1,"params":"bar"}', "1", '"x"', "null", "{}", "[]"]) {
        equal(await refusalOf(gateway, text), [400, null, -32600]);
      }
    },
    "a-bad-request-with-an-id-is-told-by-it": async () => {
      const gateway = await gatewayOf();
      for (const rest of ['"method":"hook.hello"', '"jsonrpc":"1.0","method":"hook.hello"', '"jsonrpc":"2.0"']) {
        equal(await refusalOf(gateway, `{"id":5,${rest}}`), [200, 5, -32600]);
      }
      equal(await refusalOf(gateway, '{"jsonrpc":"2.0","id":5,"method":"hook.hello","params":1}'), [200, 5, -32600]);
    },
    "an-unknown-method": async () => {
      const { status, json } = await post(await gatewayOf(), callText("foobar", {}));
      equal([status, errorOf(json).code], [200, -32601]);
      ok(errorOf(json).message.includes("hook.before_tool"), "the message does not say what there is");
      equal(errorOf((await post(await gatewayOf(), callText("constructor", {}))).json).code, -32601);
    },
    "bad-params-are-named-by-their-paths": async () => {
      const { status, json } = await post(await gatewayOf(), callText("hook.before_tool", { tool: 1, arguments: [] }));
      const { code, message } = errorOf(json);
      equal([status, code], [200, -32602]);
      ok(message.includes("params.tool: ") && message.includes("params.arguments: "), message);
      equal(errorOf((await post(await gatewayOf(), callText("hook.before_tool", ["exec"]))).json).code, -32602);
    },
    "a-failure-inside-does-not-leak": async () => {
      const host = new HookManager();
      await host.close();
      const { status, text, json } = await post(await gatewayOf({}, { host }), CALL);
      equal([status, errorOf(json).code, errorOf(json).message], [200, -32603, "internal error"]);
      ok(!text.includes("closed"), text);
      const methods = {
        "x.throws": () => Promise.reject(new HookgateError("ERR_UNAUTHORIZED", "secret")),
        "x.cyclic": () => {
          const value: Record<string, unknown> = {};
          value["self"] = value;
          return value;
        },
      };
      for (const method of Object.keys(methods)) {
        const answer = await post(await gatewayOf({}, { methods }), callText(method, {}));
        equal([answer.status, errorOf(answer.json).code], [200, -32603]);
        ok(!answer.text.includes("secret"), answer.text);
      }
    },
    "a-further-method": async () => {
      const methods = { "hook.run": (params: unknown) => ({ got: params }) };
      const { json } = await post(await gatewayOf({}, { methods }), callText("hook.run", { a: 1 }));
      equal(json, { jsonrpc: "2.0", id: 1, result: { got: { a: 1 } } });
    },
    "a-notification-is-not-answered": async () => {
      const { hook, kinds } = observer();
      const gateway = await gatewayOf({ hook });
      for (const message of [event("turn_start"), { jsonrpc: "2.0", method: "nope" }, event("")]) {
        const { status, text } = await post(gateway, JSON.stringify(message));
        equal([status, text], [202, ""]);
      }
      await gateway.drain(1000);
      equal(kinds, ["turn_start"]);
    },
  },
);

const VERSION = { jsonrpc: "2.0" };

/** Batches. */
export const batchCases: readonly Case[] = casesOf(
  { topic: "gateway-batch", source: JSON_RPC },
  {
    "each-call-is-answered-in-order": async () => {
      const seen: unknown[] = [];
      const gateway = await gatewayOf({
        hook: {
          beforeTool: async ({ tool }) => {
            seen.push(`${tool} in`);
            await Promise.resolve();
            seen.push(`${tool} out`);
          },
        },
      });
      const batch = [
        { ...VERSION, id: "1", method: "hook.before_tool", params: { tool: "a" } },
        event("turn_end"),
        { ...VERSION, id: 2, method: "hook.before_tool", params: { tool: "b" } },
        { foo: "boo" },
        { ...VERSION, id: "5", method: "foo.get", params: { name: "myself" } },
      ];
      const { status, json } = await post(gateway, JSON.stringify(batch));
      equal(status, 200);
      const replies = json as readonly { readonly id: unknown; readonly error?: { readonly code: number } }[];
      equal(
        replies.map(({ id, error }) => [id, error?.code]),
        [
          ["1", undefined],
          [2, undefined],
          [null, -32600],
          ["5", -32601],
        ],
      );
      equal(seen, ["a in", "a out", "b in", "b out"]);
    },
    "an-empty-one-is-one-error": async () => {
      equal(await refusalOf(await gatewayOf(), "[]"), [400, null, -32600]);
    },
    "what-is-no-request-is-an-error-each": async () => {
      const { status, json } = await post(await gatewayOf(), "[1,2,[]]");
      equal(status, 200);
      equal(
        (json as readonly unknown[]).map((reply) => errorOf(reply).code),
        [-32600, -32600, -32600],
      );
    },
    "only-notifications": async () => {
      const { hook, kinds } = observer();
      const gateway = await gatewayOf({ hook });
      const { status, text } = await post(gateway, JSON.stringify([event("turn_start"), event("turn_end")]));
      equal([status, text], [202, ""]);
      await gateway.drain(1000);
      equal(kinds, ["turn_start", "turn_end"]);
    },
    "one-that-is-too-long-is-not-run": async () => {
      const { hook, kinds } = observer();
      const gateway = await gatewayOf({ hook }, { limits: { maxBatch: 2 } });
      const three = JSON.stringify(Array.from({ length: 3 }, () => event("turn_start")));
      equal(await refusalOf(gateway, three), [400, null, -32600]);
      equal((await post(gateway, JSON.stringify([event("a"), event("b")]))).status, 202);
      await gateway.drain(1000);
      equal(kinds, ["a", "b"]);
    },
    "half-of-json-is-one-error": async () => {
      equal(await refusalOf(await gatewayOf(), '[{"jsonrpc":"2.0","method":"hook.hello","id":"1"},{"jsonrpc"]'), [
        400,
        null,
        -32700,
      ]);
    },
  },
);
