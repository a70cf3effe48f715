import { expect, test } from "vitest";
import { ConfigError, type ConfigProblem, parseConfig } from "../../src/config/index.ts";
import { createBuiltinRegistry } from "../../src/picoclaw/index.ts";

const GATE = { enabled: true, command: ["gate"], intercept: ["before_tool"] };

function read(changes: object, defaults: object = {}): ReturnType<typeof parseConfig> {
  const hooks = { defaults, processes: { gate: { ...GATE, ...changes } } };
  return parseConfig(JSON.stringify({ hooks }), { env: {}, builtins: createBuiltinRegistry() });
}

function problems(changes: object): readonly Partial<ConfigProblem>[] {
  try {
    read(changes);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.problems.map(({ path, message, value, allowed, nearest }) => ({
        path,
        message,
        ...(value !== undefined && { value }),
        ...(allowed !== undefined && { allowed }),
        ...(nearest !== undefined && { nearest }),
      }));
    }
    throw error;
  }
  return [];
}

test.each<readonly [string, object, ConfigProblem]>([
  [
    "an effect that is none",
    { on_timeout: "contnue" },
    {
      path: "hooks.processes.gate.on_timeout",
      message: "unknown effect",
      value: '"contnue"',
      allowed: ["continue", "deny", "abort_turn"],
      nearest: "continue",
    },
  ],
  ...(
    [
      [
        { parallel: true },
        "parallel",
        "a hook that may change what passes through has its place in the order: say it is read-only",
      ],
      [
        { read_only: true, grants: ["respond"] },
        "grants",
        "a read-only hook may not respond or rewrite, so it can have no grant",
      ],
      [{ detached: true }, "detached", 'only a hook in mode "audit" can come after the verdict'],
      [{ intercept: [], observe: ["*"], cache: {} }, "cache", "has no meaning for a hook that is only told of events"],
      [
        { intercept: [], observe: ["*"], on_error: "deny" },
        "on_error",
        "has no meaning for a hook that is only told of events",
      ],
      [{ match: { model: ["m"] } }, "match.model", "the hook is never called: none of its points has a model"],
      [{ match: { tool: ["bash", "!b*"] } }, "match.tool", "the hook is never called: what fits is excluded again"],
    ] as const
  ).map(([changes, key, message]): readonly [string, object, ConfigProblem] => [
    `a contradiction: ${JSON.stringify(changes)}`,
    changes,
    { path: `hooks.processes.gate.${key}`, message },
  ]),
  [
    "a point that the match excludes",
    { intercept: ["before_tool", "before_llm"], match: { tool: ["bash"] } },
    {
      path: "hooks.processes.gate.intercept[1]",
      message: "the hook is never called here: it matches by tool, which before_llm does not have",
      value: '"before_llm"',
    },
  ],
  [
    "a deadline that its budget cuts",
    { timeout_ms: 20_000 },
    {
      path: "hooks.processes.gate.timeout_ms",
      message: "the call is cut before that, by the budget of its point: hooks.defaults.interceptor_budget_ms is 15000",
      value: "20000",
    },
  ],
])("%s", (_name, changes, problem) => {
  expect(problems(changes)).toEqual([problem]);
});

test("an approver that may go on without a verdict is said aloud", () => {
  const { notes } = read(
    { intercept: ["approve_tool"], on_timeout: "continue" },
    { approvals: { on_error: "continue" } },
  );
  const why = "a tool runs unapproved whenever its approver fails so";
  expect(notes).toEqual([
    `hooks.defaults.approvals: with on_error "continue" ${why}`,
    `hooks.processes.gate: with on_timeout "continue" ${why}`,
  ]);
});
