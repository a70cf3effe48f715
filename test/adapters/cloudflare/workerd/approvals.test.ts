import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { createDurableApprovalStore } from "../../../../adapters/cloudflare/approvals.ts";
import { type Approval, ApprovalManager, type ApprovalStore, OutboxNotifier } from "../../../../src/approvals/index.ts";
import { describeStore } from "../../../approvals/store-contract.ts";
import { newApproval, toNext } from "../../../conformance/approval-fixture.ts";
import { clock, gateway, toDeaf } from "./shards.ts";

let count = 0;
function newName(): string {
  const name = `store-${(count += 1)}`;
  gateway.tell = toDeaf(name);
  return name;
}

function openStore(name: string): ApprovalStore {
  return createDurableApprovalStore({ namespace: env.APPROVALS, name, keepMs: 86_400_000 });
}

beforeEach(() => {
  clock.nowMs = Date.now();
});

describeStore(
  "a Durable Object",
  async () => {
    const name = newName();
    return {
      store: openStore(name),
      other: openStore(name),
      now: () => clock.nowMs,
      advance: (ms) => void (clock.nowMs += ms),
      async reopen() {
        await evictDurableObject(env.APPROVALS.getByName(name));
        return openStore(name);
      },
    };
  },
  { numRuns: 25 },
);

function alarmOf(name: string): Promise<number | null> {
  return runInDurableObject(env.APPROVALS.getByName(name), (_, { storage }) => storage.getAlarm());
}

function ring(name: string): Promise<boolean> {
  return runDurableObjectAlarm(env.APPROVALS.getByName(name));
}

describe("the alarm of approvals", () => {
  test("settles what is over, wakes who waits for it, and comes again for the rest", async () => {
    const name = newName();
    const store = openStore(name);
    const [first, second] = [newApproval(clock.nowMs), newApproval(clock.nowMs)];
    const later = { ...second, expires: new Date(clock.nowMs + 120_000).toISOString() };
    await store.create(later);
    await store.create(first);
    expect(await alarmOf(name)).toBe(Date.parse(first.expires));
    const woken = store.changed(first.id, { version: 1, signal: new AbortController().signal });
    clock.nowMs += 60_000;
    expect(await ring(name)).toBe(true);
    await woken;
    expect(await store.get(first.id)).toMatchObject({ status: "expired", version: 2 });
    expect(await store.get(later.id)).toEqual(later);
    expect(await alarmOf(name)).toBe(Date.parse(later.expires));
  });

  test("may come twice and early, and changes nothing then", async () => {
    const name = newName();
    const store = openStore(name);
    const approval = newApproval(clock.nowMs);
    await store.create(approval);
    expect(await ring(name)).toBe(true);
    expect(await store.get(approval.id)).toEqual(approval);
    expect(await alarmOf(name)).toBe(Date.parse(approval.expires));
    clock.nowMs += 60_000;
    await runInDurableObject(env.APPROVALS.getByName(name), async (instance) => {
      await instance.alarm();
      await instance.alarm();
    });
    expect((await store.get(approval.id))?.version).toBe(2);
  });

  test("leaves what was decided in time, and takes it away when it is old", async () => {
    const name = newName();
    const store = openStore(name);
    const approval = newApproval(clock.nowMs);
    await store.create(approval);
    await store.replace(toNext(approval, "denied"));
    await store.insert("key", clock.nowMs + 1000);
    clock.nowMs += 60_000;
    await ring(name);
    expect((await store.get(approval.id))?.status).toBe("denied");
    expect(await alarmOf(name)).toBe(Date.parse(approval.changed) + 86_400_001);
    clock.nowMs += 86_400_000;
    await ring(name);
    expect(await store.get(approval.id)).toBeUndefined();
    expect(await alarmOf(name)).toBeNull();
  });

  test("does not ring for ever for what cannot be read, which nobody can use", async () => {
    const name = newName();
    const store = openStore(name);
    const approval = newApproval(clock.nowMs);
    await store.create(approval);
    await runInDurableObject(env.APPROVALS.getByName(name), (_, { storage }) => {
      storage.sql.exec("UPDATE approvals SET body = '{}'");
    });
    const manager = new ApprovalManager({ store, now: () => clock.nowMs });
    await expect(manager.use(approval.call)).rejects.toMatchObject({ code: "ERR_INTERNAL" });
    clock.nowMs += 60_000;
    await ring(name);
    expect(await store.due(clock.nowMs, 10)).toEqual({ approvals: [] });
    expect(await alarmOf(name)).toBeGreaterThan(clock.nowMs + 86_000_000);
  });
});

/** Puts a gateway beside an object. @returns the approvals that it tells observers of */
function openGateway(name: string): readonly Approval[] {
  const told: Approval[] = [];
  const works: Promise<void>[] = [];
  const notifier = new OutboxNotifier({
    targets: [],
    connect: () => env.APPROVALS.getByName(name),
    onNews: (_, approval) => void told.push(approval),
    waitUntil: (work) => void works.push(work),
  });
  gateway.tell = async () => {
    await notifier.deliver();
    await Promise.all(works);
  };
  return told;
}

describe("what an alarm settles", () => {
  test("is told by the gateway of the Worker once, though the alarm comes again, and the object is evicted", async () => {
    const name = newName();
    const store = openStore(name);
    const told = openGateway(name);
    const [approval, decided, used] = [1, 2, 3].map(() => newApproval(clock.nowMs));
    if (approval === undefined || decided === undefined || used === undefined) throw new Error("three");
    for (const each of [approval, decided, used]) await store.create(each);
    await store.replace(toNext(decided, "denied"));
    await store.replace(toNext(used, "approved"));
    clock.nowMs += 3_600_000;
    await runInDurableObject(env.APPROVALS.getByName(name), async (instance) => {
      await Promise.all([instance.alarm(), instance.alarm()]);
    });
    await evictDurableObject(env.APPROVALS.getByName(name));
    await ring(name);
    // What was decided was told of by who decided it, and what was approved then too.
    expect(told).toMatchObject([{ id: approval.id, status: "expired", version: 2 }]);
    expect(await store.get(used.id)).toMatchObject({ status: "expired" });
    expect((await env.APPROVALS.getByName(name).exchange([], 10)).taken).toEqual([]);
  });

  test("is not told by the alarm when a gateway has settled it, which tells of it itself", async () => {
    const name = newName();
    const told = openGateway(name);
    const store = openStore(name);
    const news: string[] = [];
    const manager = new ApprovalManager({
      store,
      now: () => clock.nowMs,
      onNews: (kind, { status }) => news.push(`${kind} ${status}`),
    });
    await store.create(newApproval(clock.nowMs));
    clock.nowMs += 60_000;
    await manager.sweep();
    await ring(name);
    expect([news, told]).toEqual([["decided expired"], []]);
  });

  test("waits for a gateway that can tell it, and comes again where it was not told to the end", async () => {
    const name = newName();
    const store = openStore(name);
    const approval = newApproval(clock.nowMs);
    await store.create(approval);
    clock.nowMs += 60_000;
    gateway.tell = () => Promise.reject(new Error("the config cannot be used"));
    await ring(name);
    expect(await store.get(approval.id)).toMatchObject({ status: "expired" });
    expect(await alarmOf(name)).toBe(clock.nowMs + 30_000);
    // A gateway that is gone before it has told.
    clock.nowMs += 30_000;
    gateway.tell = async () => void (await env.APPROVALS.getByName(name).exchange([], 6));
    await ring(name);
    expect(await alarmOf(name)).toBe(clock.nowMs + 30_000);
    clock.nowMs += 30_000;
    const told = openGateway(name);
    await ring(name);
    expect(told).toMatchObject([{ id: approval.id, status: "expired" }]);
  });
});

describe("approvals in a Durable Object", () => {
  test("are there when it was evicted, and its alarm too", async () => {
    const name = newName();
    const store = openStore(name);
    const approval = newApproval(clock.nowMs);
    await store.create(approval);
    await evictDurableObject(env.APPROVALS.getByName(name));
    expect(await store.get(approval.id)).toEqual(approval);
    expect(await store.findOpen(approval.call)).toEqual(approval);
  });

  test("are used once, of fifty who use them at once", async () => {
    const name = newName();
    const open = (): ApprovalManager => new ApprovalManager({ store: openStore(name), now: () => clock.nowMs });
    const [first, second] = [open(), open()];
    const approval = newApproval(clock.nowMs);
    await first.store.create(approval);
    await second.decide(approval.id, { by: "ann", how: "token", decision: "approve" });
    const used = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? first : second).use(approval.call)),
    );
    expect(used.filter((each) => each !== undefined)).toHaveLength(1);
  });
});
