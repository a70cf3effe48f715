import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { backoffMs } from "../../src/transport/backoff.ts";
import type { Transport } from "../../src/transport/contract.ts";
import { createStdioTransport } from "../../src/transport/stdio.ts";
import { MemoryLog, MemoryProcess, result } from "../conformance/memory-stdio.ts";

describe("the wait before a restart", () => {
  test("doubles from 100 ms to 30 s", () => {
    const waits = Array.from({ length: 12 }, (_, index) => backoffMs(index + 1, 0));
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000]);
    expect(backoffMs(5000, 0)).toBe(30_000);
  });

  test("is shortened by up to half", () => {
    expect(backoffMs(1, 0.5)).toBe(75);
    expect(backoffMs(1, 1 - Number.EPSILON)).toBeGreaterThanOrEqual(50);
  });
});

/** Lets everything that is ready happen, and no time pass. */
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe("supervision by the clock", () => {
  let processes: MemoryProcess[] = [];
  let log = new MemoryLog();

  beforeEach(() => {
    vi.useFakeTimers();
    processes = [];
    log = new MemoryLog();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function start(): Transport {
    return createStdioTransport({
      name: "gate",
      greeting: { method: "hook.hello", params: "{}", accept: () => {} },
      log,
      now: () => Date.now(),
      random: () => 0,
      spawn: () => {
        const child = new MemoryProcess();
        processes.push(child);
        return child;
      },
    });
  }

  const latest = (): MemoryProcess => {
    const child = processes.at(-1);
    if (child === undefined) throw new Error("nothing was started");
    return child;
  };

  async function becomeReady(): Promise<void> {
    latest().say(result(1));
    await settle();
  }

  test("hello has 5 s", async () => {
    const transport = start();
    await vi.advanceTimersByTimeAsync(4999);
    expect(transport.status().state).toBe("starting");
    await vi.advanceTimersByTimeAsync(1);
    expect(transport.status()).toMatchObject({
      state: "backing_off",
      lastError: "no reply to hello within 5000 ms",
    });
    expect(latest().isStdinEnded).toBe(true);
  });

  test("close is stdin's end, then SIGTERM after 2 s, then SIGKILL after 1 s, and never longer", async () => {
    const transport = start();
    await becomeReady();
    const child = latest();
    let isClosed = false;
    void transport.close().then(() => (isClosed = true));
    await settle();
    expect([child.isStdinEnded, child.signals]).toEqual([true, []]);
    await vi.advanceTimersByTimeAsync(1999);
    expect(child.signals).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(child.signals).toEqual(["SIGTERM"]);
    await vi.advanceTimersByTimeAsync(999);
    expect(child.signals).toEqual(["SIGTERM"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(child.signals).toEqual(["SIGTERM", "SIGKILL"]);
    expect(isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(250);
    expect([isClosed, child.isReleased]).toEqual([true, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("waits grow while the process keeps ending, and start over after 60 s up", async () => {
    const transport = start();
    for (const waitMs of [100, 200, 400]) {
      await becomeReady();
      const count = processes.length;
      latest().exit({ code: 1 });
      await vi.advanceTimersByTimeAsync(waitMs - 1);
      expect(processes).toHaveLength(count);
      await vi.advanceTimersByTimeAsync(1);
      expect(processes).toHaveLength(count + 1);
    }
    await becomeReady();
    await vi.advanceTimersByTimeAsync(60_000);
    latest().exit({ code: 1 });
    await vi.advanceTimersByTimeAsync(100);
    expect(processes).toHaveLength(5);
    expect(transport.status()).toMatchObject({ state: "starting", restartCount: 4 });
  });

  test("a hook shown as failed is still tried, at last every 30 s, and recovers", async () => {
    const transport = start();
    for (let failures = 1; failures <= 12; failures += 1) {
      latest().exit({ code: 1 });
      await vi.advanceTimersByTimeAsync(backoffMs(failures, 0));
    }
    expect(transport.status()).toMatchObject({ state: "failed", restartCount: 12 });
    expect(log.lines.filter((line) => line.startsWith("the hook has failed"))).toHaveLength(1);
    await becomeReady();
    expect(transport.status()).toEqual({ state: "ready", restartCount: 12, droppedLines: 0, pid: 4711 });
  });

  test("a closed transport leaves no timer, whenever it is closed", async () => {
    const transport = start();
    latest().exit({ code: 1 });
    await settle();
    expect(transport.status().state).toBe("backing_off");
    await transport.close();
    await settle();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(processes).toHaveLength(1);
  });

  test("a hook that closes its stdout but stays is asked to leave and started again", async () => {
    const transport = start();
    await becomeReady();
    const child = latest();
    child.end();
    await settle();
    expect(transport.status()).toMatchObject({ state: "backing_off", lastError: "the hook closed its stdout" });
    expect(child.isStdinEnded).toBe(true);
    await vi.advanceTimersByTimeAsync(2000);
    expect(child.signals).toEqual(["SIGTERM"]);
    child.exit({ signal: "SIGTERM" }, { isHeld: true });
    await vi.advanceTimersByTimeAsync(100);
    expect(processes).toHaveLength(2);
  });
});
