import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hook, makeDir, type Ran, removeDir, run } from "./run.ts";

const ROOT = join(import.meta.dirname, "../..");

const CONFIG = {
  hooks: {
    builtins: { deny_tools: { enabled: true, config: { tools: ["bash"], reason: "no <shell> & so" } } },
    processes: {
      gate: hook({ "hook.before_tool": { action: "modify", call: { arguments: { path: "/tmp/x" } } } }),
    },
  },
};

const GOOD = `
cases:
  - { name: denied, point: before_tool, payload: { tool: bash }, expect: { action: deny_tool, reason: "^no .shell", by: deny_tools } }
  - { name: changed, point: before_tool, payload: { tool: read }, expect: { action: allowed, changes: { call.arguments.path: /tmp/x } } }
`;

const BAD = `
cases:
  - { name: "a #1 <b>", point: before_tool, payload: { tool: bash }, expect: { action: allowed, reason: other } }
  - { name: kept, point: before_tool, payload: { tool: read }, expect: { unchanged: true, by: gate, changes: { call.arguments.path: 5 } } }
  - { name: not a payload, point: before_tool, payload: { tool: 5 }, expect: {} }
`;

let cwd = "";

beforeAll(async () => {
  cwd = await makeDir({
    "hooks.json": CONFIG,
    "gone.json": {
      hooks: { processes: { gone: hook({ "hook.before_tool": {} }, { command: ["hookgate-no-such"] }) } },
    },
    "good.yaml": GOOD,
    "bad.yaml": BAD,
    "one.yaml": "cases: [{ name: one, point: before_tool, payload: { tool: x }, expect: { action: allowed } }]",
  });
});

afterAll(() => removeDir(cwd));

const cases = (line: string): Promise<Ran> => run(["test", ...line.split(" ")], { cwd });

describe("hookgate test", () => {
  test("passes what is as expected", async () => {
    const { code, stdout } = await cases("good.yaml");
    expect(stdout).toMatch(/^ok {2}denied .* ms\nok {2}changed .* ms\n\ngood\.yaml: 2 passed, 0 failed\n$/);
    expect(code).toBe(0);
  });

  test("says what is not", async () => {
    const { code, stdout } = await cases("bad.yaml");
    expect(stdout).toContain("action: expected allowed, got deny_tool (no <shell> & so)\n");
    expect(stdout).toContain('reason: expected /other/, got "no <shell> & so"\n');
    expect(stdout).toContain('call.arguments.path: expected 5, got "/tmp/x"\n');
    expect(stdout).toContain('by: expected "gate", got nothing\n');
    expect(stdout).toContain("unchanged: expected true, got false\n");
    expect(stdout).toMatch(/not ok {2}not a payload .*\n.*params\.tool/);
    expect(code).toBe(1);
  });

  test("writes TAP, in which a name is no directive", async () => {
    const { code, stdout } = await cases("bad.yaml --format tap");
    expect(stdout).toMatch(/^TAP version 14\n1\.\.3\nnot ok 1 - a \\#1 <b>\n {2}---\n/);
    expect(code).toBe(1);
  });

  test("writes JUnit's XML, escaped", async () => {
    const { stdout } = await cases("bad.yaml --format junit");
    expect(stdout).toContain('<testsuites tests="3" failures="3" time="');
    expect(stdout).toContain('<testcase name="a #1 &lt;b&gt;" classname="bad.yaml"');
    expect(stdout).toContain('message="action: expected allowed, got deny_tool (no &lt;shell&gt; &amp; so)"');
    expect(stdout).not.toMatch(/&(?!amp;|lt;|gt;|quot;)/);
  });

  test("fails a case in which a hook gave no verdict, unless it may", async () => {
    const { code, stdout } = await cases("one.yaml --config gone.json");
    expect(stdout).toContain('hook "gone" gave no verdict: not_running');
    expect(code).toBe(1);
  });

  test.each([
    ["- x", "expected an object"],
    [
      "cases: [{ nam: x, point: before_tool, payload: {}, expect: {} }]",
      'cases[0].nam: unknown key; did you mean "name"?',
    ],
    ["cases: [{ name: x, point: before_tools, payload: {}, expect: {} }]", "1:27 cases[0].point: unknown value"],
    ["cases: [{ name: x, point: before_tool, payload: {}, expect: { reason: '(' } }]", "expected a regular expression"],
    ["cases: [", "1:9 $: Flow sequence"],
  ])("refuses %s", async (text, problem) => {
    const dir = await makeDir({ "hooks.json": CONFIG, "cases.yaml": text });
    const { code, stderr } = await run(["test", "cases.yaml"], { cwd: dir });
    expect(stderr).toContain(problem);
    expect(code).toBe(1);
    await removeDir(dir);
  });

  test("passes examples/hooks.test.yaml, from any directory", async () => {
    const file = join(ROOT, "examples/hooks.test.yaml");
    const { code, stdout } = await run(["test", file], { cwd });
    expect(stdout).toContain(": 6 passed, 0 failed\n");
    expect(code).toBe(0);
  });
});
