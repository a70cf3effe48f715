import { evictDurableObject, listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { createReplayStore } from "../../../../adapters/cloudflare/replay.ts";
import { testReplayStore } from "../../../signing/replay-contract.ts";
import { clock, type TestShard } from "./shards.ts";

const store = createReplayStore(env.REPLAY);

function stateOf(stub: DurableObjectStub<TestShard>): Promise<{ keys: unknown[]; alarmMs: number | null }> {
  return runInDurableObject(stub, async (_, { storage }) => ({
    keys: [...storage.sql.exec("SELECT key FROM seen ORDER BY key").raw()].flat(),
    alarmMs: await storage.getAlarm(),
  }));
}

beforeEach(() => {
  clock.nowMs = Date.now();
});

describe("the replay store in Durable Objects", () => {
  testReplayStore(() => ({ store, nowMs: () => clock.nowMs, advance: (ms) => (clock.nowMs += ms) }));

  test("spreads keys whose ids begin with the same time", async () => {
    for (let index = 0; index < 64; index += 1) {
      await store.insert(`gateway|0199a0f0-0000-7000-8000-${String(index).padStart(12, "0")}`, clock.nowMs + 1000);
    }
    expect((await listDurableObjectIds(env.REPLAY)).length).toBeGreaterThan(8);
  });

  test("remembers a key when the object was evicted", async () => {
    const shard = env.REPLAY.getByName("evicted");
    expect(await shard.insert("k", clock.nowMs + 1000)).toBe(true);
    await evictDurableObject(shard);
    expect(await shard.insert("k", clock.nowMs + 1000)).toBe(false);
  });
});

describe("the alarm of a shard", () => {
  test("takes what has expired away, keeps the rest and comes again for it", async () => {
    const stub = env.REPLAY.getByName("alarm");
    const startMs = clock.nowMs;
    await stub.insert("a", startMs + 90_000);
    await stub.insert("b", startMs + 200_000);
    expect(await stateOf(stub)).toEqual({ keys: ["a", "b"], alarmMs: startMs + 90_000 });
    clock.nowMs = startMs + 90_000;
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await stateOf(stub)).toEqual({ keys: ["b"], alarmMs: startMs + 200_000 });
    clock.nowMs = startMs + 200_000;
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await stateOf(stub)).toEqual({ keys: [], alarmMs: null });
    expect(await runDurableObjectAlarm(stub)).toBe(false);
    expect(await stub.insert("a", clock.nowMs + 1000)).toBe(true);
  });

  test("may come twice, and comes once a minute at most", async () => {
    const stub = env.REPLAY.getByName("twice");
    const startMs = clock.nowMs;
    await stub.insert("a", startMs + 1000);
    await stub.insert("b", startMs + 1500);
    expect(await stateOf(stub)).toEqual({ keys: ["a", "b"], alarmMs: startMs + 60_000 });
    clock.nowMs = startMs + 1200;
    await runInDurableObject(stub, async (instance) => {
      await instance.alarm();
      await instance.alarm();
    });
    expect(await stateOf(stub)).toEqual({ keys: ["b"], alarmMs: clock.nowMs + 60_000 });
  });
});
