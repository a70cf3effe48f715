import { expect, test } from "vitest";
import type { ReplayStore } from "../../src/signing/replay.ts";

/** A replay store and the clock it goes by. */
export interface ReplayStage {
  readonly store: ReplayStore;
  nowMs(): number;
  advance(ms: number): void;
}

/** What every replay store must do, whatever it keeps its keys in. */
export function testReplayStore(createStage: () => ReplayStage | Promise<ReplayStage>): void {
  let count = 0;
  const newKey = (): string => `https://gateway.example|contract-${(count += 1)}-${"0123456789abcdef".repeat(3)}`;

  test("a key counts once until it expires, whatever expiry comes with it later", async () => {
    const { store, nowMs, advance } = await createStage();
    const key = newKey();
    expect(await store.insert(key, nowMs() + 1000)).toBe(true);
    expect(await store.insert(key, nowMs() + 9000)).toBe(false);
    advance(999);
    expect(await store.insert(key, nowMs() + 9000)).toBe(false);
    advance(1);
    expect(await store.insert(key, nowMs() + 9000)).toBe(true);
    expect(await store.insert(key, nowMs() + 9000)).toBe(false);
  });

  test("of many that come at once, one is the first", async () => {
    const { store, nowMs } = await createStage();
    const key = newKey();
    const expiresAtMs = nowMs() + 90_000;
    const results = await Promise.all(Array.from({ length: 20 }, async () => store.insert(key, expiresAtMs)));
    expect(results.filter(Boolean)).toHaveLength(1);
  });

  test("keys that differ by a byte are two, and a key may be 2 KiB", async () => {
    const { store, nowMs } = await createStage();
    const expiresAtMs = nowMs() + 1000;
    const long = `${newKey()}${"ü'\"\u2028".repeat(300)}`;
    for (const key of [`${long}a`, `${long}b`, `${long}A`]) expect(await store.insert(key, expiresAtMs)).toBe(true);
    for (const key of [`${long}a`, `${long}b`, `${long}A`]) expect(await store.insert(key, expiresAtMs)).toBe(false);
  });

  test("what has expired already is refused, and so is what is no time", async () => {
    const { store, nowMs } = await createStage();
    const key = newKey();
    for (const expiresAtMs of [nowMs(), nowMs() - 1, Number.NaN]) {
      await expect(async () => store.insert(key, expiresAtMs)).rejects.toThrow(/clock/);
    }
    expect(await store.insert(key, nowMs() + 1)).toBe(true);
  });
}
