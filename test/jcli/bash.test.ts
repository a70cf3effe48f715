import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createShell } from "../../adapters/node/index.ts";
import {
  createBashPort,
  type HostContext,
  LifecycleManager,
  type LifecycleManagerOptions,
  type LifecycleOutcome,
  readHookFile,
} from "../../src/jcli/index.ts";
import { createCommandTransport } from "../../src/transport/command.ts";

let dir = "";

beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), "hookgate-bash-")));
});

afterAll(async () => {
  await rm(dir, { recursive: true });
});

type Command = string | Readonly<Record<string, unknown>>;

/** A manager whose hooks are real shells. */
function manager(event: string, hooks: readonly Command[], options: LifecycleManagerOptions = {}): LifecycleManager {
  const ports = { bash: createBashPort(createCommandTransport({ start: createShell() })) };
  const made = new LifecycleManager({ ports, cwd: dir, ...options });
  const list = hooks.map((hook) => (typeof hook === "string" ? { command: hook } : hook));
  const file = readHookFile(JSON.stringify({ [event]: list }));
  expect(file.problems).toEqual([]);
  made.load("user", file.hooks);
  return made;
}

const SEND = "pre_send_message";

/** Runs the hooks of one event. */
function run(hooks: readonly Command[], given: Partial<HostContext> = {}): Promise<LifecycleOutcome> {
  return manager(given.event ?? SEND, hooks).run({ event: SEND, user_input: "hi", ...given });
}

async function failureOf(command: string): Promise<{ readonly kind: string | undefined; readonly error: string }> {
  const { result, trace } = await run([command]);
  expect(result).toEqual({});
  const [record] = trace.records;
  return { kind: record?.kind, error: record?.error ?? "" };
}

describe("a bash hook", () => {
  test.each([
    [`echo '{"user_input":"hooked"}'`, { user_input: "hooked" }],
    ["echo ''", {}],
    ["true", {}],
    ["echo '{}'", {}],
    [`printf '\\n {"user_input":\\n"x"} \\n\\n'`, { user_input: "x" }],
    [`echo '{"user_input":"x","unknown":1,"action":null}'`, { user_input: "x" }],
    [`echo '{"action":"stop","retry_feedback":"again"}'`, { action: "stop", retry_feedback: "again" }],
  ])("%s", async (command, result) => {
    expect((await run([command])).result).toEqual(result);
  });

  test.each([
    ["exit 1", "exited"],
    [`echo '{"user_input":"x"}'; exit 3`, "exited"],
    ["echo 'x {} y'", "bad_json"],
    ["echo done", "bad_json"],
    [`printf '{"user_input":"x'`, "bad_json"],
    ["echo '{}{}'", "bad_json"],
    [`printf '{"user_input":"\\377"}'`, "bad_json"],
    [`echo '{"action":"abort"}'`, "unsupported_action"],
    [`echo '{"user_input":5}'`, "bad_result"],
    ["kill -KILL $$", "exited"],
    ["kill -TERM $$", "exited"],
    ["head -c 2000000 /dev/zero", "too_large"],
    ["yes", "too_large"],
    ["no-such-command-anywhere", "exited"],
  ])("fails: %s", async (command, kind) => {
    expect((await failureOf(command)).kind).toBe(kind);
  });

  test("says how it ended, with the end of its stderr on one line", async () => {
    const { error } = await failureOf("echo first >&2; printf 'last\\twords\\n' >&2; exit 3");
    expect(error).toBe("the command exited with code 3: first last words");
    expect((await failureOf("kill -KILL $$")).error).toBe("the command was ended by SIGKILL");
    const { error: long } = await failureOf("head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1");
    expect(long.length).toBeLessThan(300);
    expect(long).toMatch(/: x+end$/);
  });

  test("is given the context, the event, the directory and the host's environment", async () => {
    const { result } = await run([
      `printf '{"user_input":"%s %s %s %s"}' "$JCLI_HOOK_EVENT" "$JCLI_CWD" "$(pwd)" "\${PATH:+path}"`,
    ]);
    expect(result).toEqual({ user_input: `${SEND} ${dir} ${dir} path` });
    const python = `python3 -c 'import sys,json; c=json.load(sys.stdin); print(json.dumps({"user_input": json.dumps(c)}))'`;
    const seen = JSON.parse((await run([python])).result.user_input ?? "") as unknown;
    expect(seen).toEqual({ event: SEND, user_input: "hi", cwd: dir });
  });

  test("gets text of users as data and never as words of the shell", async () => {
    const nasty = `$(touch ${dir}/pwned) \`touch ${dir}/pwned\` '; touch ${dir}/pwned; " -rf {{model}}\n\u2028 é 😀`;
    const echo = `python3 -c 'import sys,json; c=json.load(sys.stdin); print(json.dumps({"user_input": c["user_input"] + "!"}))'`;
    expect((await run([echo, "test ! -e pwned"], { user_input: nasty })).result).toEqual({ user_input: `${nasty}!` });
  });

  test("that does not read its input is no failure, whatever its size", async () => {
    for (const bytes of [10, 200_000, 3_000_000]) {
      const { result } = await run([`echo '{"user_input":"x"}'`], { user_input: "y".repeat(bytes) });
      expect(result).toEqual({ user_input: "x" });
      const { result: closed } = await run([`exec 0<&-; echo '{"user_input":"x"}'`], { user_input: "y".repeat(bytes) });
      expect(closed).toEqual({ user_input: "x" });
    }
  });

  test("may write its output before it reads its input, both larger than a pipe", async () => {
    const command = `python3 -c 'import sys,json; print(json.dumps({"user_input": "a"*900000})); sys.stdout.flush(); sys.stdin.read()'`;
    const { result } = await run([command], { user_input: "y".repeat(900_000) });
    expect(result.user_input).toHaveLength(900_000);
  });

  test("may write as much as the limit and no more", async () => {
    const start = createCommandTransport({ start: createShell(), maxOutputBytes: 23 });
    const made = new LifecycleManager({ ports: { bash: createBashPort(start) }, cwd: dir });
    const outputs = [`{"user_input":"hooked!"}`, `{"user_input":"hooked"} `, `{"user_input":"hooked"}`];
    const hooks = outputs.map((output) => ({ command: `printf '${output}'` }));
    made.load("user", readHookFile(JSON.stringify({ [SEND]: hooks })).hooks);
    const { trace } = await made.run({ event: SEND, user_input: "hi" });
    expect(outputs.map(({ length }) => length)).toEqual([24, 24, 23]);
    expect(trace.records.map(({ kind, outcome }) => kind ?? outcome)).toEqual(["too_large", "too_large", "modify"]);
  });

  test("in a directory that is not there fails and says so", async () => {
    const { trace } = await run(["true"], { cwd: join(dir, "nowhere") });
    expect(trace.records[0]).toMatchObject({ kind: "not_running" });
    expect(trace.records[0]?.error).toContain("directory not found");
    expect((await run(["true"], { cwd: "a\0b" })).trace.records[0]?.kind).toBe("not_running");
  });
});

function inject(content: string): string {
  return `echo '{"inject_messages":[{"role":"user","content":"${content}"}]}'`;
}

describe("a chain of bash hooks", () => {
  test("a builtin, then a session hook that sees its change", async () => {
    const made = manager(SEND, []);
    made.addBuiltin(SEND, () => ({ user_input: "from-builtin" }), { name: "first" });
    made.sessions.register("s", { event: SEND, command: `grep -q from-builtin && echo '{"user_input":"seen"}'` });
    expect((await made.run({ event: SEND, session_id: "s" })).result).toEqual({ user_input: "seen" });
  });

  test("the second writer wins", async () => {
    const { result } = await run([`echo '{"user_input":"a"}'`, `echo '{"user_input":"b"}'`]);
    expect(result).toEqual({ user_input: "b" });
  });

  test("on_error abort, then another: halted, no change", async () => {
    const { result, halted, trace } = await run([
      `echo '{"user_input":"a"}'`,
      { command: "exit 1", on_error: "abort" },
      `echo '{"user_input":"b"}'`,
    ]);
    expect({ result, halted, calls: trace.records.length }).toEqual({
      result: { action: "stop" },
      halted: true,
      calls: 2,
    });
  });

  test("on_error skip, then survived", async () => {
    expect((await run(["exit 1", `echo '{"user_input":"survived"}'`])).result).toEqual({ user_input: "survived" });
  });

  test("modify, then stop", async () => {
    const { result } = await run([
      `echo '{"user_input":"a","system_message":"a"}'`,
      `echo '{"action":"stop","user_input":"b","retry_feedback":"why","system_message":"no"}'`,
    ]);
    expect(result).toEqual({ action: "stop", retry_feedback: "why", system_message: "no" });
  });

  test("two inject_messages are joined", async () => {
    const { result } = await run([inject("a"), inject("b")], { event: "pre_llm_request", messages: [] });
    expect(result.inject_messages?.map(({ content }) => content)).toEqual(["a", "b"]);
  });

  test("retry 2, always failing: 3 executions, 3 failures", async () => {
    const made = manager(SEND, [{ command: "exit 1", retry: 2 }]);
    await made.run({ event: SEND });
    expect(made.hooks()[0]?.metrics).toMatchObject({ executions: 3, successes: 0, failures: 3, skipped: 0 });
  });

  test("a retry that succeeds is a success", async () => {
    const command = `test -e tried && echo '{"user_input":"second"}' || { touch tried; exit 1; }`;
    expect((await run([{ command, retry: 1 }])).result).toEqual({ user_input: "second" });
  });

  test("a filter that does not match runs nothing", async () => {
    const made = manager("pre_tool_execution", [{ command: "touch ran", filter: { tool_matcher: "Bash|Shell" } }]);
    await made.run({ event: "pre_tool_execution", tool_name: "Write", tool_arguments: "{}" });
    expect(made.hooks()[0]?.metrics).toMatchObject({ executions: 0, skipped: 1 });
    await made.run({ event: "pre_tool_execution", tool_name: "Shell", tool_arguments: "{}" });
    expect(made.hooks()[0]?.metrics).toMatchObject({ executions: 1, skipped: 1, successes: 1 });
  });

  test("what exceeds the chain's budget does not run and what was changed before stands", async () => {
    const hooks = [`echo '{"user_input":"a"}'`, "sleep 30", "touch too-late"];
    const made = manager(SEND, hooks, { chainTimeoutMs: 300 });
    const { result, trace } = await made.run({ event: SEND });
    expect(result).toEqual({ user_input: "a" });
    expect(trace.records.map(({ kind, outcome }) => kind ?? outcome)).toEqual(["modify", "timeout", "out_of_budget"]);
  });
});
