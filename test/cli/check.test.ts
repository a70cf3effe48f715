import { afterEach, describe, expect, test } from "vitest";
import { hook, makeDir, type Ran, removeDir, run } from "./run.ts";

let dir = "";

afterEach(() => removeDir(dir));

async function check(config: unknown, ...flags: readonly string[]): Promise<Ran> {
  dir = await makeDir({ "hooks.json": config });
  return run(["check", ...flags], { cwd: dir });
}

const DENY = { builtins: { deny_tools: { enabled: true, config: { tools: ["bash"] } } } };

describe("hookgate check", () => {
  test("prints each hook that is up", async () => {
    const processes = { gate: hook({ "hook.before_tool": {} }, { observe: ["*"] }), off: {} };
    const { code, stdout, stderr } = await check({ hooks: { ...DENY, processes } });
    expect(stderr).toBe("");
    // How wide the last columns are depends on how long the hooks took.
    const lines = stdout.replaceAll(/ +\d+(\.\d)?$/gm, " N").replace(/ +MS +REASON$/m, " MS REASON");
    expect(lines.split("\n")).toEqual([
      "hooks.json: 2 hooks, good",
      "",
      "HOOK        TRANSPORT   POINTS              STATE MS REASON",
      "deny_tools  in-process  before_tool         ready N",
      "gate        stdio       before_tool, event  ready N",
      "",
      "not enabled: off",
      "",
    ]);
    expect(code).toBe(0);
  });

  test("says why a hook is not up", async () => {
    const processes = {
      missing: hook({ "hook.before_tool": {} }, { command: ["hookgate-no-such-command"] }),
      refuses: hook({ "hook.hello": "no", "hook.before_tool": {} }),
    };
    const { code, stdout } = await check({ hooks: { processes } });
    expect(stdout).toContain("hooks.json: 2 hooks, 2 not up\n");
    expect(stdout).toMatch(/^missing .* command not found: "hookgate-no-such-command"/m);
    expect(stdout).toMatch(/^refuses .* hook\.hello: expected an object or null/m);
    expect(code).toBe(1);
  });

  test("prints JSON", async () => {
    const { code, stdout } = await check({ hooks: DENY }, "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      config: "hooks.json",
      disabled: [],
      hooks: [{ name: "deny_tools", transport: "in-process", points: ["before_tool"], state: "ready" }],
    });
    expect(code).toBe(0);
  });

  test("reports every problem of a config and starts nothing", async () => {
    const processes = { gate: { enabled: true, transport: "tcp", command: ["touch", "started"], dir: "." } };
    const { code, stdout, stderr } = await check({ hooks: { processes }, gateway: { prot: 1 } });
    expect(stdout).toBe("");
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^error: hooks\.json:1:\d+ hooks\.processes\.gate: the hook is never called/),
      expect.stringMatching(
        /^error: hooks\.json:1:\d+ hooks\.processes\.gate\.transport: unknown transport, got "tcp"/,
      ),
      expect.stringMatching(/^error: hooks\.json:1:\d+ gateway\.prot: unknown key; did you mean "port"\?/),
      "",
    ]);
    expect(code).toBe(1);
  });

  test("reads variables of its own environment, and names those that are not set", async () => {
    const processes = { gate: hook({ "hook.before_tool": {} }, { env: { KEY: "${env:HOOKGATE_TEST_KEY}" } }) };
    const { code, stderr } = await check({ hooks: { processes } });
    expect(stderr).toMatch(
      /hooks\.processes\.gate\.env\.KEY: the environment variable HOOKGATE_TEST_KEY is not set\n$/,
    );
    expect(code).toBe(1);
    const env = { HOOKGATE_TEST_KEY: "s3cret" };
    expect(await run(["check"], { cwd: dir, env })).toMatchObject({ code: 0 });
  });

  test("cleans what a hook says before a terminal sees it", async () => {
    const processes = { gate: hook({ "hook.before_tool": {} }, { command: ["no\u001B[31m\u202Esuch"] }) };
    const { stdout } = await check({ hooks: { processes } });
    expect(stdout).toContain("no [31m such");
    expect(stdout).not.toContain("\u001B");
    expect(stdout).not.toContain("\u202E");
  });
});
