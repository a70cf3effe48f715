import { describe, expect, test } from "vitest";
import { ConfigError, type ConfigProblem, MAX_CONFIG_CHARS, parseConfig } from "../../src/config/index.ts";
import { createBuiltinRegistry } from "../../src/picoclaw/index.ts";

const GATE = { enabled: true, command: ["gate"], intercept: ["before_tool"] };
const HASH = "ab".repeat(32);

function refused(config: unknown, env: Readonly<Record<string, string>> = {}): ConfigError {
  const text = typeof config === "string" ? config : JSON.stringify(config);
  try {
    parseConfig(text, { env, builtins: createBuiltinRegistry(), file: "hooks.json" });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("the config was accepted");
}

/** What is wrong, without the places: a config is mostly given as a value here. */
function problems(config: unknown): readonly ConfigProblem[] {
  return refused(config).problems.map((problem) => {
    const rest: { -readonly [K in keyof ConfigProblem]: ConfigProblem[K] } = { ...problem };
    delete rest.line;
    delete rest.column;
    return rest;
  });
}

function gate(changes: object): unknown {
  return { hooks: { processes: { gate: { ...GATE, ...changes } } } };
}

describe("a config that is not good", () => {
  test.each<readonly [string, object, ConfigProblem]>([
    [
      "an unknown transport",
      { transport: "sdtio" },
      {
        path: "hooks.processes.gate.transport",
        message: "unknown transport",
        value: '"sdtio"',
        allowed: ["stdio", "http", "service"],
        nearest: "stdio",
      },
    ],
    [
      "no command",
      { command: [] },
      {
        path: "hooks.processes.gate.command",
        message: 'missing: the program to run, such as ["python3", "gate.py"]',
      },
    ],
    [
      "an empty command",
      { command: ["", "x"] },
      {
        path: "hooks.processes.gate.command",
        message: 'missing: the program to run, such as ["python3", "gate.py"]',
      },
    ],
    [
      "a command that is one string",
      { command: "gate --now" },
      { path: "hooks.processes.gate.command", message: "expected an array", value: '"gate --now"' },
    ],
    [
      "an unknown intercept point",
      { intercept: ["before_tools"] },
      {
        path: "hooks.processes.gate.intercept[0]",
        message: "unknown hook point",
        value: '"before_tools"',
        allowed: ["before_llm", "after_llm", "before_tool", "approve_tool", "after_tool"],
        nearest: "before_tool",
      },
    ],
    [
      "no mode",
      { intercept: [] },
      {
        path: "hooks.processes.gate",
        message: 'the hook is never called: it has neither "observe" nor "intercept"',
      },
    ],
    [
      "an unknown key",
      { requierd: true },
      {
        path: "hooks.processes.gate.requierd",
        message: "unknown key",
        nearest: "required",
        allowed: [
          "enabled",
          "priority",
          "transport",
          "command",
          "dir",
          "env",
          "max_concurrency",
          "observe",
          "intercept",
          "required",
          "events",
          "max_message_bytes",
          "timeout_ms",
          "on_error",
          "on_timeout",
          "on_invalid",
          "on_unreachable",
          "match",
          "parallel",
          "read_only",
          "mode",
          "detached",
          "cache",
          "dialect",
          "respond_requires_approval",
          "grants",
        ],
      },
    ],
    [
      "a fraction",
      { priority: 1.5 },
      { path: "hooks.processes.gate.priority", message: "expected an integer", value: "1.5" },
    ],
    [
      "a bound of nothing",
      { max_message_bytes: 0 },
      { path: "hooks.processes.gate.max_message_bytes", message: "expected at least 1", value: "0" },
    ],
    [
      "a variable that is not set",
      { dir: "${env:NOPE}/x", transport: "${env:NOPE}" },
      { path: "hooks.processes.gate.transport", message: "the environment variable NOPE is not set" },
    ],
  ])("has %s", (_, changes, problem) => {
    expect(problems(gate(changes))).toContainEqual(problem);
  });

  test("has an unknown event, or an empty one", () => {
    const [empty, unknown] = problems(gate({ observe: ["", "tool_exec_ends"] }));
    expect(empty).toMatchObject({ path: "hooks.processes.gate.observe[0]", value: '""' });
    expect(empty?.message).toBe('an empty name stands for nothing; write "*" for every event');
    expect(unknown).toMatchObject({ message: "unknown event", value: '"tool_exec_ends"', nearest: "tool_exec_end" });
    expect(unknown?.allowed).toContain("turn_start");
  });

  test("names a built-in hook that is not there, or gives it a bad config", () => {
    expect(
      problems({
        hooks: {
          builtins: {
            deny_tool: { enabled: true },
            deny_tools: { enabled: true, config: { tool: [], tools: [""] } },
            log: { enabled: true, config: { level: "warn" } },
          },
        },
      }),
    ).toEqual([
      {
        path: "hooks.builtins.deny_tool",
        message: "unknown built-in hook",
        allowed: ["deny_tools", "log"],
        nearest: "deny_tools",
      },
      {
        path: "hooks.builtins.deny_tools.config.tool",
        message: "unknown key",
        allowed: ["tools", "reason"],
        nearest: "tools",
      },
      { path: "hooks.builtins.deny_tools.config.tools[0]", message: "must not be empty", value: '""' },
      {
        path: "hooks.builtins.log.config.level",
        message: "unknown value",
        value: '"warn"',
        allowed: ["debug", "info"],
      },
    ]);
    expect(problems({ hooks: { builtins: { deny_tools: { enabled: true } } } })).toEqual([
      { path: "hooks.builtins.deny_tools.config.tools", message: "missing: expected an array" },
    ]);
  });

  test("uses one name for two hooks, or a name that is none", () => {
    const builtins = { gate: { enabled: false }, log: { enabled: true } };
    const processes = `{"log": ${JSON.stringify(GATE)}, "gate": {}, "": {}, "__proto__": {"enabled": true}}`;
    expect(
      problems(`{"hooks": {"builtins": ${JSON.stringify(builtins)}, "processes": ${processes}}}`).map(
        ({ path, message }) => `${path}: ${message}`,
      ),
    ).toEqual([
      "hooks.processes.log: a built-in hook has the same name; all hooks share one name space",
      'hooks.processes[""]: a hook\'s name must not be empty',
      "hooks.processes.__proto__: this name cannot be used",
      'hooks.processes.__proto__.command: missing: the program to run, such as ["python3", "gate.py"]',
      'hooks.processes.__proto__: the hook is never called: it has neither "observe" nor "intercept"',
    ]);
  });

  test("misspells a top-level key, which would load nothing", () => {
    expect(problems({ hook: {} })[1]).toEqual({ path: "hook", message: "unknown key", nearest: "hooks" });
    expect(problems({ hooks: {}, gatway: {} })).toEqual([
      { path: "gatway", message: "unknown key", nearest: "gateway" },
    ]);
    expect(problems({ agents: {} })).toEqual([{ path: "hooks", message: "missing: expected an object" }]);
    expect(problems("[]")).toEqual([{ path: "$", message: "expected an object", value: "an array" }]);
  });

  test("has a gateway that cannot be", () => {
    const tokens = [
      { name: "bot", sha256: HASH, scopes: ["cal"] },
      { name: "bot", sha256: HASH.toUpperCase(), scopes: ["call"] },
      { name: "x", sha256: "hunter2", scopes: [] },
    ];
    const gateway = { port: 99_999, auth: { tokens }, limits: { max_batch: 0 }, allowed_origins: ["*"], hots: "x" };
    const found = problems({ hooks: {}, gateway });
    expect(found.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "gateway.port: expected at most 65535",
      "gateway.auth.tokens[0].scopes[0]: unknown scope",
      "gateway.auth.tokens[1].name: another caller has the same name",
      "gateway.auth.tokens[1].sha256: another token has the same sha256",
      "gateway.auth.tokens[2].sha256: expected the SHA-256 of the token as 64 hex digits",
      "gateway.auth.tokens[2].scopes: must not be empty",
      "gateway.limits.max_batch: expected at least 1",
      'gateway.allowed_origins[0]: expected an origin such as "https://example.com"',
      "gateway.hots: unknown key",
    ]);
    expect(found.at(-1)).toMatchObject({ nearest: "host" });
  });

  test("has a text or a list that is too short or too long", () => {
    const approvals = { link_secret: "short", url: `https://gate.example/${"x".repeat(2048)}` };
    const found = problems({ hooks: {}, approvals });
    expect(found.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "approvals.link_secret: expected at least 32 characters",
      "approvals.url: expected at most 2048 characters",
    ]);
    expect(found[0]).not.toHaveProperty("value");
    const notify = Array.from({ length: 51 }, () => ({ type: "command", command: "true" }));
    expect(problems({ hooks: {}, approvals: { notify } })).toEqual([
      { path: "approvals.notify", message: "expected at most 50 entries", value: "an array" },
    ]);
  });

  test("is told of everything at once, each on its line", () => {
    const text = `{
  "hooks": {
    "processes": {
      "gate": {"enabled": true, "transport": "htp", "intercept": ["before_tool"]},
      "spy": {"enabled": true, "command": ["spy"], "observe": ["nothing"]},
      "spy": {"enabled": true, "command": ["spy"]}
    }
  },
  "gateway": {"port": "8787"}
}`;
    expect(refused(text).message.split("\n")).toEqual([
      'hooks.json:4:46 hooks.processes.gate.transport: unknown transport, got "htp"; did you mean "http"? (expected one of: stdio, http, service)',
      "hooks.json:6:7 hooks.processes.spy: the key is there twice",
      expect.stringMatching(/^hooks\.json:6:14 hooks\.processes\.spy: the hook is never called/),
      'hooks.json:9:23 gateway.port: expected a number, got "8787"',
    ]);
  });

  test("is not JSON", () => {
    expect(refused('{\n  // hooks\n  "hooks": {}\n}').message).toBe(
      "hooks.json:2:3 $: not JSON: comments are not allowed in JSON",
    );
  });
});

describe("a problem never shows", () => {
  test.each([
    ["what came from the environment", gate({ transport: "x-${env:VALUE}" })],
    ["a token", { hooks: {}, gateway: { auth: { tokens: "hunter2-s3cret" } } }],
    [
      "a token's hash",
      { hooks: {}, gateway: { auth: { tokens: [{ name: "x", sha256: "s3cret", scopes: ["call"] }] } } },
    ],
    ["a hook's variables", gate({ env: { PLAIN: ["s3cret"] } })],
    ["what is inside an object", gate({ command: { api: "s3cret" } })],
    ["a builtin's secret", { hooks: { builtins: { log: { enabled: true, config: { api_key: "s3cret" } } } } }],
  ])("%s", (_, config) => {
    expect(JSON.stringify([refused(config, { VALUE: "s3cret" }).problems])).not.toContain("s3cret");
  });

  test("more than the beginning of a value", () => {
    const [problem] = problems(gate({ transport: "x".repeat(500) }));
    expect(problem?.value).toHaveLength(61);
  });
});

test("a message lists a hundred problems and says how many more there are", () => {
  const many = Array.from({ length: 130 }, (_, index) => ({ path: `hooks.h${index}`, message: "bad" }));
  const error = new ConfigError(many, "hooks.json");
  expect(error.message.split("\n")).toHaveLength(101);
  expect(error.message).toMatch(/\nhooks\.json: 30 more problems$/);
  expect(error.problems).toHaveLength(130);
});

test("a config that is too long is refused before it is looked at", () => {
  const builtins = createBuiltinRegistry();
  const text = `{"hooks":{}${" ".repeat(MAX_CONFIG_CHARS)}}`;
  expect(() => parseConfig(text, { env: {}, builtins })).toThrow("longer than 4194304 characters");
});
