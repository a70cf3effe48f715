import { createServer } from "node:net";
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

async function serve(config: unknown, ...flags: readonly string[]): Promise<Running> {
  dir = await makeDir({ "hooks.json": config });
  gateway = start(["serve", "--port", "0", ...flags], { cwd: dir });
  return gateway;
}

async function urlOf(running: Running): Promise<string> {
  return /http:\S+/.exec(await running.seen("try it:"))?.[0] ?? "";
}

async function ask(url: string, tool: string): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.check_tool", params: { tool } });
  const response = await fetch(`${url}/rpc`, { method: "POST", headers: { "content-type": "application/json" }, body });
  return response.json();
}

const DENY = { builtins: { deny_tools: { enabled: true, config: { tools: ["bash"] } } } };

describe("hookgate serve", () => {
  test("says where it listens, which hooks are up, and a line that works when pasted", async () => {
    const processes = {
      gate: hook({ "hook.before_tool": {} }),
      gone: hook({ "hook.approve_tool": {} }, { command: ["hookgate-no-such"] }),
      off: {},
    };
    const running = await serve({ hooks: { ...DENY, processes } });
    const output = await running.seen("-d '");
    expect(output).toMatch(/^hookgate \d+\.\d+\.\d+ listens on http:\/\/127\.0\.0\.1:\d+\nconfig: hooks\.json\n/);
    expect(output).toContain("no tokens are configured, so only programs on this machine may call\n");
    expect(output).toMatch(/^deny_tools +in-process +before_tool +ready +\d/m);
    expect(output).toMatch(/^gate +stdio +before_tool +ready +\d/m);
    expect(output).toMatch(/^gone +stdio +approve_tool +backing_off .*command not found/m);
    expect(output).toContain("not enabled: off\n");
    const line = output.slice(output.indexOf("curl "));
    const { stdout } = await run(line, { cwd: dir });
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { action: "deny_tool", approved: false } });
  });

  test("drains on the first signal: the call under way is answered, then it ends with 0", async () => {
    const slow = `
      process.stdin.setEncoding("utf8").on("data", (line) => {
        const { id, method } = JSON.parse(line);
        const reply = () => console.log(JSON.stringify({ id, result: { action: "deny_tool", reason: "late" } }));
        if (method === "hook.hello") return reply();
        process.kill(process.ppid, "SIGTERM");
        setTimeout(reply, 300);
      });`;
    const processes = { slow: hook({ "hook.before_tool": {} }, { command: ["node", "-e", slow] }) };
    const running = await serve({ hooks: { processes } });
    expect(await ask(await urlOf(running), "bash")).toMatchObject({ result: { action: "deny_tool", reason: "late" } });
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test("ends at once on the second signal, though not on the echo of the first", async () => {
    const deaf = `
      process.stdin.setEncoding("utf8").on("data", (line) => {
        const { id, method } = JSON.parse(line);
        if (method === "hook.hello") return console.log(JSON.stringify({ id, result: {} }));
        process.kill(process.ppid, "SIGINT");
        process.kill(process.ppid, "SIGINT");
        setTimeout(() => process.kill(process.ppid, "SIGTERM"), 400);
      });
      process.on("SIGTERM", () => {});
      setInterval(() => {}, 1000);`;
    const processes = { deaf: hook({ "hook.before_tool": {} }, { command: ["node", "-e", deaf] }) };
    const running = await serve({ hooks: { processes } });
    const asked = ask(await urlOf(running), "bash").catch((error: unknown) => error);
    expect(await running.ended).toMatchObject({
      code: 143,
      stderr: expect.stringContaining("signal=SIGINT") as unknown,
    });
    expect(await asked).toBeInstanceOf(Error);
  });

  test("does not start without a required hook", async () => {
    const processes = { gone: hook({ "hook.before_tool": {} }, { command: ["hookgate-no-such"], required: true }) };
    const { code, stdout, stderr } = await (await serve({ hooks: { processes } })).ended;
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^error: required hook "gone" did not come up: .*command not found/m);
    expect(code).toBe(1);
  });

  test("is not ready while a required hook is down", async () => {
    const dies = `
      process.stdin.setEncoding("utf8").on("data", (line) => {
        const { id, method } = JSON.parse(line);
        if (method === "hook.hello") console.log(JSON.stringify({ id, result: {} }));
        else process.exit(3);
      });`;
    const processes = { dies: hook({ "hook.before_tool": {} }, { command: ["node", "-e", dies], required: true }) };
    const url = await urlOf(await serve({ hooks: { processes } }));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await ask(url, "bash")).toMatchObject({ result: { trace: { records: [{ kind: "exited" }] } } });
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
  });

  test("refuses an address that others reach, without tokens", async () => {
    const processes = { gate: hook({ "hook.before_tool": {} }) };
    const { code, stdout, stderr } = await (await serve({ hooks: { processes } }, "--host", "0.0.0.0")).ended;
    expect([code, stdout]).toEqual([1, ""]);
    // Nothing else is said: no hook was started first.
    expect(stderr).toMatch(
      /^error: refusing to listen on "0\.0\.0\.0" without authentication: .*gateway\.auth\.tokens.*\n$/,
    );
  });

  test("asks for a token where there are tokens", async () => {
    const tokens = [{ name: "bot", sha256: "ab".repeat(32), scopes: ["call"] }];
    const running = await serve({ hooks: {}, gateway: { port: 1, auth: { tokens }, limits: { max_batch: 2 } } });
    const output = await running.seen("-d '");
    expect(output).toContain("callers need a token\n");
    expect(output).toContain("no hook is enabled: every call is allowed\n");
    expect(output).toContain('-H "authorization: Bearer $HOOKGATE_TOKEN"');
    expect(await ask(await urlOf(running), "bash")).toMatchObject({ error: { code: -32_001 } });
  });

  test("says that the port is taken", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    dir = await makeDir({ "hooks.json": { hooks: DENY, gateway: { port } } });
    const { code, stderr } = await run(["serve"], { cwd: dir });
    taken.close();
    expect(stderr).toMatch(/^error: cannot listen on 127\.0\.0\.1:\d+: the port is in use/m);
    expect(code).toBe(1);
  });
});
