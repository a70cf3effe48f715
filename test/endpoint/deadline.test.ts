import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runWithin } from "../../src/endpoint/deadline.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Each way in which a call ends, and what it ends with. */
const ENDS: Readonly<Record<string, (caller: AbortController) => Promise<unknown>>> = {
  resolves: () => Promise.resolve("done"),
  rejects: () => Promise.reject(new Error("no")),
  "is late": () => {
    // Once it waits: its timer is armed then.
    void vi.advanceTimersByTimeAsync(1000);
    return new Promise<never>(() => {});
  },
  "is given up": (caller) => {
    caller.abort();
    return new Promise<never>(() => {});
  },
  "rejects after it was given up": (caller) => {
    caller.abort();
    return Promise.reject(new Error("late"));
  },
};

test.each(Object.entries(ENDS))("a call that %s leaves no timer and no listener", async (_name, call) => {
  const caller = new AbortController();
  await runWithin(() => call(caller), { timeoutMs: 1000, signal: caller.signal }).catch(() => undefined);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);
});

test("a caller that is gone before is not worked for", async () => {
  const call = vi.fn<() => Promise<void>>();
  const signal = AbortSignal.abort();
  await expect(runWithin(call, { timeoutMs: 1000, signal })).rejects.toMatchObject({ kind: "aborted" });
  expect(call).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

function busyFor(ms: number): () => Promise<never> {
  return () => {
    vi.advanceTimersByTime(ms);
    void vi.advanceTimersByTimeAsync(600);
    return new Promise<never>(() => {});
  };
}

test("a call that waits for nothing arms no timer; one that waits has what is left of its time", async () => {
  const armed = vi.spyOn(globalThis, "setTimeout");
  expect(await runWithin(async () => "at once", { timeoutMs: 1000 })).toBe("at once");
  expect(armed).not.toHaveBeenCalled();
  await expect(runWithin(busyFor(400), { timeoutMs: 1000 })).rejects.toMatchObject({ kind: "timeout" });
  expect(armed).toHaveBeenLastCalledWith(expect.any(Function), 600);
});

test("a call that keeps the thread past its deadline and then waits is late at once", async () => {
  const armed = vi.spyOn(globalThis, "setTimeout");
  await expect(runWithin(busyFor(1500), { timeoutMs: 1000 })).rejects.toMatchObject({ kind: "timeout" });
  // Node warns of a time that is negative.
  expect(armed).toHaveBeenLastCalledWith(expect.any(Function), 0);
});
