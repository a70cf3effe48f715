import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import {
  type Answer,
  CALL,
  callText,
  errorOf,
  gatewayOf,
  post,
  refusalOf,
  requestOf,
  resultOf,
  toAnswer,
} from "./gateway-fixture.ts";

async function seenBy(params: string): Promise<{ readonly call: Record<string, unknown>; readonly answer: Answer }> {
  let call: Record<string, unknown> = {};
  const gateway = await gatewayOf({
    hook: {
      beforeTool(received) {
        call = JSON.parse(JSON.stringify(received)) as Record<string, unknown>;
      },
    },
  });
  return {
    answer: await post(gateway, `{"jsonrpc":"2.0","id":1,"method":"hook.before_tool","params":${params}}`),
    call,
  };
}

/** Bodies that are made to do harm. */
export const bodyCases: readonly Case[] = casesOf(
  { topic: "gateway-body", source: "The gateway's interface, section 3, Limits" },
  {
    "proto-is-a-key-like-any-other": async () => {
      const { answer, call } = await seenBy(
        '{"tool":"x","arguments":{"__proto__":{"polluted":1}},"__proto__":{"meta":2}}',
      );
      equal(answer.status, 200);
      ok(!("polluted" in {}), "the prototype of all objects was changed");
      ok(Object.hasOwn(call["arguments"] as object, "__proto__"), "the key is lost");
      const envelope = '{"__proto__":{"method":"hook.hello","jsonrpc":"2.0"},"id":1}';
      equal(await refusalOf(await gatewayOf(), envelope), [200, 1, -32600]);
    },
    "of-two-keys-the-last-counts-for-everyone": async () => {
      const { call } = await seenBy('{"tool":"safe","tool":"exec","arguments":{"a":1},"arguments":{"b":2}}');
      equal([call["tool"], call["arguments"]], ["exec", { b: 2 }]);
    },
    "a-lone-surrogate-passes": async () => {
      const { answer, call } = await seenBy('{"tool":"x","arguments":{"s":"\\ud800"}}');
      equal([answer.status, call["arguments"]], [200, { s: "\ud800" }]);
    },
    "deep-nesting-is-refused": async () => {
      const deep = `${'{"a":'.repeat(600)}1${"}".repeat(600)}`;
      equal(errorOf((await seenBy(`{"tool":"x","arguments":${deep}}`)).answer.json).code, -32602);
      const deepest = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
      const { answer } = await seenBy(`{"tool":"x","arguments":{"a":${deepest}}}`);
      ok([-32602, -32700].includes(errorOf(answer.json).code), answer.text);
      const { status, json } = await post(await gatewayOf(), deepest);
      ok(status === 400 || Array.isArray(json), "a deep batch is not refused");
    },
    "of-a-million-problems-the-first-are-told": async () => {
      const messages = Array.from({ length: 1_000_000 }, () => 1);
      const { json } = await post(await gatewayOf(), callText("hook.before_llm", { model: "m", messages }));
      const { code, message } = errorOf(json);
      equal(code, -32602);
      ok(message.includes("params.messages.0: ") && message.length < 5000, `${message.length} characters`);
    },
    "one-that-says-it-is-too-large-is-not-read": async () => {
      const gateway = await gatewayOf({}, { limits: { maxBodyBytes: 64 } });
      let pulled = 0;
      const body = new ReadableStream({
        pull(controller) {
          pulled += 1;
          controller.enqueue(new Uint8Array(32));
        },
      });
      const headers = { "content-length": "65" };
      const answer = await toAnswer(await gateway.fetch(requestOf({ body, headers })));
      equal([answer.status, errorOf(answer.json).code], [413, -32600]);
      ok(pulled <= 1, `${pulled} chunks were read`);
    },
    "one-that-grows-too-large-is-cut": async () => {
      const gateway = await gatewayOf({}, { limits: { maxBodyBytes: 1000 } });
      let pulled = 0;
      const body = new ReadableStream({
        pull(controller) {
          pulled += 1;
          controller.enqueue(new TextEncoder().encode(" ".repeat(100)));
        },
      });
      const { status } = await toAnswer(await gateway.fetch(requestOf({ body })));
      equal(status, 413);
      ok(pulled < 20, `${pulled} chunks were read`);
    },
    "one-of-exactly-the-limit-is-taken": async () => {
      const gateway = await gatewayOf({}, { limits: { maxBodyBytes: CALL.length } });
      equal((await post(gateway, CALL)).status, 200);
      equal((await post(gateway, `${CALL} `)).status, 413);
    },
    "one-in-pieces-is-joined-before-it-is-decoded": async () => {
      const bytes = new TextEncoder().encode(callText("hook.before_tool", { tool: "é😀" }));
      const body = new ReadableStream({
        start(controller) {
          for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
          controller.close();
        },
      });
      const { status, json } = await toAnswer(await (await gatewayOf()).fetch(requestOf({ body })));
      equal([status, resultOf(json)], [200, { action: "continue" }]);
    },
    "only-json-is-taken": async () => {
      const gateway = await gatewayOf();
      for (const type of ["application/json", "application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"']) {
        equal((await post(gateway, CALL, { "content-type": type })).status, 200);
      }
      const others = [
        "text/plain",
        "application/json, text/plain",
        "application/jsonp",
        "application/json; charset=latin1",
      ];
      for (const type of [...others, "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", ""]) {
        const { status, json } = await post(gateway, CALL, { "content-type": type });
        equal([type, status, errorOf(json).code], [type, 415, -32600]);
      }
      equal((await post(gateway, CALL, { "content-encoding": "gzip" })).status, 415);
    },
    "one-that-breaks-off-is-answered": async () => {
      const body = new ReadableStream({
        start(controller) {
          controller.error(new Error("gone"));
        },
      });
      equal((await toAnswer(await (await gatewayOf()).fetch(requestOf({ body })))).status, 499);
    },
  },
);
