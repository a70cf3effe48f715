import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createThreadRecorder } from "../../adapters/node/index.ts";
import { commands } from "../../src/cli/index.ts";
import { toConfigJsonSchema } from "../../src/config/index.ts";
import { decision } from "../records/fixtures.ts";
import { runInMemory } from "./memory-host.ts";
import { hook, makeDir, type Ran, removeDir, run, start } from "./run.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONFIG = {
  hooks: {
    builtins: { deny_tools: { enabled: true, config: { tools: ["format_disk"] } } },
    processes: {
      gate: hook({ "hook.before_tool": {}, "hook.approve_tool": { approved: true }, "hook.before_llm": {} }),
    },
  },
};

/** What the examples of the help name. */
const EXAMPLE_FILES = {
  "new.json": CONFIG,
  "hooks.test.yaml":
    "cases: [{ name: one, point: before_tool, payload: { tool: format_disk }, expect: { action: deny_tool } }]",
};

/** Of now: what is older than `max_age_days` goes when a gateway starts. */
const recorded = decision({ atMs: Date.now(), input: { tool: "ls", arguments: {} } });

let cwd = "";

beforeAll(async () => {
  cwd = await makeDir({ ...EXAMPLE_FILES, "hooks.json": { ...CONFIG, records: {} } });
  mkdirSync(join(cwd, ".jcli"));
  writeFileSync(join(cwd, ".jcli/hooks.yaml"), "stop:\n  - command: echo\n");
  // As a gateway leaves it.
  const recorder = createThreadRecorder({ payload: "full", sqlite: { path: join(cwd, "hookgate-records.db") } });
  recorder.toObserver()(recorded);
  await recorder.close();
});

afterAll(() => removeDir(cwd));

function hookgate(...args: readonly string[]): Promise<Ran> {
  return run(args, { cwd });
}

function inMemory(...args: readonly string[]): Promise<Ran> {
  return runInMemory(args, { cwd });
}

describe("the command line", () => {
  test("without a command says what there is, and fails", async () => {
    const { code, stdout, stderr } = await hookgate();
    expect(stderr).toMatch(/^hookgate asks the hooks.*\n\nusage: hookgate COMMAND/);
    expect([code, stdout]).toEqual([1, ""]);
  });

  test.each([["help"], ["--help"], ["-h"]])("%s lists every command", async (word) => {
    const { code, stdout } = await inMemory(word);
    const width = Math.max(...commands.map(({ name }) => name.length));
    for (const { name, summary } of commands) expect(stdout).toContain(`  ${name.padEnd(width)}  ${summary}\n`);
    expect(code).toBe(0);
  });

  test.each(commands.map(({ name }) => name))("%s --help says everything about it", async (name) => {
    const { code, stdout } = await inMemory(name, "--help");
    expect(stdout).toMatch(new RegExp(`^usage: hookgate ${name}`));
    const command = commands.find((known) => known.name === name);
    for (const flag of Object.keys(command?.options ?? {})) expect(stdout).toContain(`--${flag}`);
    for (const { line } of command?.examples ?? []) expect(stdout).toContain(line);
    expect(stdout).toContain("exit codes:");
    expect(code).toBe(0);
    expect(await inMemory("help", name)).toEqual(await inMemory(name, "-h"));
  });

  test.each([["version"], ["--version"], ["-v"]])("%s prints the version", async (word) => {
    expect(await inMemory(word)).toEqual({ code: 0, stdout: "1.2.3\n", stderr: "" });
  });

  test("the version is that of the package", async () => {
    const manifest: unknown = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const { stdout } = await hookgate("version");
    expect(manifest).toMatchObject({ version: stdout.trim() });
  });

  test("colours for a person at a terminal only", async () => {
    const red = "\u001B[31merror:";
    const options = [
      { isTTY: true },
      { isTTY: true, env: { NO_COLOR: "" } },
      { isTTY: false },
      { isTTY: true, env: { NO_COLOR: "1" } },
      { isTTY: true, env: { TERM: "dumb" } },
    ];
    const ran = await Promise.all(options.map((option) => runInMemory(["chek"], { cwd, ...option })));
    expect(ran.map(({ stderr }) => stderr.includes(red))).toEqual([true, true, false, false, false]);
  });

  test.each([
    [["chek"], 'unknown command "chek"; did you mean check?', "hookgate --help"],
    [["help", "srve"], 'unknown command "srve"; did you mean serve?', "hookgate --help"],
    [["toString"], 'unknown command "toString"', "hookgate --help"],
    [["--json", "check"], "the command comes first, then its flags; got --json", "hookgate --help"],
    [["check", "--jsno"], "unknown flag --jsno; did you mean --json?", "hookgate check --help"],
    [["check", "--toString"], "unknown flag --toString", "hookgate check --help"],
    [["check", "-x"], "unknown flag -x", "hookgate check --help"],
    [["check", "extra"], 'unexpected word "extra"', "hookgate check --help"],
    [["check", "--json=yes"], "--json takes no value", "hookgate check --help"],
    [["check", "--config"], "--config needs a value: --config FILE", "hookgate check --help"],
    [["check", "--config="], "--config needs a value: --config FILE", "hookgate check --help"],
    [["check", "--config", "--json"], "--config needs a value: --config FILE; for a value", "hookgate check --help"],
    [["check", "-c", "a", "--config", "b"], "--config is there twice", "hookgate check --help"],
    [["serve", "--port", "http"], '--port: expected a number from 0 to 65535, got "http"', "hookgate serve --help"],
    [["serve", "--port=65536"], "--port: expected a number from 0 to 65535", "hookgate serve --help"],
  ])("refuses %j", async (args, message, hint) => {
    const { code, stdout, stderr } = await inMemory(...args);
    expect(stderr).toContain(`error: ${message}`);
    expect(stderr).toContain(`${hint} says how to use it\n`);
    expect([code, stdout]).toEqual([1, ""]);
  });

  test("says where it looked for a config", async () => {
    const empty = await makeDir({});
    const { code, stderr } = await runInMemory(["check"], { cwd: empty });
    expect(stderr).toBe("error: there is no config file hooks.json; name one with --config FILE\n");
    expect(code).toBe(1);
    const env = { npm_package_name: "hookgate", npm_lifecycle_event: "start" };
    const own = await runInMemory(["check"], { cwd: empty, env });
    expect(own.stderr).toContain("there is no config file hooks.json or examples/hooks.json");
    await removeDir(empty);
  });

  test("does not mind a reader that goes", async () => {
    const { code, stderr } = await run("hookgate schema | head -1; hookgate help call | true", { cwd });
    expect([code, stderr]).toEqual([0, ""]);
  });
});

describe("the examples in the help work", () => {
  const examples = commands.flatMap(({ name, examples: list }) => list.map(({ line }) => [name, line] as const));

  test.each(examples.filter(([name, line]) => name !== "serve" && !/--(?:url|endpoint)\b/.test(line)))(
    "%s: %s",
    async (_, line) => {
      const { code, stdout, stderr } = await run(line, { cwd, env: { HOME: cwd, XDG_STATE_HOME: cwd } });
      // The config has records, which not every command keeps.
      expect(stderr).toMatch(/^(?:\S+ warn {2}decisions are not recorded: only hookgate serve does that\n)?$/);
      expect(code).toBe(0);
      expect(stdout === "").toBe(line.includes(">"));
    },
  );

  test("serve, and asking what is served", async () => {
    const [first, second] = examples.filter(([name]) => name === "serve").map(([, line]) => line);
    expect(first).toBe("hookgate serve");
    const running = start((second ?? "").split(" ").slice(1), { cwd });
    const url = /http:\S+/.exec(await running.seen("try it:"))?.[0] ?? "";
    const asking = examples.filter(([, line]) => line.includes("--url http://127.0.0.1:8787"));
    const lines = asking.map(
      ([name, line]) => [name, line.replace("http://127.0.0.1:8787", url).replace("0192f0c1", recorded.id)] as const,
    );
    for (const [, line] of lines.filter(([name]) => name !== "tail")) {
      const asked = await run(line, { cwd, env: { HOOKGATE_TOKEN: "any" } });
      expect([asked.code, asked.stderr]).toEqual([0, ""]);
    }
    for (const [, line] of lines.filter(([name]) => name === "tail")) {
      const tailing = start(line.split(" ").slice(1), { cwd });
      await tailing.seenError("connected to");
      const body = { jsonrpc: "2.0", id: 1, method: "hook.before_tool", params: { tool: "format_disk" } };
      const headers = { "content-type": "application/json" };
      await fetch(`${url}/rpc`, { method: "POST", headers, body: JSON.stringify(body) });
      expect(await tailing.seen("deny_tool")).toContain("format_disk");
      tailing.signal("SIGINT");
      expect(await tailing.ended).toMatchObject({ code: 0 });
    }
    running.signal("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
  }, 60_000);
});

describe("hookgate schema", () => {
  test("prints what docs/config.schema.json holds", async () => {
    const { stdout } = await hookgate("schema");
    expect(readFileSync(join(ROOT, "docs/config.schema.json"), "utf8")).toBe(stdout);
  });

  test("describes every setting", () => {
    const undescribed: string[] = [];
    const walk = (node: unknown, path: string): void => {
      if (typeof node !== "object" || node === null) return;
      for (const [name, property] of Object.entries((node as { properties?: object }).properties ?? {})) {
        if (typeof (property as { description?: unknown }).description !== "string")
          undescribed.push(`${path}.${name}`);
        walk(property, `${path}.${name}`);
      }
      for (const key of ["items", "additionalProperties"]) walk(Reflect.get(node, key), path);
    };
    walk(toConfigJsonSchema(), "$");
    expect(undescribed).toEqual([]);
  });

  test("is named by the example, which lies beside what it describes", () => {
    const example: unknown = JSON.parse(readFileSync(join(ROOT, "examples/hooks.json"), "utf8"));
    expect(example).toMatchObject({ $schema: "../docs/config.schema.json" });
  });
});
