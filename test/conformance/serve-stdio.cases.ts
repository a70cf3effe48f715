import { serveStdio, type StdioHandle } from "../../src/endpoint/serve-stdio.ts";
import { HookgateError } from "../../src/errors.ts";
import { equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { MemoryLog, MemoryPipes } from "./memory-stdio.ts";

interface Served {
  /** The host's side: it says lines to the hook and reads the writes. */
  readonly host: MemoryPipes;
  readonly log: MemoryLog;
  readonly done: Promise<void>;
}

function serve(handle: StdioHandle, host = new MemoryPipes()): Served {
  const log = new MemoryLog();
  return { host, log, done: serveStdio(handle, { readable: host.stdout, writable: host.stdin, log }) };
}

const request = (id: unknown, method: string, params: unknown = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

const replies = (host: MemoryPipes): unknown[] =>
  host.writes
    .join("")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));

/** Says lines, ends the input, and gives all that was answered. */
async function answers(handle: StdioHandle, ...lines: readonly string[]): Promise<unknown[]> {
  const { host, done } = serve(handle);
  host.say(...lines);
  host.end();
  await done;
  return replies(host);
}

const echo: StdioHandle = async (_method, params) => params;

/** The hook author's side of stdio. */
export const serveStdioCases = casesOf(
  { topic: "serve-stdio", source: "docs/protocol.md, Over stdio; JSON-RPC 2.0, section 5" },
  {
    "each-call-is-answered-with-its-id": async () => {
      equal(await answers(echo, request(1, "hook.hello"), request("a", "hook.before_tool", { tool: "exec" })), [
        { jsonrpc: "2.0", id: 1, result: {} },
        { jsonrpc: "2.0", id: "a", result: { tool: "exec" } },
      ]);
    },
    "calls-run-at-the-same-time-and-are-answered-when-they-are-done": async () => {
      const waiting = new Map<unknown, () => void>();
      const { host, done } = serve((_method, params) => {
        if (params === "last") for (const go of waiting.values()) go();
        return params === "last"
          ? Promise.resolve("first")
          : new Promise((resolve) => waiting.set(params, () => resolve(params)));
      });
      host.say(request(1, "m", "slow"), request(2, "m", "slower"), request(3, "m", "last"));
      host.end();
      await done;
      equal(replies(host).length, 3);
    },
    "a-notification-has-no-reply-also-when-it-fails": async () => {
      const { host, log, done } = serve(() => Promise.reject(new Error("no room")));
      host.say('{"jsonrpc":"2.0","method":"hook.event","params":{}}');
      host.end();
      await done;
      equal(host.writes, []);
      ok(log.text.includes("no room"), "the failure is not in the log");
    },
    "errors-become-json-rpc-errors": async () => {
      const errors: Record<string, unknown> = {
        unknown: new HookgateError("ERR_METHOD_NOT_FOUND", "no such method"),
        params: new HookgateError("ERR_INVALID_PARAMS", "params.tool: expected a string"),
        broken: new TypeError("x is not a function"),
        other: "a string",
      };
      const handle: StdioHandle = (method) => {
        throw errors[method];
      };
      equal(await answers(handle, ...Object.keys(errors).map((method, index) => request(index + 1, method))), [
        { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "no such method" } },
        { jsonrpc: "2.0", id: 2, error: { code: -32602, message: "params.tool: expected a string" } },
        { jsonrpc: "2.0", id: 3, error: { code: -32000, message: "x is not a function" } },
        { jsonrpc: "2.0", id: 4, error: { code: -32000, message: "a string" } },
      ]);
    },
    "what-is-no-request-is-answered-with-an-error-and-blank-lines-and-replies-with-nothing": async () => {
      const invalid = { code: -32600, message: "not a JSON-RPC request" };
      equal(await answers(echo, "prose", "", "[]", "7", '{"id":5}', '{"id":6,"result":{}}', '{"id":7,"error":{}}'), [
        { jsonrpc: "2.0", id: null, error: { code: -32700, message: "not JSON" } },
        { jsonrpc: "2.0", id: null, error: invalid },
        { jsonrpc: "2.0", id: null, error: invalid },
        { jsonrpc: "2.0", id: 5, error: invalid },
      ]);
    },
    "a-result-without-a-json-form-is-null-and-one-that-cannot-be-encoded-an-error": async () => {
      const [first, second] = await answers(
        async (method) => (method === "none" ? undefined : { big: 1n }),
        request(1, "none"),
        request(2, "big"),
      );
      equal(first, { jsonrpc: "2.0", id: 1, result: null });
      ok(JSON.stringify(second).includes('"code":-32000'), JSON.stringify(second));
    },
    "the-end-of-the-input-ends-it-once-what-runs-is-answered": async () => {
      const waiting: ((value: unknown) => void)[] = [];
      const { host, done } = serve(() => new Promise((resolve) => waiting.push(resolve)));
      host.say(request(1, "m"));
      host.end();
      // The reader sees the line and the end of the input before the next task.
      await new Promise((resolve) => setTimeout(resolve, 0));
      for (const answer of waiting) answer("late");
      await done;
      equal(replies(host), [{ jsonrpc: "2.0", id: 1, result: "late" }]);
    },
    "a-call-that-outlives-the-host-is-told-by-its-signal": async () => {
      const seen: boolean[] = [];
      const { host, done } = serve(
        (_method, _params, { signal }) =>
          new Promise(() => {
            signal.addEventListener("abort", () => seen.push(signal.aborted));
          }),
      );
      host.say(request(1, "m"));
      host.end();
      await done;
      equal(seen, [true]);
    },
    "a-host-that-is-gone-ends-it-at-once": async () => {
      const host = new MemoryPipes();
      const broken = new WritableStream<Uint8Array>({ write: () => Promise.reject(new Error("EPIPE")) });
      const done = serveStdio(echo, { readable: host.stdout, writable: broken });
      host.say(request(1, "m"));
      await done;
    },
  },
);
