import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Ran, type Running, start } from "./run.ts";
import { BROKEN, createYamlStage, lines, USER } from "./yaml-stage.ts";

const stage = createYamlStage();

describe("hookgate serve", { timeout: 60_000 }, () => {
  let running: Running;
  let url = "";

  async function serve(): Promise<string> {
    running = start(["serve", "--port", "0"], { cwd: stage.home, env: stage.env() });
    const greeting = await running.seen("try it:");
    url = /listens on (\S+)/.exec(greeting)?.[1] ?? "";
    return greeting;
  }

  async function stop(): Promise<Ran> {
    running.signal("SIGTERM");
    return running.ended;
  }

  async function call(method: string, params: object): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(`${url}/rpc`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    return ((await response.json()) as { result: unknown }).result;
  }

  test("keeps the good entries of a broken file and says so once", async () => {
    await stage.write(USER, BROKEN);
    const greeting = await serve();
    expect(greeting).toContain(`${join(stage.home, USER)}: 3 hooks\n`);
    expect(await call("hook.run", { event: "stop" })).toMatchObject({
      halted: false,
      trace: { records: [{ outcome: "continue" }, {}, {}] },
    });
    const { stderr } = await stop();
    expect(stderr.split("unknown event")).toHaveLength(2);
  });

  test("asks both systems in one call, and lists them with what they have done", async () => {
    await stage.write(
      USER,
      lines("pre_tool_execution:", `  - command: echo '{"action":"skip"}'`, "    filter: { tool_matcher: Bash|Shell }"),
    );
    const builtins = { deny_tools: { enabled: true, config: { tools: ["format_disk"] } } };
    await stage.write("hooks.json", JSON.stringify({ hooks: { builtins }, yaml: true }));
    await serve();
    expect(await call("hook.check_tool", { tool: "format_disk" })).toMatchObject({
      action: "deny_tool",
      approved: false,
    });
    expect(await call("hook.check_tool", { tool: "Bash" })).toMatchObject({
      action: "deny_tool",
      trace: { records: [{ hook: "deny_tools" }, { hook: "user.pre_tool_execution[0]", outcome: "skip" }] },
    });
    expect(await call("hook.check_tool", { tool: "Write" })).toMatchObject({ action: "continue", approved: true });
    const { stdout } = await stage.hookgate(["hooks", "list", "--url", url]);
    expect(stdout).toMatch(/^deny_tools +in-process +before_tool +ready +3 +0$/m);
    expect(stdout).toMatch(/^pre_tool_execution +user +bash +echo .* +1 +0 +1 +[\d.]+$/m);
    expect((await stage.hookgate(["run", "pre_tool_execution", "--tool", "Bash", "--url", url])).code).toBe(2);
    await stop();
    expect((await stage.hookgate(["hooks", "list"])).stdout).toMatch(/^pre_tool_execution +user +bash/m);
  });

  const hooksOf = (session: string, rest = ""): string => `${url}/v1/session-hooks/${session}${rest}`;
  const register = (session: string, body: unknown): Promise<Response> =>
    fetch(hooksOf(session), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  test("registers no hook of a session that says one thing twice", async () => {
    await stage.write("hooks.json", JSON.stringify({ hooks: {}, yaml: { allow_session_bash: true } }));
    await serve();
    const headers = { "content-type": "application/json" };
    const body = `{"event":"stop","command":"true","on_error":"abort","on_\\u0065rror":"skip"}`;
    const refused = await fetch(hooksOf("s"), { method: "POST", headers, body });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { message: "on_error: expected once, got twice or more" } });
    expect(await (await fetch(hooksOf("s"))).json()).toEqual({ hooks: [] });
  });

  test("registers hooks of a session for that session alone, until it ends", async () => {
    await stage.write(
      "hooks.json",
      JSON.stringify({ hooks: {}, yaml: { allow_session_bash: true, max_session_hooks: 2 } }),
    );
    await serve();
    const hook = { event: "stop", command: `echo '{"retry_feedback":"more"}'` };
    expect(await (await register("a", hook)).json()).toEqual({ session_index: 0 });
    expect(await (await register("a", { ...hook, command: "exit 1" })).json()).toEqual({ session_index: 1 });
    expect((await register("a", hook)).status).toBe(409);
    expect(await call("hook.run", { event: "stop", session_id: "a" })).toMatchObject({ retry_feedback: "more" });
    expect(await call("hook.run", { event: "stop", session_id: "b" })).toMatchObject({ trace: { records: [] } });
    const listed = (await (await fetch(hooksOf("a"))).json()) as { hooks: object[] };
    expect(listed.hooks).toMatchObject([
      { session_index: 0, metrics: { successes: 1 } },
      { session_index: 1, metrics: { failures: 1 } },
    ]);
    expect((await fetch(hooksOf("a", "/0"), { method: "DELETE" })).status).toBe(200);
    expect((await fetch(hooksOf("a", "/7"), { method: "DELETE" })).status).toBe(400);
    expect(await (await fetch(hooksOf("a"))).json()).toMatchObject({ hooks: [{ session_index: 0, label: "exit 1" }] });
    await call("hook.run", { event: "session_end", session_id: "a" });
    expect(await (await fetch(hooksOf("a"))).json()).toEqual({ hooks: [] });
    await stop();
  });

  test("registers no command unless the config says so, and no address of this machine", async () => {
    await serve();
    const base = { event: "stop" };
    expect((await register("a", { ...base, command: "touch owned" })).status).toBe(403);
    const http = { ...base, type: "http", unsigned: true };
    for (const target of ["http://127.0.0.1:1/", "https://localhost/", "https://10.1.2.3/"]) {
      expect((await register("a", { ...http, url: target, allow_private: true })).status).toBe(400);
    }
    expect((await register("a", { ...http, url: "https://example.com/", secret: "${env:HOME}" })).status).toBe(400);
    expect((await register("a", { ...http, url: "https://example.com/hook" })).status).toBe(201);
    expect((await register("a", { ...base, type: "llm", prompt: "x" })).status).toBe(201);
    for (const body of [1, {}, { event: "none", type: "llm", prompt: "x" }])
      expect((await register("a", body)).status).toBe(400);
    const form = await fetch(hooksOf("a"), { method: "POST", body: "{}" });
    expect(form.status).toBe(415);
    await stop();
  });

  test("registers for those with the scope", async () => {
    const sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    const tokens = [{ name: "t", sha256, scopes: ["call", "observe"] }];
    await stage.write("hooks.json", JSON.stringify({ hooks: {}, yaml: true, gateway: { auth: { tokens } } }));
    await serve();
    const headers = { "content-type": "application/json", authorization: "Bearer secret" };
    const body = JSON.stringify({ event: "stop", type: "llm", prompt: "x" });
    expect((await fetch(hooksOf("a"), { method: "POST", headers, body })).status).toBe(403);
    expect((await fetch(hooksOf("a"))).status).toBe(401);
    await stop();
  });
});
