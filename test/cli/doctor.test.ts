import { chmod, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { hook, makeDir, removeDir, run, type Running, start } from "./run.ts";

let dir = "";
let gateway: Running | undefined;

afterEach(async () => {
  gateway?.signal("SIGKILL");
  await gateway?.ended;
  gateway = undefined;
  await removeDir(dir);
});

interface Finding {
  readonly hook?: string;
  readonly check: string;
  readonly level: string;
  readonly found: string;
  readonly fix?: string;
}

async function doctor(
  config: unknown,
  ...flags: readonly string[]
): Promise<{ readonly code: number | null; readonly findings: readonly Finding[] }> {
  if (dir === "") dir = await makeDir({});
  await writeFile(join(dir, "doctor.json"), JSON.stringify(config));
  const { code, stdout, stderr } = await run(["doctor", "--config", "doctor.json", "--json", ...flags], { cwd: dir });
  if (stdout === "") throw new Error(stderr);
  return { code, findings: (JSON.parse(stdout) as { readonly findings: readonly Finding[] }).findings };
}

const BEFORE = { "hook.before_tool": {} };

describe("hookgate doctor", { timeout: 30_000 }, () => {
  test("finds nothing bad in the examples", async () => {
    dir = await makeDir({});
    const cwd = join(import.meta.dirname, "../..");
    const { code, stdout } = await run(["doctor", "--config", "examples/hooks.json", "--probe"], { cwd });
    expect(stdout).toMatch(/^review_gate\n {2}ok {4}enabled: yes\n/);
    expect(stdout).toMatch(/hello: answered after [\d.]+ ms/);
    expect(stdout).toMatch(/probe approve_tool: \w+ after/);
    expect(code).toBe(0);
  });

  test.each<readonly [string, unknown, Partial<Finding>, number]>([
    [
      "all hooks are switched off",
      { hooks: { enabled: false } },
      { check: "enabled", level: "bad", fix: expect.stringContaining('"enabled": true') as string },
      1,
    ],
    [
      "a hook is not enabled",
      { hooks: { processes: { gate: { ...hook(BEFORE), enabled: false } } } },
      { hook: "gate", check: "enabled", level: "warn" },
      0,
    ],
    [
      "it is only told of events",
      { hooks: { processes: { gate: hook({}, { observe: ["*"] }) } } },
      { hook: "gate", check: "points", level: "warn", found: "it is never asked; told of *" },
      0,
    ],
    [
      "its program is not there",
      { hooks: { processes: { gate: hook(BEFORE, { command: ["hookgate-no-such"] }) } } },
      { hook: "gate", check: "command", level: "bad", found: 'there is no "hookgate-no-such" in PATH' },
      1,
    ],
    [
      "its program may not be run",
      { hooks: { processes: { gate: hook(BEFORE, { command: ["./hook.cjs"] }) } } },
      { hook: "gate", check: "command", level: "bad", fix: expect.stringContaining("chmod +x") as string },
      1,
    ],
    [
      "its script is not there",
      { hooks: { processes: { gate: hook(BEFORE, { command: ["node", "gone.cjs"] }) } } },
      { hook: "gate", check: "script", level: "bad", fix: expect.stringContaining('"dir"') as string },
      1,
    ],
    [
      "it ends before the greeting",
      { hooks: { processes: { gate: hook(BEFORE, { command: ["node", "-e", "0"] }) } } },
      { hook: "gate", check: "hello", level: "bad" },
      1,
    ],
    [
      "a variable is not set",
      { hooks: { processes: { gate: hook(BEFORE, { env: { KEY: "${env:HOOKGATE_NOT_SET}" } }) } } },
      { check: "environment", level: "bad", fix: "set HOOKGATE_NOT_SET where hookgate is started" },
      1,
    ],
    [
      "the config is not good",
      { hooks: { processes: { gate: { enabled: true } } } },
      { check: "config", level: "bad" },
      1,
    ],
    [
      "a deadline is too small",
      { hooks: { defaults: { interceptor_timeout_ms: 5 } } },
      { check: "timeouts", level: "warn", fix: expect.stringContaining("at least 50") as string },
      0,
    ],
    [
      "it has no grant",
      { hooks: { processes: { gate: hook(BEFORE, { grants: [] }) } } },
      { hook: "gate", check: "trust", fix: expect.stringContaining('"grants": ["respond"]') as string },
      0,
    ],
  ])("says that %s", async (...[, config, expected, code]) => {
    dir = await makeDir({});
    const said = await doctor(config);
    expect(said.findings).toContainEqual(expect.objectContaining(expected));
    expect(said.code).toBe(code);
  });

  test("says that everyone may change the config", async () => {
    dir = await makeDir({ "doctor.json": {} });
    await chmod(join(dir, "doctor.json"), 0o666);
    const { code, findings } = await doctor({ hooks: {} });
    expect(findings).toContainEqual(expect.objectContaining({ check: "permissions", level: "bad" }));
    expect(code).toBe(1);
  });

  test("sees a dialect that does not fit, and a hook that does not answer, only with --probe", async () => {
    dir = await makeDir({});
    const config = {
      hooks: {
        defaults: { interceptor_timeout_ms: 300 },
        processes: {
          docs: hook({ "hook.approve_tool": { allow: true } }),
          mute: hook({ "hook.before_tool": "silence" }),
        },
      },
    };
    expect((await doctor(config)).code).toBe(0);
    const { code, findings } = await doctor(config, "--probe");
    expect(findings).toContainEqual(
      expect.objectContaining({ hook: "docs", check: "dialect", level: "bad", fix: 'set "dialect": "picoclaw-docs"' }),
    );
    expect(findings).toContainEqual(
      expect.objectContaining({
        hook: "mute",
        check: "probe before_tool",
        level: "bad",
        fix: "give it more time, or make it faster",
      }),
    );
    expect(code).toBe(1);
  });

  test("asks a running gateway: when each hook fired, what it lacks, and that its reload failed", async () => {
    const picky = hook({ "hook.before_tool": {} }, { match: { tool: ["other"] } });
    const first = { hooks: { processes: { gate: hook(BEFORE), idle: hook({ "hook.after_tool": {} }), picky } } };
    dir = await makeDir({ "hooks.json": first });
    gateway = start(["serve", "--port", "0"], { cwd: dir });
    const url = /http:\S+/.exec(await gateway.seen("try it:"))?.[0] ?? "";
    await run(["call", "before_tool", "--tool", "x", "--url", url], { cwd: dir });
    await writeFile(join(dir, "hooks.json"), "{");
    expect((await run(["reload", "--url", url], { cwd: dir })).code).toBe(1);
    const { processes } = first.hooks;
    const { code, findings } = await doctor(
      { hooks: { processes: { ...processes, late: hook(BEFORE) } } },
      "--url",
      url,
    );
    expect(findings).toContainEqual(expect.objectContaining({ check: "reload", level: "bad" }));
    expect(findings).toContainEqual(
      expect.objectContaining({
        hook: "gate",
        check: "last fired",
        found: expect.stringMatching(/^1 calls, the last at 2/) as string,
      }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ hook: "idle", check: "last fired", level: "warn" }));
    expect(findings).toContainEqual({
      hook: "picky",
      check: "last fired",
      level: "warn",
      found: "never since it was started: 1 calls did not fit its match",
      fix: 'is its "match" as it is meant? hookgate tail shows what calls name',
    });
    expect(code).toBe(1);
  }, 30_000);

  test("says which hook decides before it, from the records of a gateway", async () => {
    const status = { state: "ready", points: ["before_tool"], calls: 0, failed_open: 2, no_verdicts: {} };
    const denied = {
      id: "1",
      point: "before_tool",
      action: "deny_tool",
      hooks: [{ hook: "first", outcome: "deny_tool" }],
    };
    const server = createServer(({ url = "" }, response) => {
      const hooks = ["first", "second"].map((name) => ({ name, ...status }));
      const pages: Readonly<Record<string, unknown>> = { "/v1/hooks": { hooks }, "/readyz": {} };
      response.end(JSON.stringify(pages[url] ?? { records: [denied, denied] }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    dir = await makeDir({});
    const { findings } = await doctor(
      { hooks: { processes: { first: hook(BEFORE), second: hook(BEFORE) } } },
      "--url",
      url,
    );
    expect(findings).toContainEqual(
      expect.objectContaining({
        hook: "second",
        check: "earlier hooks",
        found: '2 of the last 2 decisions at its points were ended by "first" before it was reached',
      }),
    );
    expect(findings.filter(({ check, hook: name }) => check === "earlier hooks" && name === "first")).toEqual([]);
    expect(findings).toContainEqual(expect.objectContaining({ hook: "first", check: "failed open", level: "warn" }));
    server.close();
  });

  test("looks at a hook over HTTP step by step", async () => {
    dir = await makeDir({});
    const entry = {
      enabled: true,
      transport: "http",
      url: "http://127.0.0.1:9/hook",
      intercept: ["before_tool"],
      unsigned: true,
    };
    const { code, findings } = await doctor({ hooks: { processes: { far: entry } } });
    expect(findings).toContainEqual(expect.objectContaining({ hook: "far", check: "connect", level: "bad" }));
    expect(code).toBe(1);
  });
});
