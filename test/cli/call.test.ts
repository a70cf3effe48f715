import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runInMemory } from "./memory-host.ts";
import { hook, makeDir, type Ran, removeDir, run, type Running, start } from "./run.ts";

const CONFIG = {
  hooks: {
    defaults: { interceptor_timeout_ms: 1000 },
    builtins: { deny_tools: { enabled: true, config: { tools: ["bash"], reason: "no shell" } } },
    processes: {
      gate: hook({
        "hook.before_llm": { action: "modify", request: { model: "small" } },
        "hook.after_llm": { action: "hard_abort", reason: "enough" },
        "hook.before_tool": { action: "modify", call: { arguments: { path: "/tmp/x" } } },
        "hook.approve_tool": { approved: false, reason: "ask \u001B[31mfirst" },
        "hook.after_tool": { action: "continue" },
      }),
    },
  },
};

const hooksWith = (answers: Readonly<Record<string, unknown>>, changes?: object): unknown => ({
  hooks: { processes: { gate: hook(answers, changes) } },
});

const FILES = {
  "hooks.json": CONFIG,
  "respond.json": hooksWith({ "hook.before_tool": { action: "respond", result: { for_llm: "4" } } }),
  "approve.json": hooksWith({ "hook.approve_tool": { approved: true } }),
  "gone.json": hooksWith({ "hook.before_tool": {}, "hook.approve_tool": {} }, { command: ["hookgate-no-such"] }),
  "none.json": { hooks: {} },
  "tool.json": { tool: "read", arguments: { path: "a", mode: "r" }, meta: { TurnID: "t" } },
  "bad.json": '{"tool": "read",}',
  "list.json": [],
};

let cwd = "";

beforeAll(async () => {
  cwd = await makeDir(FILES);
});

afterAll(() => removeDir(cwd));

function call(line: string, stdin = ""): Promise<Ran> {
  return run(["call", ...line.split(" ")], { cwd, stdin });
}

function callInMemory(line: string, stdin = ""): Promise<Ran> {
  return runInMemory(["call", ...line.split(" ")], { cwd, stdin });
}

async function callJson(line: string, stdin = ""): Promise<{ readonly code: number | null; readonly answer: unknown }> {
  const { code, stdout, stderr } = await call(`${line} --json`, stdin);
  if (stdout === "") throw new Error(stderr);
  return { code, answer: JSON.parse(stdout) };
}

describe("hookgate call says what is decided", () => {
  test("denied", async () => {
    const { code, stdout } = await call("before_tool --tool bash --arg command=ls");
    expect(stdout.replaceAll(/\d+(\.\d)? /g, "N ").split("\n")).toEqual([
      "denied by deny_tools: no shell",
      "",
      "HOOK        POINT        OUTCOME    MS   WHY",
      expect.stringMatching(/^deny_tools {2}before_tool {2}deny_tool {2}N +no shell$/),
      "",
    ]);
    expect(code).toBe(2);
  });

  test("changed", async () => {
    const { code, stdout } = await call("before_tool --tool read --arg path=/etc");
    expect(stdout).toMatch(/^allowed, with changes\n\ncall:\n\{[^}]*"path": "\/tmp\/x"/s);
    expect(stdout).toMatch(/^gate +before_tool +modify +\d/m);
    expect(code).toBe(0);
  });

  test("not approved", async () => {
    const { code, stdout } = await call("check_tool --tool read");
    expect(stdout).toMatch(/^denied by gate: ask {2}\[31mfirst\n/);
    expect(code).toBe(2);
  });

  test("aborted", async () => {
    const { code, stdout } = await call("after_llm --model m --message hi");
    expect(stdout).toMatch(/^hard_abort by gate: enough\n/);
    expect(code).toBe(2);
  });

  test("answered", async () => {
    const { code, stdout } = await call("check_tool --config respond.json --tool add");
    expect(stdout).toMatch(/^answered by gate\n.*"for_llm": "4"/s);
    expect(code).toBe(0);
  });

  test("allowed, with nobody asked", async () => {
    const { code, stdout } = await call("approve_tool --config none.json --tool add");
    expect([code, stdout]).toEqual([0, "allowed\nno hook is called here\n"]);
  });

  test("nothing: a hook that cannot be asked is skipped, but an approval rests on it", async () => {
    const skipped = await call("before_tool --config gone.json --tool add");
    expect(skipped.stdout).toMatch(/^allowed\n1 hook gave no verdict and was skipped\n/);
    expect(skipped.stdout).toMatch(/^gate +before_tool +no_verdict .*not_running: .*command not found/m);
    expect(skipped.code).toBe(0);
    const refused = await call("check_tool --config gone.json --tool add");
    expect(refused.stdout).toMatch(/^no verdict: tool approval hook "gate" failed\n/);
    expect(refused.code).toBe(3);
  });
});

describe("hookgate call asks about", () => {
  test.each([
    [
      'before_tool --tool read --arguments {"n":1} --arg a=b=c --channel cli --chat-id 7',
      { action: "modify", call: { tool: "read", channel: "cli", chat_id: "7", arguments: { path: "/tmp/x" } } },
    ],
    [
      "before_llm --model big --message hi",
      { action: "modify", request: { model: "small", messages: [{ role: "user", content: "hi" }] } },
    ],
    ["after_tool --tool read --result text", { action: "continue" }],
    ["approve_tool --config approve.json --payload tool.json", { approved: true }],
    [
      "check_tool --config approve.json --payload tool.json --arg path=b",
      { action: "continue", approved: true, call: { tool: "read", arguments: { path: "b", mode: "r" } } },
    ],
  ])("%s", async (line, expected) => {
    const { answer } = await callJson(line);
    expect(answer).toMatchObject(expected);
    const { records } = (answer as { readonly trace: { readonly records: readonly unknown[] } }).trace;
    expect(records.length).toBeGreaterThan(0);
  });

  test("a payload from stdin", async () => {
    const { answer } = await callJson("check_tool --config approve.json --payload -", '{"tool": "from-stdin"}');
    expect(answer).toMatchObject({ call: { tool: "from-stdin" } });
  });
});

test("hookgate call shows nothing that moves a terminal", async () => {
  const text = "\u009B2J\u202Eevil\u{E0041}\u001B[2J";
  const dir = await makeDir({
    "hooks.json": hooksWith({ "hook.before_tool": { action: "respond", reason: text, result: { for_llm: text } } }),
  });
  for (const flags of [[], ["--json"]]) {
    const { stdout } = await run(["call", "before_tool", "--tool", "x", ...flags], { cwd: dir });
    expect(stdout).toContain('"for_llm": "\\u009b2J\\u202eevil\\udb40\\udc41\\u001b[2J"');
    const moving = ["\u009B", "\u202E", "\u{E0041}", "\u001B"];
    expect(moving.filter((char) => stdout.includes(char))).toEqual([]);
  }
  await removeDir(dir);
});

describe("hookgate call refuses", () => {
  test.each([
    ["before_tools", 'unknown point "before_tools"; did you mean before_tool?'],
    ["before_tool", 'before_tool needs --tool NAME, or a payload with "tool"'],
    ["before_llm --message hi", 'before_llm needs --model NAME, or a payload with "model"'],
    ["before_llm --tool x", "--tool has no meaning at before_llm"],
    ["before_tool --tool x --result y", "--result has no meaning at before_tool"],
    ["before_tool --tool x --arg y", "--arg: expected KEY=VALUE"],
    ["before_tool --tool x --arguments [1]", "--arguments: expected a JSON object"],
    [
      "before_tool --tool x --arguments {",
      '--arguments:1:2 not JSON: expected a key in double quotes or "}", but the file ends',
    ],
    ["before_tool --payload bad.json", 'bad.json:1:16 not JSON: a "," must not stand before "}"'],
    ["before_tool --payload list.json", "list.json: expected a JSON object"],
    ["before_tool --payload nowhere.json", "--payload: there is no file nowhere.json"],
    ["before_tool --payload .", "cannot read .: EISDIR"],
    ["before_tool --tool x --config nowhere.json", "there is no config file nowhere.json"],
    ["before_tool --tool x --config a --url http://x", "--config and --url exclude each other"],
    ["before_tool --tool x --url ftp://x", '--url: expected http or https, got "ftp"'],
    ["before_tool --tool x --url nowhere", "--url: expected an absolute URL such as http://127.0.0.1:8787"],
    ["before_tool --tool x --url http://example.com", "anyone on the way could decide"],
    ["before_tool --tool x --allow-insecure", "--allow-insecure is for --url"],
    ["before_tool --tool x --token-env A", "--token-env is for --url"],
    ["before_tool --tool x --url http://x --token-env NOT_SET", "the environment variable NOT_SET is not set"],
    [
      "before_tool --tool x --log-level loud",
      '--log-level: expected one of debug, info, warn, error, silent, got "loud"',
    ],
  ])("%s", async (line, message) => {
    const { code, stdout, stderr } = await callInMemory(line);
    expect(stderr).toContain(`error: `);
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([1, ""]);
  });

  test("a payload that a gateway would refuse", async () => {
    const { code, stderr } = await callInMemory(
      "before_tool --config none.json --payload -",
      '{"tool": 5, "arguments": "x"}',
    );
    expect(stderr).toMatch(/params\.tool: .*params\.arguments: /);
    expect(code).toBe(1);
  });
});

describe("hookgate call --url", () => {
  const TOKEN = "t0ken";
  let gateway: Running;
  let url = "";

  beforeAll(async () => {
    const hash = createHash("sha256").update(TOKEN).digest("hex");
    const auth = { tokens: [{ name: "test", sha256: hash, scopes: ["call"] }] };
    const dir = await makeDir({ "hooks.json": { ...CONFIG, gateway: { auth } } });
    gateway = start(["serve", "--port", "0"], { cwd: dir });
    url = /http:\S+/.exec(await gateway.seen("try it:"))?.[0] ?? "";
  });

  afterAll(async () => {
    gateway.signal("SIGTERM");
    await gateway.ended;
  });

  const ask = (token: string): Promise<Ran> =>
    run(["call", "before_tool", "--url", url, "--token-env", "TOKEN", "--tool", "bash"], {
      cwd,
      env: { TOKEN: token },
    });

  test("asks a running gateway", async () => {
    const { code, stdout } = await ask(TOKEN);
    expect(stdout).toMatch(/^denied by deny_tools: no shell\n/);
    expect(code).toBe(2);
  });

  test("is told when the token is not good", async () => {
    const { code, stderr } = await ask("wrong");
    expect(stderr).toMatch(/^error: .*(unauthorized|token|401)/i);
    expect(stderr).not.toContain("wrong");
    expect(code).toBe(1);
  });

  test("says that nobody decided when the gateway cannot be reached", async () => {
    const { code, stdout } = await call("before_tool --url http://127.0.0.1:9 --tool bash");
    expect(stdout).toMatch(/^no verdict: hook "gateway" failed\n/);
    expect(stdout).toMatch(/^gateway +before_tool +no_verdict .*unreachable: the gateway cannot be reached/m);
    expect(code).toBe(3);
  });
});
