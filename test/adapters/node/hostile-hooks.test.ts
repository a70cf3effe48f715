import { describe, expect, test, type TestContext, vi } from "vitest";
import { commandOf, groupIsGone, groupOf, type HookOptions, type RealHook, startHook } from "./real-hook.ts";

const CONTINUE = { action: "continue" };

// A deadline is shown to be settled by its timer by what has not happened yet when the verdict is there: the process
// lives and its pipes are open. How late a timer is on a busy machine says nothing about the transport.
const WAIT = { timeout: 20_000, interval: 20 };

describe.concurrent.each(["liar.py", "liar.ts"])("%s", { timeout: 60_000 }, (file) => {
  const start = (context: TestContext, mode: string, options?: HookOptions): RealHook =>
    startHook(context, { command: commandOf(file, mode), ...options });

  test("a well-behaved hook answers, and leaves when its stdin ends", async (context) => {
    const { transport, call, log } = start(context, "well");
    expect(await call()).toMatchObject({ outcome: "verdict", reply: CONTINUE });
    await transport.close();
    expect(log.text).toContain("has left");
    expect(log.text).not.toContain("does not leave");
  });

  test.for(["prose", "two_values", "wrong_ids", "twice", "not_utf8"])(
    "%s: the good line counts",
    async (mode, context) => {
      const { transport, call } = start(context, mode);
      expect(await call()).toMatchObject({ outcome: "verdict", reply: CONTINUE });
      await vi.waitFor(() => expect(transport.status().droppedLines).toBeGreaterThan(0), WAIT);
      expect(transport.status().state).toBe("ready");
    },
  );

  test("an oversized line is no verdict, and the next line is read", async (context) => {
    const { call } = start(context, "oversized");
    expect(await call()).toMatchObject({ kind: "too_large" });
    expect(await call()).toMatchObject({ outcome: "verdict", reply: CONTINUE });
  });

  test("a late reply is harmless", async (context) => {
    const { transport, call } = start(context, "late");
    await transport.ready();
    expect(await call({ timeoutMs: 100 })).toMatchObject({ kind: "timeout" });
    expect(await call()).toMatchObject({ outcome: "verdict", reply: CONTINUE });
    expect(transport.status().droppedLines).toBe(1);
  });

  test("a hook that never answers is cut at the deadline", async (context) => {
    const { transport, call } = start(context, "silent");
    await transport.ready();
    expect(await call({ timeoutMs: 200 })).toMatchObject({ kind: "timeout" });
    expect(transport.status()).toMatchObject({ state: "ready", restartCount: 0 });
  });

  test("a hook that never reads costs nothing but its own calls", async (context) => {
    const { transport, call } = start(context, "never_reads", { maxQueuedChars: 1 << 20 });
    await transport.ready();
    const params = { text: "x".repeat(250_000) };
    const settled: (string | undefined)[] = [];
    const calls = Array.from({ length: 16 }, async () => {
      settled.push((await call({ params, timeoutMs: 300 })).kind);
    });
    await Promise.all(calls);
    const waited = settled.indexOf("timeout");
    expect(new Set(settled.slice(0, waited))).toEqual(new Set(["overloaded"]));
    expect(new Set(settled.slice(waited))).toEqual(new Set(["timeout"]));
    expect(transport.status()).toMatchObject({ state: "ready", restartCount: 0 });
  });

  test("a hook that dies mid-call: its code, its last words, a new process", async (context) => {
    const { transport, call, log, pids } = start(context, "dies");
    await transport.ready();
    expect(await call()).toMatchObject({ kind: "exited", error: "the hook process exited with code 7" });
    expect(await call()).toMatchObject({ kind: "not_running" });
    expect(await log.line(/has ended/)).toContain("no room left");
    await vi.waitFor(() => expect(pids).toHaveLength(2), WAIT);
    await vi.waitFor(() => expect(transport.status()).toMatchObject({ state: "ready", restartCount: 1 }), WAIT);
  });

  test("a hook that is killed names the signal", async (context) => {
    const { transport, call } = start(context, "killed");
    await transport.ready();
    expect(await call()).toMatchObject({ kind: "exited", error: "the hook process was ended by SIGKILL" });
  });

  test("half a line at the exit is not a verdict", async (context) => {
    const { transport, call } = start(context, "partial");
    await transport.ready();
    expect(await call()).toMatchObject({ kind: "exited" });
  });

  test("a grandchild that holds stdout neither delays the exit nor outlives it", async (context) => {
    const { transport, call, pids } = start(context, "grandchild");
    await transport.ready();
    const [pid = 0] = pids;
    expect(groupOf(pid)).toHaveLength(2);
    expect(await call()).toMatchObject({ kind: "exited", error: "the hook process exited with code 7" });
    await groupIsGone(pid);
  });

  test("a hook that ignores the end of stdin and SIGTERM is killed after 3 s", async (context) => {
    const { transport, call, log, pids } = start(context, "stays");
    await call();
    const startedAtMs = performance.now();
    await transport.close();
    expect(performance.now() - startedAtMs).toBeGreaterThan(2900);
    expect(log.text).toContain("is killed");
    await groupIsGone(pids[0] ?? 0);
  });

  test("hello refused: shown, retried, calls are no verdict at once", async (context) => {
    const { transport, call } = start(context, "hello_refused");
    expect(await call()).toMatchObject({
      kind: "not_running",
      error: "the hook is not running: hello refused: wrong version",
    });
    expect(transport.status()).toMatchObject({ state: "backing_off", lastError: "hello refused: wrong version" });
  });

  test("hello never answered: a call's own deadline holds, then the hook is stopped", async (context) => {
    const { transport, call, pids } = start(context, "hello_never", { helloTimeoutMs: 1000 });
    expect(await call({ timeoutMs: 100 })).toMatchObject({ kind: "timeout" });
    expect(transport.status().state).toBe("starting");
    await transport.ready();
    expect(transport.status()).toMatchObject({ state: "backing_off", lastError: "no reply to hello within 1000 ms" });
    await groupIsGone(pids[0] ?? 0);
  });

  test("a crash loop is shown as failed after five starts", async (context) => {
    const { transport, call, pids } = start(context, "crash_loop");
    await vi.waitFor(() => expect(transport.status().state).toBe("failed"), WAIT);
    expect(pids.length).toBeGreaterThanOrEqual(5);
    expect(await call()).toMatchObject({ kind: "not_running" });
    expect(transport.status().lastError).toContain("5 starts in a row failed: the hook process exited with code 9");
  });
});

test("a reply cut off by process.exit is not a verdict", async (context) => {
  const { transport, call } = startHook(context, { command: commandOf("liar.ts", "exit_after_write") });
  await transport.ready();
  const { outcome, error, reply } = await call();
  // What the pipe holds decides whether the line is whole. Half of it is never believed.
  const lost = { outcome: "no_verdict", error: "the hook process exited with code 0", size: undefined };
  const whole = { outcome: "verdict", error: undefined, size: 900_011 };
  expect([lost, whole]).toContainEqual({ outcome, error, size: JSON.stringify(reply)?.length });
});

// One at a time: a flood takes the machine from whatever else runs on it.
describe.each(["liar.py", "liar.ts"])("%s", { timeout: 60_000 }, (file) => {
  test("a flood on stderr blocks nothing and floods no log", async (context) => {
    const { call, log } = startHook(context, { command: commandOf(file, "stderr_flood") });
    expect(await call()).toMatchObject({ outcome: "verdict", reply: CONTINUE });
    await log.line(/noise 0 /);
    expect(log.lines.length).toBeLessThan(400);
  });
  test("a flood on stdout delays no verdict, of its own or of others", async (context) => {
    const { transport, call } = startHook(context, { command: commandOf(file, "stdout_flood") });
    const other = startHook(context, { command: commandOf(file, "well") });
    await Promise.all([transport.ready(), other.transport.ready()]);
    const flooded = call({ timeoutMs: 500 });
    await vi.waitFor(() => expect(transport.status().droppedLines).toBeGreaterThan(10_000), WAIT);
    expect(await other.call()).toMatchObject({ outcome: "verdict", reply: CONTINUE });
    expect(await flooded).toMatchObject({ kind: "timeout" });
    expect(transport.status()).toMatchObject({ state: "ready", restartCount: 0 });
  });
});
