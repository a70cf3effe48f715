import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { createSpawn } from "../../../adapters/node/child-process.ts";
import { commandOf, groupIsGone, startHook } from "./real-hook.ts";

/** What a command writes to stdout, and how it ends. */
async function run(options: Parameters<typeof createSpawn>[0]): Promise<{ output: string; code: number | null }> {
  const child = createSpawn(options)();
  const chunks: Uint8Array[] = [];
  const ended = new Promise<void>((resolve) => {
    child.pipe.start({ chunk: (bytes) => void chunks.push(bytes), end: () => resolve() });
  });
  const { code } = await child.exited;
  await ended;
  return { output: Buffer.concat(chunks).toString(), code };
}

const print = (expression: string): readonly string[] => [process.execPath, "-p", expression];

describe("a command", () => {
  test("that is not found is named", async () => {
    const { exited, pid } = createSpawn({ command: ["hookgate-no-such-command", "x"] })();
    expect(pid).toBeUndefined();
    expect(await exited).toEqual({
      code: null,
      signal: null,
      failure: 'ENOENT, command not found: "hookgate-no-such-command"',
    });
  });

  test("without the right to be executed is named", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "hookgate-")), "gate.sh");
    writeFileSync(path, "#!/bin/sh\n");
    chmodSync(path, 0o644);
    const { failure } = await createSpawn({ command: [path] })().exited;
    expect(failure).toBe(`EACCES, command cannot be executed: "${path}"`);
  });

  test("in a directory that is not there names the directory", async () => {
    const { failure } = await createSpawn({ command: print("1"), cwd: "/no/such/place" })().exited;
    expect(failure).toBe('ENOENT, directory not found: "/no/such/place"');
  });

  test("that cannot be started keeps the transport up, with the reason", async (context) => {
    const { transport, call } = startHook(context, { command: ["hookgate-no-such-command"] });
    expect(await call()).toMatchObject({ kind: "not_running" });
    expect(transport.status()).toMatchObject({
      state: "backing_off",
      lastError: 'the hook process could not be started: ENOENT, command not found: "hookgate-no-such-command"',
    });
  });

  test("of no words is the caller's mistake", () => {
    expect(() => createSpawn({ command: [] })).toThrow(RangeError);
    expect(() => createSpawn({ command: [""] })).toThrow("command must have at least one word");
  });

  test("is read by no shell", async () => {
    const words = ["$HOME", "*", "; exit 9", "a  b", '"'];
    const { output } = await run({
      command: [process.execPath, "-p", "process.argv.slice(1).join('|')", "--", ...words],
    });
    expect(output.trim()).toBe(words.join("|"));
  });

  test("runs in its directory", async () => {
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), "hookgate-")));
    expect((await run({ command: print("process.cwd()"), cwd })).output.trim()).toBe(cwd);
  });

  test("has the host's environment, PYTHONUNBUFFERED, and its own on top", async () => {
    const command = print("[process.env.PATH, process.env.PYTHONUNBUFFERED, process.env.GATE].join('|')");
    const { PATH } = process.env;
    expect((await run({ command, env: { GATE: "1" } })).output.trim()).toBe(`${PATH}|1|1`);
    expect((await run({ command, env: { GATE: "2", PYTHONUNBUFFERED: "0" } })).output.trim()).toBe(`${PATH}|0|2`);
  });

  test("may write a lot", async () => {
    const { output, code } = await run({ command: [process.execPath, "-e", "process.stdout.write('x'.repeat(5e6))"] });
    expect([output.length, code]).toEqual([5_000_000, 0]);
  });
});

describe("a flood on stdout", () => {
  test("is read a chunk a turn, so that timers are looked at in between", async () => {
    const child = createSpawn({ command: [process.execPath, "-e", "process.stdout.write('x'.repeat(2e7))"] })();
    let perTurn = 0;
    let most = 0;
    const ended = new Promise<void>((resolve) => {
      child.pipe.start({
        chunk(bytes) {
          perTurn += bytes.length;
          most = Math.max(most, perTurn);
          setImmediate(() => (perTurn = 0));
        },
        end: () => resolve(),
      });
    });
    await ended;
    expect(most).toBeLessThanOrEqual(2 * 65_536);
  });
});

describe("messages larger than a pipe", () => {
  test("go there and back", async (context) => {
    const command = [process.execPath, "-e", "process.stdin.pipe(process.stdout)"];
    // It sends our own requests back: a request is a message with a known id, and has no result.
    const { transport, call } = startHook(context, { command, maxMessageBytes: 1 << 23 });
    await transport.ready();
    const text = "ä€😀\u2028".repeat(100_000);
    expect(await call({ params: { text } })).toMatchObject({ outcome: "verdict", reply: undefined });
  });
});

describe("when the host ends, so does the hook and its children", () => {
  // `sleep` is a child of the shell and ignores what happens to its stdin.
  const hook = ["sh", "-c", "sleep 600; true"];

  async function endHost(
    how: string,
    signal?: NodeJS.Signals,
  ): Promise<{ code: number | null; signal: string | null; pid: number }> {
    const [file = "", ...args] = commandOf("host.ts", how, ...hook);
    const host = spawn(file, args, { stdio: ["pipe", "pipe", "ignore"] });
    const [line] = (await once(host.stdout, "data")) as [Buffer];
    const exited = once(host, "exit");
    if (signal === undefined) host.stdin.write("go\n");
    else host.kill(signal);
    const [code, by] = (await exited) as [number | null, string | null];
    return { code, signal: by, pid: Number(line.toString()) };
  }

  test.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)("by %s, with its own death", async (signal) => {
    const { pid, ...end } = await endHost("wait", signal);
    expect(end).toEqual({ code: null, signal });
    await groupIsGone(pid);
  });

  test("by a signal that the host handles", async () => {
    const { pid, ...end } = await endHost("handled", "SIGTERM");
    expect(end).toEqual({ code: 5, signal: null });
    await groupIsGone(pid);
  });

  test.for([
    ["exit", 3],
    ["throw", 1],
  ] as const)("by %s", async ([how, code]) => {
    const { pid, ...end } = await endHost(how);
    expect(end).toEqual({ code, signal: null });
    await groupIsGone(pid);
  });
});
