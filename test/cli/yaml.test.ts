import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "./run.ts";
import { BROKEN, createYamlStage, lines, USER } from "./yaml-stage.ts";

const stage = createYamlStage();

const SEND = ["run", "pre_send_message", "--user-input", "hi"];

describe("hookgate run", { timeout: 60_000 }, () => {
  test("prints the result, and what each hook changed", async () => {
    const two = [`echo '{"user_input":"hooked"}'`, `cat > seen.json; echo '{}'`].map((command) => ({ command }));
    await stage.write(USER, JSON.stringify({ pre_send_message: two }));
    const { code, stdout, stderr } = await stage.hookgate(SEND);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain('changed: user_input\n{\n  "user_input": "hooked"\n}\n');
    expect(stdout).toMatch(/^user\.pre_send_message\[0\] +modify +[\d.]+ +user_input$/m);
    expect(stdout).toMatch(/^user\.pre_send_message\[1\] +continue +[\d.]+$/m);
    const diff = await stage.hookgate([...SEND, "--diff"]);
    expect(diff.stdout).toContain("user_input\n- hi\n+ hooked\n");
    const json = await stage.hookgate([...SEND, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      user_input: "hooked",
      halted: false,
      trace: { records: [{}, {}] },
    });
  });

  test("takes a context from stdin, and flags over it", async () => {
    await stage.write(USER, "stop:\n  - command: cat > seen.json\n");
    const { code } = await stage.hookgate(
      ["run", "--context", "-", "--message", "two"],
      JSON.stringify({ event: "stop", messages: [{ role: "user", content: "one" }] }),
    );
    expect(code).toBe(0);
    const seen = await run("cat seen.json", { cwd: stage.home });
    expect(JSON.parse(seen.stdout)).toEqual({
      event: "stop",
      messages: ["one", "two"].map((content) => ({ role: "user", content })),
      cwd: stage.home,
    });
  });

  test("ends with 2 for a stop, and with 3 when a hook that must answer does not", async () => {
    await stage.write(USER, `pre_send_message:\n  - command: echo '{"action":"stop","retry_feedback":"no"}'\n`);
    expect(await stage.hookgate(SEND)).toMatchObject({ code: 2, stdout: expect.stringContaining("stop\n") as string });
    await stage.write(USER, "pre_send_message:\n  - command: exit 3\n    on_error: abort\n");
    const { code, stdout } = await stage.hookgate(SEND);
    expect(code).toBe(3);
    expect(stdout).toContain("exited: the command exited with code 3");
  });

  test("asks a model, and a word of the user is no placeholder", async () => {
    await stage.write(USER, 'pre_send_message:\n  - type: llm\n    prompt: "{{user_input}}"\n');
    stage.answer = { user_input: "better" };
    stage.prompts.length = 0;
    const { stdout } = await stage.hookgate(["run", "pre_send_message", "--user-input", "{{cwd}}", "--diff"]);
    expect(stdout).toContain("- {{cwd}}\n+ better\n");
    expect(stage.prompts).toMatchObject([expect.stringContaining("{{cwd}}")]);
  });

  test("waits for the hooks of an event that only tells", async () => {
    await stage.write(USER, "session_start:\n  - command: touch told\n");
    expect(await stage.hookgate(["run", "session_start"])).toMatchObject({ code: 0 });
    expect(await run("test -e told", { cwd: stage.home })).toMatchObject({ code: 0 });
  });

  test.each([
    [["run"], "which event?"],
    [["run", "pre_send_mesage"], "did you mean pre_send_message?"],
    [["run", "stop", "--context", "none.json"], "there is no file none.json"],
    [["run", "stop", "--token-env", "X"], "--token-env is for --url"],
  ])("refuses %j", async (args, message) => {
    expect(await stage.hookgate(args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) as string });
  });
});

const PROJECT = ".jcli/hooks.yaml";

describe("a project's file", { timeout: 60_000 }, () => {
  test("is loaded once it is trusted, and not when it has changed since", async () => {
    await stage.write(PROJECT, `pre_send_message:\n  - command: echo '{"user_input":"project"}'\n`);
    const untrusted = await stage.hookgate(["check"]);
    expect(untrusted.code).toBe(1);
    expect(untrusted.stdout).toContain(`run: hookgate trust ${join(stage.home, PROJECT)}`);
    expect((await stage.hookgate([...SEND, "--json"])).stdout).not.toContain("project");
    expect(await stage.hookgate(["trust", PROJECT])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("SHA-256") as string,
    });
    expect((await stage.hookgate([...SEND, "--json"])).stdout).toContain('"user_input": "project"');
    await stage.write(PROJECT, `pre_send_message:\n  - command: echo '{"user_input":"other"}'\n`);
    expect((await stage.hookgate([...SEND, "--json"])).stdout).not.toContain("other");
  });

  test("that is named in the config needs no trust", async () => {
    await stage.write("hooks.json", JSON.stringify({ hooks: {}, yaml: { project: "p.yaml" } }));
    await stage.write("p.yaml", `pre_send_message:\n  - command: echo '{"user_input":"named"}'\n`);
    expect((await stage.hookgate([...SEND, "--json"])).stdout).toContain("named");
  });

  test("that is not there cannot be trusted", async () => {
    expect(await stage.hookgate(["trust", "none.yaml"])).toMatchObject({ code: 1 });
    expect(await stage.hookgate(["trust"])).toMatchObject({ code: 1 });
  });
});

describe("hookgate check", { timeout: 60_000 }, () => {
  test("reports every problem of a hook file with its place", async () => {
    await stage.write(USER, BROKEN);
    const { code, stdout } = await stage.hookgate(["check"]);
    const path = join(stage.home, USER);
    expect(code).toBe(1);
    for (const problem of [
      `${path}:1:1 pre_send_mesage: unknown event; did you mean "pre_send_message"?`,
      `${path}:5:1 stop[1].command: command not found: hookgate-no-such-command`,
      `${path}:6:26 warning: stop[1].filter.tool_name: can never match at stop`,
      `${path}:8:14 stop[2].timeout: expected a number, got "soon"`,
      `${path}:10:13 warning: stop[3].prompt: unknown placeholder {{user_inptu}}, which stays as it is; did you mean "user_input"?`,
    ]) {
      expect(stdout).toContain(problem);
    }
    const { stdout: json } = await stage.hookgate(["check", "--json"]);
    expect(JSON.parse(json)).toMatchObject({ ok: false, yaml: { ok: false, files: [{ path, hooks: 3 }] } });
  });

  test("is content with a good one, and looks at the model only when it is asked to", async () => {
    await stage.write(
      USER,
      lines("stop:", "  - command: echo '{}'", "  - command: if true; then echo; fi", "  - type: llm", "    prompt: x"),
    );
    expect(await stage.hookgate(["check"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("3 hooks, good") as string,
    });
    expect(await stage.hookgate(["check", "--online"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("it answered 200") as string,
    });
    stage.status = 401;
    expect(await stage.hookgate(["check", "--online"])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("the key is refused") as string,
    });
    const env = { ...stage.env(), HOOKGATE_LLM_BASE_URL: "http://127.0.0.1:1/v1" };
    expect(await run(["check", "--online"], { cwd: stage.home, env })).toMatchObject({ code: 1 });
    const none = await run(["check"], { cwd: stage.home, env: { HOME: stage.home } });
    expect(none).toMatchObject({ code: 1, stdout: expect.stringContaining("none is configured") as string });
  });

  test.each([
    [{ yaml: { usr: "x" } }, 'yaml.usr: unknown key; did you mean "user"?'],
    [{ yaml: 1 }, "yaml: expected an object"],
    [{ yaml: { chain_timeout_ms: 0 } }, "yaml.chain_timeout_ms"],
    [{ yaml: { llm: { base_url: "ftp://x", model: "m" } } }, "yaml.llm.base_url: expected an http or https URL"],
    [{ yml: true }, 'yml: unknown key; did you mean "yaml"?'],
  ])("refuses the config %j", async (config, message) => {
    await stage.write("hooks.json", JSON.stringify({ hooks: {}, ...config }));
    expect(await stage.hookgate(["check"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message) as string,
    });
  });
});
