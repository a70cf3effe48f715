import { describe, expect, test } from "vitest";
import { type Config, parseConfig } from "../../src/config/index.ts";
import { createBuiltinRegistry } from "../../src/picoclaw/index.ts";

const GATE = { enabled: true, command: ["gate"], intercept: ["before_tool"] };

function read(config: unknown, env: Readonly<Record<string, string>> = {}): Config {
  return parseConfig(JSON.stringify(config), { env, builtins: createBuiltinRegistry() });
}

function gate(changes: object): unknown {
  return { hooks: { processes: { gate: { ...GATE, ...changes } } } };
}

describe("a config that is good", () => {
  test("has every default filled in", () => {
    expect(read(gate({}))).toEqual({
      hooks: {
        enabled: true,
        defaults: {},
        builtins: {},
        processes: {
          gate: {
            enabled: true,
            priority: 0,
            transport: "stdio",
            command: ["gate"],
            dir: "",
            env: {},
            observe: [],
            intercept: ["before_tool"],
            required: false,
            events: "hook.event",
            dialect: "picoclaw",
          },
        },
      },
      gateway: {
        host: "127.0.0.1",
        port: 8787,
        id: "hookgate",
        auth: { tokens: [], jwt: [], signatures: [] },
        limits: {},
        allowed_origins: [],
      },
      metrics: { enabled: true },
      notes: [],
      fromEnvironment: new Set(),
    });
  });

  test("may be a whole PicoClaw config, whose address is PicoClaw's own", () => {
    const { hooks, gateway, notes } = read({
      agents: { defaults: { workspace: "~/.picoclaw/workspace" } },
      model_list: [{ model_name: "m", api_key: "${env:NOT_SET}" }],
      gateway: { host: "0.0.0.0", port: 18790, hot_reload: false, auth: { tokens: [] } },
      hooks: {
        enabled: true,
        defaults: { observer_timeout_ms: 0, interceptor_timeout_ms: -1, approval_timeout_ms: 60_000 },
        builtins: null,
        processes: { gate: { ...GATE, transport: null, env: null, observe: null, priority: -100 } },
      },
    });
    expect(gateway).toMatchObject({ host: "127.0.0.1", port: 8787 });
    expect(notes).toEqual(["this is a PicoClaw config: the address in gateway is PicoClaw's own and is not used"]);
    expect(hooks.processes["gate"]).toMatchObject({ transport: "stdio", observe: [], priority: -100 });
    expect(hooks.defaults.interceptor_timeout_ms).toBe(-1);
  });

  test("leaves hooks that are not enabled half finished", () => {
    const { hooks } = read({
      hooks: { builtins: { other: {} }, processes: { a: {}, b: { enabled: false, command: ["${env:NOT_SET}"] } } },
    });
    expect(Object.values(hooks.processes).map(({ enabled }) => enabled)).toEqual([false, false]);
    expect(read({ hooks: { enabled: false, processes: { a: { enabled: true } } } }).hooks.enabled).toBe(false);
  });

  test("takes events by either name, and all of them", () => {
    const observe = ["*", "all", "tool_exec_end", "agent.tool.exec_start"];
    expect(read(gate({ observe, events: "hook.runtime_event" })).hooks.processes["gate"]?.observe).toEqual(observe);
  });

  test("keeps secrets in the environment", () => {
    const { hooks } = read(gate({ env: { KEY: "${env:KEY}" } }), { KEY: "s3cret" });
    expect(hooks.processes["gate"]).toMatchObject({ env: { KEY: "s3cret" } });
  });
});
