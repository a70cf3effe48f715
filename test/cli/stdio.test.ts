import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSpawn } from "../../adapters/node/index.ts";
import { createManagerFromConfig, parseConfig, type StartedManager } from "../../src/config/index.ts";
import { silentLog } from "../../src/log.ts";
import { createBuiltinRegistry } from "../../src/picoclaw/index.ts";
import { type Desk, openDesk, SECRET } from "./desk.ts";
import { createGate } from "../conformance/fixture.ts";
import { BIN, hook, makeDir, removeDir, run } from "./run.ts";

let desk: Desk;
let dir: string;
let host: StartedManager | undefined;

beforeEach(async () => {
  desk = await openDesk();
});

afterEach(async () => {
  await host?.manager.close();
  host = undefined;
  await desk.close();
  await removeDir(dir);
});

const POINTS = ["before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"];

/** The hooks that PicoClaw is to reach: one process, one endpoint that signs. */
function inner(changes: object = {}): object {
  const remote = {
    enabled: true,
    transport: "http",
    url: desk.hook,
    secret: "${env:DESK}",
    intercept: ["before_tool", "approve_tool"],
  };
  return { hooks: { processes: { desk: remote, ...changes } } };
}

/** Another manager, with the shape of a PicoClaw config: `hookgate stdio` is its one hook. */
async function picoclaw(
  config: object,
  { flags = [], defaults = {}, events }: { flags?: readonly string[]; defaults?: object; events?: string } = {},
) {
  dir = await makeDir({ "inner.json": config });
  const command = [process.execPath, BIN, "stdio", "--config", "inner.json", "--log-level", "silent", ...flags];
  const process_ = {
    enabled: true,
    priority: 100,
    transport: "stdio",
    command,
    dir,
    env: { DESK: SECRET },
    observe: ["*"],
    intercept: POINTS,
    ...(events !== undefined && { events }),
  };
  const text = JSON.stringify({ agents: {}, hooks: { enabled: true, defaults, processes: { hookgate: process_ } } });
  const builtins = createBuiltinRegistry();
  host = await createManagerFromConfig(parseConfig(text, { env: {}, builtins }), {
    spawn: createSpawn,
    builtins,
    log: silentLog,
    now: () => performance.now(),
    baseDir: dir,
  });
  expect(host.started).toMatchObject([{ name: "hookgate", state: "ready" }]);
  return host.manager;
}

describe("hookgate stdio", () => {
  test("is one process hook of PicoClaw in front of all the others", async () => {
    const manager = await picoclaw(
      inner({
        gate: hook({
          "hook.after_tool": { result: { for_llm: "seen" } },
          "hook.before_llm": { request: { model: "small" } },
        }),
      }),
    );
    const denied = await manager.beforeTool({ tool: "format_disk" });
    expect([denied.action, denied.reason]).toEqual(["deny_tool", "never"]);
    expect(await manager.beforeTool({ tool: "ls" })).toMatchObject({ action: "continue", changed: false });
    const approval = await manager.approveTool({ tool: "bash" });
    expect([approval.approved, approval.reason]).toEqual([false, "the desk says no"]);
    expect(await manager.approveTool({ tool: "ls" })).toMatchObject({ approved: true });
    const { outcome } = await manager.afterTool({ tool: "ls", result: { for_llm: "raw" } });
    expect(outcome.result).toMatchObject({ for_llm: "seen" });
    expect((await manager.beforeLlm({ model: "large", messages: [] })).request.model).toBe("small");
    expect(await manager.afterLlm({ model: "m", response: { content: "hi" } })).toMatchObject({ action: "continue" });
  });

  test.each(["hook.event", "hook.runtime_event"])("hands events on that it is told of by %s", async (events) => {
    const told = createGate<string>();
    await desk.close();
    desk = await openDesk({}, { onEvent: ({ Kind }) => told.open(Kind) });
    const remote = {
      enabled: true,
      transport: "http",
      url: desk.hook,
      secret: "${env:DESK}",
      observe: ["turn_end"],
      events,
    };
    const manager = await picoclaw({ hooks: { processes: { desk: remote } } }, { events });
    manager.emit({ Kind: "turn_start" });
    manager.emit({ Kind: "turn_end", Payload: { Status: "completed" } });
    expect(await told.promise).toBe("turn_end");
  });

  test("answers before the host gives up on it", async () => {
    const silent = hook(
      { "hook.hello": {}, "hook.before_tool": "silence", "hook.approve_tool": "silence" },
      { priority: -1 },
    );
    const flags = ["--interceptor-timeout-ms", "600", "--approval-timeout-ms", "600"];
    const defaults = { interceptor_timeout_ms: 600, approval_timeout_ms: 600 };
    const manager = await picoclaw(inner({ silent, silent2: silent }), { flags, defaults });
    const decision = await manager.beforeTool({ tool: "format_disk" });
    // An answer, and not the host's own timeout: the hooks that were not reached in time are skipped.
    expect([decision.action, decision.trace.records.map(({ outcome }) => outcome)]).toEqual(["continue", ["continue"]]);
    const approval = await manager.approveTool({ tool: "ls" });
    expect([approval.approved, approval.reason]).toEqual([false, 'tool approval hook "silent" timed out']);
    expect(approval.trace.records).toMatchObject([{ outcome: "denied" }]);
  });

  test("greets while its hooks still start, and denies what they cannot decide in time", async () => {
    const slow = hook({ "hook.hello": "silence", "hook.approve_tool": { approved: true } });
    const manager = await picoclaw(
      { hooks: { processes: { slow } } },
      { flags: ["--approval-timeout-ms", "300"], defaults: { approval_timeout_ms: 2000 } },
    );
    const approval = await manager.approveTool({ tool: "ls" });
    expect([approval.approved, approval.reason]).toEqual([false, "the hooks of hookgate were not up in time"]);
  });

  test("writes nothing but the protocol to stdout, and ends with its input", async () => {
    dir = await makeDir({ "inner.json": inner() });
    const lines = [
      { jsonrpc: "2.0", id: 1, method: "hook.hello", params: { name: "hookgate", version: 1, modes: ["tool"] } },
      { jsonrpc: "2.0", id: 2, method: "hook.before_tool", params: { tool: "format_disk" } },
      { jsonrpc: "2.0", id: 3, method: "hook.nothing", params: {} },
    ];
    const stdin = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const { code, stdout, stderr } = await run(["stdio", "--config", "inner.json", "--log-level", "debug"], {
      cwd: dir,
      stdin,
      env: { DESK: SECRET },
    });
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown)
        .toSorted((a, b) => Reflect.get(Object(a), "id") - Reflect.get(Object(b), "id")),
    ).toEqual([
      { jsonrpc: "2.0", id: 1, result: { ok: true, name: "hookgate", version: 1 } },
      { jsonrpc: "2.0", id: 2, result: { action: "deny_tool", reason: "never" } },
      { jsonrpc: "2.0", id: 3, error: { code: -32601, message: expect.stringContaining("unknown method") as string } },
    ]);
    expect(stderr).toContain("the hook answered the greeting");
    expect(stderr).not.toContain(SECRET);
  });

  test("does not come up when a required hook does not, or the config is not good", async () => {
    dir = await makeDir({
      "required.json": {
        hooks: {
          processes: {
            gone: { enabled: true, required: true, command: ["hookgate-no-such-command"], intercept: ["before_tool"] },
          },
        },
      },
      "bad.json": { hooks: { processes: { desk: { enabled: true, transport: "http", intercept: ["before_tool"] } } } },
    });
    const required = await run(["stdio", "--config", "required.json"], { cwd: dir, keepsStdin: true });
    expect(required.code).toBe(1);
    expect(required.stderr).toContain('error: required hook "gone" did not come up: ');
    const bad = await run(["stdio", "--config", "bad.json"], { cwd: dir });
    expect([bad.code, bad.stdout]).toEqual([1, ""]);
    expect(bad.stderr).toContain("hooks.processes.desk.url: missing");
  });

  test.each([
    ["--interceptor-timeout-ms", "0"],
    ["--approval-timeout-ms", "soon"],
  ])("refuses %s %s", async (flag, value) => {
    dir = await makeDir({});
    const { code, stderr } = await run(["stdio", flag, value], { cwd: dir });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${flag}: expected milliseconds, got "${value}"`)]);
  });
});
