import { afterAll, describe, expect, test } from "vitest";
import { createRedisApprovalStore } from "../../../adapters/node/index.ts";
import { LifecycleManager, type SessionHookStore, type SessionNews } from "../../../src/jcli/index.ts";
import { START_MS } from "../../conformance/approval-fixture.ts";
import { savedHook } from "../../conformance/session-store.ts";
import { describeSessionStore } from "../../jcli/session-store-contract.ts";
import { startRedis } from "./redis-server.ts";

const server = await startRedis(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);

afterAll(() => server.close());

interface Opened {
  readonly sessionHooks: SessionHookStore;
  close(): Promise<void>;
}

function open(url: string, now?: () => number): Opened {
  const store = createRedisApprovalStore({ url, now, timeoutMs: 500 });
  const { sessionHooks } = store;
  if (sessionHooks === undefined) throw new Error("it keeps no session hooks");
  return { sessionHooks, close: () => store.close() };
}

describeSessionStore(
  "Redis, of two gateways",
  async () => {
    let nowMs = START_MS;
    const now = (): number => nowMs;
    const url = server.newUrl();
    const opened = [open(url, now), open(url, now)];
    const [first, second] = opened;
    if (first === undefined) throw new Error("nothing was opened");
    return {
      store: first.sessionHooks,
      other: second?.sessionHooks,
      now,
      advance: (ms) => void (nowMs += ms),
      reopen: async () => {
        const next = open(url, now);
        opened.push(next);
        return next.sessionHooks;
      },
      tells: "all",
      close: async () => {
        for (const each of opened) await each.close();
      },
    };
  },
  { numRuns: 25 },
);

const change = { session: "s", version: 0, hooks: [savedHook("a")], maxSessions: 10 };

describe("session hooks in a Redis that goes", () => {
  test("are unavailable, then there again, and who listens is told that something may be missed", async () => {
    const { sessionHooks: store, close } = open(server.newUrl());
    const heard: (SessionNews | undefined)[] = [];
    const waiting: (() => void)[] = [];
    store.subscribe((news) => {
      heard.push(news);
      for (const wake of waiting.splice(0)) wake();
    });
    const missed = async (): Promise<void> => {
      while (heard.at(-1) !== undefined || heard.length === 0) {
        await new Promise<void>((resolve) => void waiting.push(resolve));
      }
    };
    expect(await store.replace(change)).toMatchObject({ outcome: "replaced" });
    heard.length = 0;
    await server.kill();
    await expect(store.get("s")).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    await expect(store.replace(change)).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    await server.start();
    await missed();
    expect(await store.get("s")).toMatchObject({ hooks: change.hooks });
    await close();
  });

  test("never say what is in a key that is none", async () => {
    const url = server.newUrl();
    const { sessionHooks: store, close } = open(url);
    await store.replace(change);
    const client = await server.connect();
    const key = `{${new URL(url).searchParams.get("prefix")}}:session-hooks`;
    for (const kept of ["hunter2", "7 hunter2", '0 [{"a":1}]', '7 {"secret":"hunter2"}']) {
      await client.sendCommand(["HSET", key, "s", kept]);
      const error: unknown = await store.get("s").catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
      expect(String(error)).not.toContain("hunter2");
    }
    await close();
  });
});

const sayOne = (): object => ({ retry_feedback: "one" });

describe("what a manager knows of sessions in Redis", () => {
  test("is looked up again when the connection by which changes are told was lost", async () => {
    const url = server.newUrl();
    const { sessionHooks: sessionStore, close } = open(url);
    // The clock stands still: only news, or a new connection, make what is known one of before.
    const manager = new LifecycleManager({ sessionStore, ports: { llm: () => sayOne }, now: () => 0 });
    const stop = { event: "stop", session_id: "s" } as const;
    expect((await manager.run(stop)).trace.records).toEqual([]);
    const client = await server.connect();
    const key = `{${new URL(url).searchParams.get("prefix")}}:session-hooks`;
    await client.sendCommand(["HSET", key, "s", `7 ${JSON.stringify([savedHook("a")])}`]);
    await client.sendCommand(["ZADD", `${key}:used`, String(Date.now()), "s"]);
    // Nobody was told.
    expect((await manager.run(stop)).trace.records).toEqual([]);
    for (const type of ["normal", "pubsub"]) await client.sendCommand(["CLIENT", "KILL", "TYPE", type]);
    const other = await server.connect();
    // A session that is known asks nothing, and so would let nothing else happen.
    while ((await manager.run(stop)).result.retry_feedback !== "one") await other.sendCommand(["PING"]);
    await manager.close();
    await close();
  });
});
