import { HookCallError, HookgateError, isHookCallError, isHookgateError, toRpcCode } from "../../src/errors.ts";
import { type Case, equal, ok } from "./case.ts";

const SOURCE = "docs/design.md, Style, Errors";

/** What src/errors.ts promises. */
export const errorsCases: readonly Case[] = [
  {
    id: "errors/an-error-carries-its-code-and-cause",
    source: SOURCE,
    async run() {
      const cause = new Error("underneath");
      const error = new HookgateError("ERR_CLOSED", "the manager is closed", { cause });
      equal([error.name, error.code, error.message], ["HookgateError", "ERR_CLOSED", "the manager is closed"]);
      ok(error.cause === cause, "the cause is lost");
    },
  },
  {
    id: "errors/a-guard-knows-its-own-and-nothing-else",
    source: SOURCE,
    async run() {
      ok(isHookgateError(new HookgateError("ERR_PARSE", "bad JSON")), "its own error is not known");
      ok(isHookCallError(new HookCallError("timeout", "no reply")), "a call error is not known");
      equal([new Error("x"), null, "ERR_PARSE", { code: "ERR_PARSE" }].map(isHookgateError), Array(4).fill(false));
      ok(!isHookCallError(new HookgateError("ERR_HOOK_CALL", "no kind")), "an error without a kind is a call error");
    },
  },
  {
    id: "errors/a-code-maps-to-its-json-rpc-code",
    source: "JSON-RPC 2.0, section 5.1",
    async run() {
      equal(toRpcCode("ERR_PARSE"), -32700);
      equal(toRpcCode("ERR_METHOD_NOT_FOUND"), -32601);
      equal(toRpcCode("ERR_INVALID_PARAMS"), -32602);
    },
  },
];
