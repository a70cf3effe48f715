import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hook, makeDir, type Ran, removeDir, run, type Running, start } from "./run.ts";

const YAML = `
pre_tool_execution:
  - command: 'echo ''{"action":"skip"}'''
    filter: { tool_matcher: Bash }
pre_send_message:
  - command: 'echo ''{"user_input":"hello"}'''
`;
const config = (reason: string, yaml = "hooks.yaml"): object => ({
  hooks: {
    builtins: { deny_tools: { enabled: true, config: { tools: ["format_disk"], reason } } },
    processes: {
      gate: hook({
        "hook.before_llm": { action: "modify", request: { model: "other" } },
        "hook.after_tool": {},
        "hook.approve_tool": { approved: false, reason: "nobody is there" },
      }),
    },
  },
  yaml: { user: yaml },
  records: { record: { payload: "full" } },
});

const CALLS: readonly (readonly [method: string, params: object])[] = [
  ["hook.before_tool", { tool: "format_disk", arguments: { disk: "a" } }],
  ["hook.before_tool", { tool: "Bash", meta: { SessionKey: "s1" } }],
  ["hook.before_tool", { tool: "read" }],
  ["hook.check_tool", { tool: "write", arguments: { path: "x" } }],
  ["hook.before_llm", { model: "m", messages: [{ role: "user", content: "hi" }] }],
  ["hook.after_tool", { tool: "read", result: { for_llm: "text" } }],
  ["hook.run", { event: "pre_send_message", user_input: "hi", session_id: "s1" }],
];

let cwd = "";
let url = "";
let gateway: Running;
let tailed = "";

beforeAll(async () => {
  cwd = await makeDir({ "hooks.json": config("one"), "hooks.yaml": YAML });
  gateway = start(["serve", "--port", "0"], { cwd });
  url = /http:\S+/.exec(await gateway.seen("try it:"))?.[0] ?? "";
  const tailing = start(["tail", "--url", url, "--json", "-n", "8"], { cwd });
  await tailing.seenError("connected to");
  for (const [method, params] of CALLS) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    await fetch(`${url}/rpc`, { method: "POST", headers: { "content-type": "application/json" }, body });
  }
  tailed = (await tailing.ended).stdout;
  await writeFile(join(cwd, "decisions.jsonl"), tailed);
});

afterAll(async () => {
  gateway.signal("SIGTERM");
  await gateway.ended;
  await removeDir(cwd);
});

const replay = (...args: readonly string[]): Promise<Ran> => run(["replay", ...args], { cwd });

describe("what a gateway has decided", { timeout: 60_000 }, () => {
  test("is told by tail as it is kept", async () => {
    const records = tailed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(records.map(({ point, tool, action }) => [point, tool, action])).toEqual([
      ["before_tool", "format_disk", "deny_tool"],
      ["before_tool", "Bash", "deny_tool"],
      ["before_tool", "read", "continue"],
      ["before_tool", "write", "continue"],
      ["approve_tool", "write", "denied"],
      ["before_llm", undefined, "modify"],
      ["after_tool", "read", "continue"],
      ["pre_send_message", undefined, "modify"],
    ]);
    const shown = await (await fetch(`${url}/v1/records?session=s1`)).json();
    expect(shown).toMatchObject({ records: [{ point: "pre_send_message" }, { tool: "Bash", hooks: [{}, {}] }] });
  });

  test("is decided the same again by the same config", async () => {
    for (const from of [["decisions.jsonl"], ["--url", url]]) {
      const { code, stdout, stderr } = await replay(...from);
      expect([stdout, code]).toEqual(["8 asked again, 0 differ\n", 0]);
      expect(stderr).toBe("");
    }
  });

  test("differs under another", async () => {
    await writeFile(join(cwd, "other.yaml"), "stop: []\n");
    await writeFile(join(cwd, "new.json"), JSON.stringify(config("two", "other.yaml")));
    const { code, stdout } = await replay("--url", url, "--config", "new.json", "--json");
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      replayed: 8,
      without_payload: 0,
      differences: [
        { tool: "format_disk", before: { reason: "one" }, now: { action: "deny_tool", reason: "two" } },
        { tool: "Bash", before: { action: "deny_tool" }, now: { action: "continue" } },
        { point: "pre_send_message", before: { action: "modify" }, now: { action: "continue" } },
      ],
    });
    const { id } = JSON.parse(tailed.split("\n")[0] ?? "") as { id: string };
    const one = await replay(id, "--url", url, "--config", "new.json");
    expect(one.stdout).toContain("1 asked again, 1 differ");
  });

  test("is not the same where a hook no longer says anything, though the turn goes on as before", async () => {
    const gone = { enabled: true, command: ["no-such-program"], intercept: ["after_tool"] };
    const { hooks, ...rest } = config("one") as { hooks: { processes: object } };
    const broken = { ...rest, hooks: { ...hooks, processes: { ...hooks.processes, gone } } };
    await writeFile(join(cwd, "broken.json"), JSON.stringify(broken));
    const { code, stdout } = await replay("decisions.jsonl", "--config", "broken.json");
    expect(stdout).toMatch(/after_tool +read +continue +continue +no verdict of gone: not_running\n/);
    expect(stdout).toContain("8 asked again, 1 differ\n");
    expect(code).toBe(2);
    const { differences } = JSON.parse(
      (await replay("decisions.jsonl", "--config", "broken.json", "--json")).stdout,
    ) as { differences: unknown };
    expect(differences).toMatchObject([{ point: "after_tool", no_verdicts: [{ hook: "gone", kind: "not_running" }] }]);
  });
});
