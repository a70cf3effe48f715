import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createShell } from "../../../adapters/node/index.ts";
import { Current, runChain } from "../../../src/chain/index.ts";
import { createCommandTransport, type RunningCommand } from "../../../src/transport/command.ts";

let dir = "";

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "hookgate-shell-"));
});

afterAll(async () => {
  await rm(dir, { recursive: true });
});

const limits = { maxOutputBytes: 1_048_576 };

function start(command: string, input = ""): RunningCommand {
  return createShell({ env: { GIVEN: "given" } })({ command, cwd: dir, env: { OWN: "own" }, input }, limits);
}

async function textOf(running: RunningCommand): Promise<string> {
  return new TextDecoder().decode((await running.outcome).stdout);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Resolves once a condition holds; the test's own timeout is its bound. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A file's text; empty while it is not there. */
function readText(name: string): Promise<string> {
  return readFile(join(dir, name), "utf8").catch(() => "");
}

async function readPid(name: string): Promise<number> {
  let pid = 0;
  await until(async () => (pid = Number(await readText(name))) > 0);
  return pid;
}

/** How long a call took and what came of it, under a deadline that the engine settles. */
async function callFor(
  timeoutMs: number,
  command: string,
): Promise<{ readonly ms: number; readonly kind: string | undefined }> {
  const run = createCommandTransport({ start: createShell() });
  const { records } = await runChain(
    [
      {
        name: "hook",
        source: "bash",
        timeoutMs,
        policy: { effectOf: () => "continue" },
        call: (_current, scope) => run({ command, cwd: dir, env: {}, input: "x".repeat(200_000) }, scope),
      },
    ],
    new Current({}),
    { rules: { point: "p", judge: () => ({ outcome: "ok" }) } },
  );
  return { ms: records[0]?.ms ?? 0, kind: records[0]?.kind };
}

describe("a shell command", () => {
  test("has the variables of the host, of the shell and its own", async () => {
    expect(await textOf(start(`printf '%s %s %s' "$GIVEN" "$OWN" "\${PATH:+path}"`))).toBe("given own path");
  });

  test("gets its input and then its end", async () => {
    expect(await textOf(start("cat", "é\n"))).toBe("é\n");
  });

  test("gives everything it wrote before it ended", async () => {
    for (const bytes of [1, 65_536, 65_537, 1_000_000]) {
      const { stdout, exit } = await start(`head -c ${bytes} /dev/zero`).outcome;
      expect([stdout.length, exit?.code]).toEqual([bytes, 0]);
    }
  });

  test("is not waited for by its daemon, which goes on and may hold its pipes", async () => {
    for (const background of ["sleep 60 &", "setsid sleep 60 &", "(exec sleep 60) &"]) {
      const startedAtMs = performance.now();
      const text = await textOf(start(`${background} echo $! > daemon; head -c 200000 /dev/zero; echo done`));
      expect(performance.now() - startedAtMs).toBeLessThan(2000);
      expect(text).toHaveLength(200_005);
      const pid = await readPid("daemon");
      expect(isAlive(pid)).toBe(true);
      process.kill(pid, "SIGKILL");
      await rm(join(dir, "daemon"));
    }
  });

  test("that writes too much is ended at once, even when it does not want to", async () => {
    const running = start("trap '' TERM; echo $$ > writer; while :; do head -c 100000 /dev/zero; done");
    const { exit, stdout } = await running.outcome;
    expect([exit, stdout.length]).toEqual([undefined, 0]);
    const pid = await readPid("writer");
    await until(() => !isAlive(pid));
  });

  test("that ends takes its timers with it", async () => {
    const listenerCount = process.listenerCount("exit");
    const running = start("true");
    await running.outcome;
    running.terminate();
    running.terminate();
    expect(process.listenerCount("exit")).toBe(listenerCount);
  });
});

describe("a deadline", () => {
  test("is settled by its timer, not by the end of the command", async () => {
    const { ms, kind } = await callFor(100, "trap '' TERM; sleep 60 & wait; sleep 60");
    expect(kind).toBe("timeout");
    expect(ms).toBeGreaterThanOrEqual(100);
    expect(ms).toBeLessThan(600);
  });

  test("ends the whole group, also what traps TERM", async () => {
    const inner = `sh -c 'trap "" TERM; echo $$ > inner; while :; do sleep 1; done'`;
    await callFor(300, `echo $$ > outer; ${inner} & ${inner.replace("inner;", "second;")} & wait`);
    for (const name of ["outer", "inner", "second"]) {
      const pid = await readPid(name);
      await until(() => !isAlive(pid));
      expect(isAlive(pid)).toBe(false);
    }
  });

  test("lets a command that heeds TERM clean up", async () => {
    await callFor(300, "trap 'echo yes > cleaned; exit 0' TERM; while :; do sleep 0.05; done");
    await until(async () => (await readText("cleaned")) !== "");
    expect(await readText("cleaned")).toBe("yes\n");
  });

  test("cuts a command that closed its stdout and goes on", async () => {
    const { kind } = await callFor(100, "exec 1>&- 2>&-; sleep 60");
    expect(kind).toBe("timeout");
  });
});
