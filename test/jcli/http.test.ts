import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createNodeHookEndpoint,
  type EndpointListener,
  nodeHookPorts,
  serveEndpoint,
} from "../../adapters/node/index.ts";
import type { HookEndpoint } from "../../src/endpoint/index.ts";
import { createLifecycleHttp } from "../../src/config/index.ts";
import { type HookFileProblem, LifecycleManager, type LifecycleOutcome, readHookFile } from "../../src/jcli/index.ts";
import { silentLog } from "../../src/log.ts";
import { defineHook } from "../../src/picoclaw/index.ts";

const SECRET = "a secret of at least thirty-two bytes";
const URL_FILE = "http://127.0.0.1:1/hook";

/** One hook for both systems. */
const guard = defineHook({
  beforeTool: () => ({ action: "deny_tool" }),
  lifecycle: {
    pre_send_message: ({ user_input = "" }) =>
      user_input.includes("stop") ? { action: "stop", retry_feedback: "no" } : { user_input: `${user_input}!` },
    pre_tool_execution({ tool_arguments }) {
      if (tool_arguments === "throw") throw new Error("broken");
    },
  },
});

let listener: EndpointListener;
/** Made once its URL is known, which is a part of what is signed. */
let served: HookEndpoint;
let url = "";

beforeAll(async () => {
  // The endpoint's URL is a part of what is signed, and known once it listens.
  listener = await serveEndpoint(
    {
      fetch: (request) => served.fetch(request),
      answer: (request, context) => served.answer(request, context),
      ready: () => Promise.resolve(),
    },
    { port: 0 },
  );
  url = `${listener.url}/hook`;
  const options = { name: "guard", url, gateway: "hookgate", secret: SECRET };
  served = createNodeHookEndpoint(guard, options);
});

afterAll(() => listener.close());

const env = { HOOK_SECRET: SECRET };

interface Loaded {
  readonly manager: LifecycleManager;
  readonly problems: readonly HookFileProblem[];
}

function load(event: string, fields: object, isPublicOnly = false): Loaded {
  const gateway = { id: "hookgate" };
  const options = { ports: nodeHookPorts, gateway, isPublicOnly, log: silentLog, now: () => performance.now() };
  const ports = createLifecycleHttp(isPublicOnly ? options : { ...options, env });
  const text = JSON.stringify({ [event]: [{ type: "http", url, ...fields }] });
  const { hooks, problems } = readHookFile(text, { types: ["http"], checkHttp: ports.checkHttp });
  const manager = new LifecycleManager({ ports });
  manager.load("user", hooks);
  return { manager, problems };
}

const signed = { endpoint: "guard", secret: "${env:HOOK_SECRET}" };

async function run(user_input: string, fields: object = signed): Promise<LifecycleOutcome> {
  const { manager, problems } = load("pre_send_message", fields);
  expect(problems).toEqual([]);
  const outcome = await manager.run({ event: "pre_send_message", user_input });
  await manager.close();
  return outcome;
}

describe("a hook of type http", () => {
  test("is sent the context, signed, and its result is used", async () => {
    expect(await run("hi")).toMatchObject({ result: { user_input: "hi!" }, trace: { records: [{ source: "http" }] } });
    expect(await run("stop")).toMatchObject({ result: { action: "stop", retry_feedback: "no" }, halted: true });
  });

  test("gives no verdict when the endpoint does not know the gateway's secret", async () => {
    const { result, trace } = await run("hi", { endpoint: "guard", secret: "another secret of thirty-two bytes" });
    expect(result).toEqual({});
    expect(trace.records).toMatchObject([{ kind: "http_status", failed_open: true }]);
  });

  test("gives no verdict at an event the endpoint does not serve, or when its handler throws", async () => {
    for (const event of ["stop", "pre_tool_execution"] as const) {
      const { manager } = load(event, { ...signed, on_error: "abort" });
      const { result, trace } = await manager.run({ event, tool_name: "x", tool_arguments: "throw" });
      expect(result).toEqual({ action: "stop" });
      expect(trace.records).toMatchObject([{ kind: "rpc_error" }]);
      await manager.close();
    }
  });

  test.each([
    [{}, "secret", "nothing signs its calls"],
    [{ secret: SECRET }, "endpoint", "missing: the name"],
    [{ ...signed, secret: "${env:NONE}" }, "secret", "NONE is not set"],
    [{ ...signed, secret: "short" }, "secret", "at least 32 bytes"],
    [{ ...signed, url: "ftp://x/" }, "url", "must be https or http"],
    [{ ...signed, url: "http://example.com/" }, "url", '"allow_insecure": true'],
    [{ ...signed, headers: { "x y": "1" } }, 'headers["x y"]', "header"],
    [{ ...signed, scheme: "none" }, "scheme", "unknown value"],
  ])("with %o is refused at its place", (fields, field, message) => {
    const { problems } = load("stop", fields);
    expect(problems.map((problem) => problem.field)).toContain(field);
    expect(problems.map((problem) => problem.message).join()).toContain(message);
    expect(JSON.stringify(problems)).not.toContain(SECRET);
  });

  test("of a stranger reaches public addresses only and no variable", () => {
    for (const target of [URL_FILE, "https://localhost/", "https://10.0.0.1/", "https://[::1]/"]) {
      const { problems } = load("stop", { url: target, unsigned: true, allow_private: true }, true);
      expect(problems).toMatchObject([{ field: "url", message: "url must not be a private address" }]);
    }
    const { problems } = load("stop", { ...signed, url: "https://example.com/" }, true);
    expect(problems).toMatchObject([{ field: "secret", message: "variables of the environment cannot be used here" }]);
  });
});
