import { HookCallError } from "../../src/errors.ts";
import { encodeRequest } from "../../src/transport/http-body.ts";
import { USER_AGENT } from "../../src/transport/http-headers.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { createFakeStage, FakeExchange, httpCase, kindOf, settle, thrownBy, UUID_V7 } from "./fake-exchange.ts";

/** What a call looks like, whatever carries it. */
export const httpCases: readonly Case[] = [
  httpCase("a-call-is-one-post-with-one-request", async () => {
    const { call, exchange } = createFakeStage();
    equal(await call({ params: '{"tool":"shell"}' }).result, {});
    const [request] = exchange.sent;
    ok(request !== undefined && exchange.sent.length === 1, "not one request");
    ok(UUID_V7.test(request.message.id ?? ""), `not a UUIDv7: ${request.message.id}`);
    equal(
      [request.url, request.message.method, request.message.params],
      ["https://hooks.test/hook", "hook.before_tool", { tool: "shell" }],
    );
    const { traceparent, ...headers } = request.headers;
    equal(headers, {
      accept: "application/json",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "hook-timeout-ms": "5000",
      "idempotency-key": request.message.id,
      "user-agent": USER_AGENT,
    });
    ok(
      /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/.test(traceparent ?? ""),
      `not a traceparent: ${traceparent}`,
    );
  }),
  httpCase("no-two-calls-share-an-id", async () => {
    const { call, exchange } = createFakeStage();
    for (let index = 0; index < 50; index += 1) await call().result;
    equal(new Set(exchange.sent.map(({ message }) => message.id)).size, 50);
  }),
  httpCase("the-timeout-header-is-what-is-left-of-the-deadline", async () => {
    const { call, exchange } = createFakeStage();
    await call({}, 1234.9).result;
    await call({}, 0.2).result;
    equal(
      exchange.sent.map(({ headers }) => headers["hook-timeout-ms"]),
      ["1234", "1"],
    );
  }),
  httpCase("configured-headers-never-replace-ours", async () => {
    const headers = {
      "X-Tenant": "a",
      "Content-Type": "text/plain",
      "Hook-Signature": "x",
      "IDEMPOTENCY-KEY": "y",
      Host: "z",
    };
    const { call, exchange } = createFakeStage({ headers });
    await call().result;
    const sent = exchange.sent[0]?.headers ?? {};
    equal(
      [sent["x-tenant"], sent["content-type"], sent["hook-signature"], sent["host"]],
      ["a", "application/json", undefined, undefined],
    );
    equal(sent["idempotency-key"], exchange.sent[0]?.message.id);
    equal(
      Object.keys(sent).filter((name) => name !== name.toLowerCase()),
      [],
    );
  }),
  httpCase("a-header-that-cannot-be-one-is-refused-without-its-value", () => {
    for (const headers of [
      { "x y": "a" },
      { "x-a": "secret\r\nx-b: c" },
      { "x-a": "secret\u0000" },
      { "x-a": "s\u20acret" },
    ]) {
      const error = thrownBy(() => createFakeStage({ headers }));
      ok(error instanceof TypeError && !error.message.includes("secret"), `not refused: ${String(error)}`);
    }
  }),
  httpCase("a-hook-without-a-signature-must-say-so", () => {
    ok(thrownBy(() => createFakeStage({ unsigned: undefined })) instanceof TypeError, "taken without a word");
  }),
  httpCase("an-unsigned-hook-approves-only-from-a-loopback-address-or-a-binding", async () => {
    const approve = { method: "hook.approve_tool" };
    const remote = createFakeStage({ isBinding: false });
    equal(await kindOf(remote.call(approve).result), "unsigned_reply");
    equal(remote.exchange.sent.length, 0);
    equal(await kindOf(remote.call().result), "a result: {}");
    for (const url of ["http://127.0.0.1/", "http://[::1]:8080/", "http://localhost/"]) {
      equal(await kindOf(createFakeStage({ isBinding: false, url }).call(approve).result), "a result: {}");
    }
  }),
  httpCase("a-long-payload-that-several-hooks-are-sent-is-encoded-once", () => {
    const payload = {};
    const params = `{"tool":"${"\u00e9".repeat(5000)}"}`;
    const message = { method: "hook.before_tool", params, payload };
    const [a, b] = ["1", "2"].map((digit) => encodeRequest(message, digit.repeat(36)));
    ok(a?.head !== undefined && a.head === b?.head, "the head is not shared");
    const texts = [a, b].map((body) => new TextDecoder().decode(body?.bytes));
    const expected = ["1", "2"].map(
      (digit) => `{"jsonrpc":"2.0","method":"hook.before_tool","params":${params},"id":"${digit.repeat(36)}"}`,
    );
    equal(texts, expected);
    const other = encodeRequest({ ...message, params: `[${params}]` }, "3".repeat(36));
    ok(new TextDecoder().decode(other.bytes).includes(`"params":[${params}]`), "another text of it is not sent");
    equal(encodeRequest({ method: "m", params }, "4".repeat(36)).head, undefined);
  }),
  httpCase("a-short-payload-is-sent-whole-to-each-of-several-hooks", () => {
    const message = { method: "hook.before_tool", params: '{"tool":"\u00e9"}', payload: {} };
    for (const digit of ["1", "2"]) {
      const { bytes } = encodeRequest(message, digit.repeat(36));
      const expected = `{"jsonrpc":"2.0","method":"hook.before_tool","params":{"tool":"\u00e9"},"id":"${digit.repeat(36)}"}`;
      equal(new TextDecoder().decode(bytes), expected);
    }
  }),
  httpCase("a-call-that-is-cut-aborts-its-request", async () => {
    const exchange = new FakeExchange(() => "nothing");
    const { call } = createFakeStage({ exchange });
    const { scope: own, result } = call();
    await settle();
    equal(exchange.sent[0]?.signal.aborted, false);
    own.abort(new HookCallError("timeout", "cut"));
    equal(exchange.sent[0]?.signal.aborted, true);
    await rejects(result, "ERR_HOOK_CALL");
  }),
];
