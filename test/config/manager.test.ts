import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSpawn } from "../../adapters/node/child-process.ts";
import {
  ConfigError,
  createManagerFromConfig,
  type Environment,
  parseConfig,
  type StartedManager,
} from "../../src/config/index.ts";
import { silentLog } from "../../src/log.ts";
import { BuiltinRegistry, createBuiltinRegistry, type HookManager } from "../../src/picoclaw/index.ts";

/** A hook that denies at before_tool, saying what it was greeted with and where it runs. */
const ECHO = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "hook.hello") globalThis.hello = params;
  if (id === undefined) return;
  const reason = JSON.stringify({ hello: globalThis.hello, cwd: process.cwd(), mark: process.env.MARK });
  const result = method === "hook.hello" ? {} : { action: "deny_tool", reason };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});`;

const echo = { enabled: true, command: [process.execPath, "-e", ECHO], intercept: ["before_tool", "approve_tool"] };

let baseDir: string;
let manager: HookManager | undefined;

beforeEach(async () => {
  baseDir = await mkdtemp(join(tmpdir(), "hookgate-"));
});

afterEach(async () => {
  await manager?.close();
  manager = undefined;
  await rm(baseDir, { recursive: true });
});

const now = (): number => performance.now();

async function start(
  hooks: object,
  { builtins = createBuiltinRegistry(), env = {} }: { builtins?: BuiltinRegistry; env?: Environment } = {},
): Promise<StartedManager> {
  const config = parseConfig(JSON.stringify({ hooks }), { env, builtins });
  const made = await createManagerFromConfig(config, { spawn: createSpawn, builtins, log: silentLog, now, baseDir });
  manager = made.manager;
  return made;
}

describe("createManagerFromConfig", () => {
  test("starts a process with its greeting, its directory and its variables", async () => {
    const made = await start({
      processes: { echo: { ...echo, dir: ".", env: { MARK: "1" }, observe: ["turn_end"], priority: 3 } },
    });
    const { reason } = await made.manager.beforeTool({ tool: "bash" });
    expect(JSON.parse(reason)).toEqual({
      hello: { name: "echo", version: 1, modes: ["observe", "tool", "approve"] },
      cwd: baseDir,
      mark: "1",
    });
    expect(made.started).toEqual([
      {
        name: "echo",
        transport: "stdio",
        points: ["before_tool", "approve_tool"],
        observe: ["turn_end"],
        required: false,
        state: "ready",
        ms: expect.any(Number) as unknown,
      },
    ]);
    expect(made.manager.hooks()).toMatchObject([{ name: "echo", priority: 3, source: "stdio" }]);
  });

  test("lists the hooks in calling order, with what kept one from coming up", async () => {
    const { started } = await start({
      builtins: { log: { enabled: true, priority: 9 }, deny_tools: { enabled: true, config: { tools: ["x"] } } },
      processes: {
        slow: { ...echo, priority: 1 },
        gone: { ...echo, command: ["hookgate-no-such-command"], required: true },
        off: { ...echo, enabled: false },
      },
    });
    expect(started.map(({ name, transport, state }) => [name, transport, state])).toEqual([
      ["deny_tools", "in-process", "ready"],
      ["log", "in-process", "ready"],
      ["gone", "stdio", "backing_off"],
      ["slow", "stdio", "ready"],
    ]);
    expect(started[2]).toMatchObject({
      required: true,
      reason: expect.stringContaining("command not found") as unknown,
    });
  });

  test("never says a value of the environment when a hook cannot be started", async () => {
    const { started } = await start(
      {
        processes: {
          command: { ...echo, command: ["hookgate-${env:KEY}"] },
          denied: { ...echo, command: ["./${env:KEY}"], dir: "." },
          dir: { ...echo, dir: "${env:KEY}" },
          argument: { ...echo, command: ["hookgate-no-such", "${env:KEY}"] },
        },
      },
      { env: { KEY: "hunter2" } },
    );
    expect(started.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([
      'argument: the hook process could not be started: ENOENT, command not found: "hookgate-no-such"',
      "command: the hook process could not be started: ENOENT, command not found: its name is from the environment",
      "denied: the hook process could not be started: ENOENT, command not found: its name is from the environment",
      "dir: the hook process could not be started: ENOENT, directory not found: its name is from the environment",
    ]);
  });

  test("calls no hook at all when hooks are not enabled", async () => {
    const { started } = await start({ enabled: false, processes: { echo } });
    expect(started).toEqual([]);
  });

  test("takes the deadlines of the config, and its own for 0", async () => {
    const silent = {
      ...echo,
      command: [process.execPath, "-e", ECHO.replace("console.log(", "method === 'hook.hello' && console.log(")],
    };
    const defaults = { interceptor_timeout_ms: 20, approval_timeout_ms: 0 };
    const made = await start({ defaults, processes: { silent } });
    const { trace } = await made.manager.beforeTool({ tool: "bash" });
    expect(trace.records).toMatchObject([{ hook: "silent", kind: "timeout", failed_open: true }]);
  });

  test("leaves nothing behind when a built-in hook refuses its config", async () => {
    const builtins = new BuiltinRegistry();
    let closedCount = 0;
    builtins.register("first", () => ({ beforeTool: () => undefined, close: () => void (closedCount += 1) }));
    builtins.register("second", () => {
      throw new Error("no such list");
    });
    const hooks = { builtins: { first: { enabled: true }, second: { enabled: true } }, processes: { echo } };
    const error = await start(hooks, { builtins }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ problems: [{ path: "hooks.builtins.second.config", message: "no such list" }] });
    expect(closedCount).toBe(1);
  });
});
