import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { commandOf, groupIsGone, startHook } from "./real-hook.ts";

describe("a hook served by serveStdio", () => {
  test("answers calls as they are done, and prints to stderr", async (context) => {
    const { transport, call, log } = startHook(context, { command: commandOf("served.ts") });
    const meta = { AgentID: "a" };
    const slow = call({ params: { meta, tool: "slow", arguments: {} } });
    const fast = call({ params: { meta, tool: "fast", arguments: {} } });
    expect(await fast).toMatchObject({ reply: { action: "deny_tool", reason: "saw fast" } });
    expect(await slow).toMatchObject({ reply: { action: "deny_tool", reason: "saw slow" } });
    await log.line(/this must not reach stdout/);
    expect(transport.status().droppedLines).toBe(0);
  });

  test("turns what it throws into an error", async (context) => {
    const { call } = startHook(context, { command: commandOf("served.ts") });
    const params = { meta: {}, tool: "throw", arguments: {} };
    expect(await call({ params })).toMatchObject({ kind: "rpc_error", error: "no room left" });
  });

  test("ends when its stdin does, after the last reply has arrived whole", async () => {
    const [file = "", ...args] = commandOf("served.ts");
    const child = spawn(file, args, { stdio: ["pipe", "pipe", "ignore"] });
    const params = { meta: {}, tool: "big", arguments: {} };
    child.stdin.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.before_tool", params })}\n`);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ id: 1, result: { reason: "x".repeat(900_000) } });
  });

  test("ends when nobody reads its replies any more", async () => {
    const [file = "", ...args] = commandOf("served.ts");
    const child = spawn(file, args, { stdio: ["pipe", "pipe", "ignore"] });
    const exited = once(child, "exit");
    child.stdout.destroy();
    child.stdin.on("error", () => {});
    // Its output is broken before its input ends; it is the broken output that must end it.
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{}}\n');
    expect(await exited).toEqual([0, null]);
  });

  test("ends with its host, whoever else holds its stdin", async () => {
    // The shell is the host; `sleep` inherits the pipe's other end, so the hook's stdin does not end with the shell.
    const [file = "", ...args] = commandOf("served.ts");
    const host = spawn("sh", ["-c", `exec 3<&0; "$@" <&3 & echo $!; read line`, "sh", file, ...args], {
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
    });
    const [line] = (await once(host.stdout, "data")) as [Buffer];
    const pid = Number(line.toString().split("\n")[0]);
    expect(pid).toBeGreaterThan(1);
    host.kill("SIGKILL");
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 5000);
    await groupIsGone(host.pid ?? 0);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
