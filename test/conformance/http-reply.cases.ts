import { HookCallError, isHookCallError } from "../../src/errors.ts";
import { checkHead, parseHttpReply } from "../../src/transport/http-reply.ts";
import { type Case, equal, ok } from "./case.ts";
import { createFakeStage, FakeExchange, httpCase, kindOf, thrownBy, toReply, toResult } from "./fake-exchange.ts";

const ID = "01900000-0000-7000-8000-000000000000";

function read(text: string | Uint8Array): string {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const error = thrownBy(() => parseHttpReply(bytes, ID));
  return error === undefined ? "ok" : isHookCallError(error) ? error.kind : "another error";
}

const rpc = (parts: Readonly<Record<string, unknown>>): string => JSON.stringify({ jsonrpc: "2.0", id: ID, ...parts });

/** Which replies count, and what every other one is. */
export const httpReplyCases: readonly Case[] = [
  httpCase("every-reply-that-does-not-count-has-its-kind", () => {
    const table: readonly (readonly [string | Uint8Array, string])[] = [
      [rpc({ result: {} }), "ok"],
      [rpc({ result: null }), "ok"],
      [rpc({ result: {}, error: null }), "ok"],
      [`\ufeff${rpc({ result: {} })}`, "ok"],
      [` ${rpc({ result: {} })}\n`, "ok"],
      ["", "bad_json"],
      ["{", "bad_json"],
      [rpc({ result: {} }) + rpc({ result: {} }), "bad_json"],
      [Uint8Array.of(0x22, 0xff, 0x22), "bad_json"],
      ["[]", "bad_envelope"],
      [`[${rpc({ result: {} })}]`, "bad_envelope"],
      ["null", "bad_envelope"],
      ['"yes"', "bad_envelope"],
      ['{"approved":true}', "bad_envelope"],
      [JSON.stringify({ id: ID, result: {} }), "bad_envelope"],
      [rpc({ jsonrpc: "1.0", result: {} }), "bad_envelope"],
      [rpc({}), "bad_envelope"],
      [rpc({ result: {}, error: { code: 1, message: "no" } }), "bad_envelope"],
      [rpc({ error: "no" }), "bad_envelope"],
      [rpc({ error: [] }), "bad_envelope"],
      [rpc({ id: "other", result: {} }), "wrong_id"],
      [rpc({ id: null, error: { code: -32700, message: "no" } }), "wrong_id"],
      [rpc({ id: 1, result: {} }), "wrong_id"],
      [rpc({ id: undefined, result: {} }), "wrong_id"],
      [rpc({ error: { code: 1, message: "no" } }), "rpc_error"],
      [rpc({ error: {} }), "rpc_error"],
    ];
    for (const [text, kind] of table) equal([text, read(text)], [text, kind]);
  }),
  httpCase("a-result-that-is-inherited-is-none", () => {
    equal(read(`{"jsonrpc":"2.0","id":"${ID}","__proto__":{"result":{}}}`), "bad_envelope");
  }),
  httpCase("an-error-reply-keeps-its-message", () => {
    const error = thrownBy(() => parseHttpReply(new TextEncoder().encode(rpc({ error: { message: "down" } })), ID));
    ok(error instanceof HookCallError && error.message === "down", String(error));
  }),
  httpCase("every-head-that-does-not-count-has-its-kind", () => {
    const table: readonly (readonly [number, Readonly<Record<string, string>>, string | undefined])[] = [
      [200, { "content-type": "application/json" }, undefined],
      [200, { "content-type": "Application/JSON; charset=utf-8" }, undefined],
      [200, { "content-type": "application/vnd.hook+json" }, undefined],
      [200, { "content-type": "application/json", "content-encoding": "identity", "content-length": "100" }, undefined],
      [200, {}, "content_type"],
      [200, { "content-type": "text/html" }, "content_type"],
      [200, { "content-type": "text/json" }, "content_type"],
      [200, { "content-type": "application/json, text/html" }, "content_type"],
      [200, { "content-type": "application/jsonp" }, "content_type"],
      [200, { "content-type": "application/json", "content-encoding": "gzip" }, "content_type"],
      [200, { "content-type": "application/json", "content-length": "101" }, "too_large"],
      [201, { "content-type": "application/json" }, "http_status"],
      [204, {}, "http_status"],
      [301, {}, "redirect"],
      [304, {}, "redirect"],
      [401, {}, "http_status"],
      [500, {}, "http_status"],
    ];
    for (const [status, headers, kind] of table) {
      equal(
        [status, headers, checkHead({ status, header: (name) => headers[name] }, 100)?.kind],
        [status, headers, kind],
      );
    }
  }),
  httpCase("a-body-that-does-not-count-is-not-read", async () => {
    const wanted: boolean[] = [];
    const exchange = new FakeExchange((request) => {
      const reply = toReply("<html>", { headers: { "content-type": "text/html" } });
      wanted.push(request.wantsBody(reply.head), request.wantsBody(toResult(request).head));
      return reply;
    });
    equal(await kindOf(createFakeStage({ exchange, maxMessageBytes: 50 }).call().result), "content_type");
    equal([wanted, exchange.sent[0]?.maxBodyBytes], [[false, true], 50]);
  }),
];
