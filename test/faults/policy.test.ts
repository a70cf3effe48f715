import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { nodeHookPorts } from "../../adapters/node/hook-ports.ts";
import { createManagerFromConfig, parseConfig } from "../../src/config/index.ts";
import type { FailureCause, FailureEffect } from "../../src/index.ts";
import { silentLog } from "../../src/log.ts";
import { BuiltinRegistry, HOOK_POINTS, type HookManager, type HookPoint } from "../../src/picoclaw/index.ts";

/** A hook that greets, and then does what it is told to with each call. */
const PROCESS = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "hook.hello") return console.log(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
  const [how] = process.argv.slice(1);
  if (how === "dies") process.exit(3);
  if (how === "garbage") console.log(JSON.stringify({ jsonrpc: "2.0", id, result: "yes" }));
  if (how === "errs") console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: "no" } }));
});`;

const stdio = (how: string): object => ({ command: [process.execPath, "-e", PROCESS, how] });

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== "object" || address === null) throw new Error("no address");
  return address.port;
}

interface Failing {
  readonly cause: FailureCause;
  readonly kind: string;
  readonly entry: () => object | Promise<object>;
}

const FAILING: Readonly<Record<string, Failing>> = {
  "answers with an error": { cause: "error", kind: "rpc_error", entry: () => stdio("errs") },
  dies: { cause: "error", kind: "exited", entry: () => stdio("dies") },
  hangs: { cause: "timeout", kind: "timeout", entry: () => ({ ...stdio("hangs"), timeout_ms: 60 }) },
  "answers garbage": { cause: "invalid", kind: "bad_result", entry: () => stdio("garbage") },
  "is not there": {
    cause: "unreachable",
    kind: "unreachable",
    entry: async () => ({
      transport: "http",
      url: `http://127.0.0.1:${await closedPort()}/`,
      unsigned: true,
      handshake: "none",
      retry: 0,
    }),
  },
  "cannot be started": { cause: "unreachable", kind: "not_running", entry: () => ({ command: ["/no/such/hook"] }) },
};

const ASK: Readonly<Record<HookPoint, (manager: HookManager) => Promise<Seen>>> = {
  before_llm: (manager) => manager.beforeLlm({ model: "m", messages: [] }),
  after_llm: (manager) => manager.afterLlm({ model: "m", response: { content: "" } }),
  before_tool: (manager) => manager.beforeTool({ tool: "shell" }),
  after_tool: (manager) => manager.afterTool({ tool: "shell", result: { for_llm: "" } }),
  approve_tool: async (manager) => {
    const { approved, action, trace } = await manager.approveTool({ tool: "shell" });
    return { action: approved ? "continue" : action === "abort_turn" ? "abort_turn" : "deny_tool", trace };
  },
};

interface Seen {
  readonly action: string;
  readonly trace: { readonly records: readonly { readonly kind?: string; readonly failed_open?: true }[] };
}

function expected(point: HookPoint, effect: FailureEffect): string {
  if (effect !== "deny") return effect;
  return point === "before_tool" || point === "approve_tool" ? "deny_tool" : "abort_turn";
}

const now = (): number => performance.now();

let manager: HookManager | undefined;

afterEach(async () => {
  await manager?.close();
  manager = undefined;
});

async function start(entry: object, rules: object): Promise<HookManager> {
  const builtins = new BuiltinRegistry();
  const hook = { enabled: true, ...entry, ...rules };
  // Each point has a hook of its own, so that a process that dies is there once for each.
  const processes = Object.fromEntries(HOOK_POINTS.map((point) => [point, { ...hook, intercept: [point] }]));
  const config = parseConfig(JSON.stringify({ hooks: { processes } }), { env: {}, builtins });

  ({ manager } = await createManagerFromConfig(config, { ...nodeHookPorts, builtins, log: silentLog, now }));
  return manager;
}

const EFFECTS: readonly (FailureEffect | undefined)[] = ["continue", "deny", "abort_turn", undefined];

describe.each(Object.entries(FAILING))("a hook that %s", (_name, { cause, kind, entry }) => {
  test.each(EFFECTS)("with policy %s", async (effect) => {
    // The other causes say something else, so that only the right one gives the right answer.
    const other = effect === "continue" ? "deny" : "continue";
    const rules = Object.fromEntries(
      ["error", "timeout", "invalid", "unreachable"].map((name) => [`on_${name}`, name === cause ? effect : other]),
    );
    const hooks = await start(await entry(), effect === undefined ? {} : rules);
    for (const point of HOOK_POINTS) {
      const { action, trace } = await ASK[point](hooks);
      const wanted = effect ?? (point === "approve_tool" ? "deny" : "continue");
      const [record] = trace.records;
      expect([point, action, record?.kind, record?.failed_open]).toEqual([
        point,
        expected(point, wanted),
        kind,
        wanted === "continue" ? true : undefined,
      ]);
    }
    const isOpen = (point: string): boolean =>
      (effect ?? (point === "approve_tool" ? "deny" : "continue")) === "continue";
    for (const { name, failed_open_by } of hooks.hooks()) {
      expect(failed_open_by).toEqual(isOpen(name) ? [{ point: name, kind, count: 1 }] : []);
    }
  });
});
