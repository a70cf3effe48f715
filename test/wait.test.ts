import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { settlesWithin } from "../src/wait.ts";
import { createGate } from "./conformance/fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("waits for as long as it is told, also without end, and leaves no timer", async () => {
  const { promise, open } = createGate();
  const settled = settlesWithin(promise, Infinity);
  await vi.advanceTimersByTimeAsync(60_000);
  open();
  expect(await settled).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("gives up when the time is over", async () => {
  const settled = settlesWithin(new Promise(() => {}), 1000);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await settled).toBe(false);
});

test("takes a rejection as the end", async () => {
  expect(await settlesWithin(Promise.reject(new Error("gone")), 1000)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("a time that is used up is none: no timer is given a negative one, of which Node warns", async () => {
  const armed = vi.spyOn(globalThis, "setTimeout");
  const settled = settlesWithin(new Promise(() => {}), -5);
  await vi.advanceTimersByTimeAsync(1);
  expect(await settled).toBe(false);
  expect(armed).toHaveBeenCalledWith(expect.any(Function), 0);
});
