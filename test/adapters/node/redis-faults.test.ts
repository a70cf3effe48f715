import { afterEach, describe, expect, test } from "vitest";
import { createRedisApprovalStore, type RedisApprovalStoreOptions } from "../../../adapters/node/index.ts";
import { ApprovalManager, type ApprovalStore } from "../../../src/approvals/index.ts";
import { createObjectLog, type Log, type LogFields, silentLog } from "../../../src/log.ts";
import { newApproval, toNext } from "../../conformance/approval-fixture.ts";
import { createGate } from "../../conformance/fixture.ts";
import { type RedisServer, startRedis } from "./redis-server.ts";

const UNAVAILABLE = { code: "ERR_STORE_UNAVAILABLE" };
/** Each change is on the disk when it is answered. */
const DURABLE = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function start(args?: readonly string[]): Promise<RedisServer> {
  const server = await startRedis(args);
  open.push(server);
  return server;
}

function openStore(url: string, options: Omit<RedisApprovalStoreOptions, "url"> = {}): ApprovalStore {
  const store = createRedisApprovalStore({ url, ...options });
  open.push(store);
  return store;
}

/** Listens for what each new connection tells: that changes may have been missed. */
async function onReconnect(store: ApprovalStore): Promise<{ readonly reconnected: Promise<void> }> {
  const gate = createGate();
  await store.subscribe((change) => {
    if (change === undefined) gate.open();
  });
  return { reconnected: gate.promise };
}

function createKeptLog(): { readonly log: Log; readonly lines: LogFields[] } {
  const lines: LogFields[] = [];
  return { lines, log: createObjectLog((level, line) => void lines.push({ level, ...line })) };
}

/** Until what has been begun on a store is waiting: what is sent on one connection is answered in order. */
async function settle(store: ApprovalStore): Promise<void> {
  for (let count = 0; count < 5; count += 1) await store.health();
}

/** Every slot is served, and the node can be asked. */
const READY = "cluster_state:ok\r\ncluster_slots_assigned:16384";

const never = new AbortController().signal;

describe("a Redis that restarts", () => {
  test("ends no wait: a decision that comes when it is back wakes who waited before", async () => {
    const server = await start(DURABLE);
    const url = server.newUrl();
    const store = openStore(url, { pollMs: 3_600_000 });
    const other = openStore(url, { pollMs: 3_600_000 });
    const approval = newApproval(Date.now());
    await other.create(approval);
    const waiting = new ApprovalManager({ store }).wait(approval.id, { timeoutMs: 55_000 });
    const changes = await Promise.all([onReconnect(store), onReconnect(other)]);
    await settle(store);
    await server.kill();
    await expect(other.get(approval.id)).rejects.toMatchObject(UNAVAILABLE);
    await server.start();
    await Promise.all(changes.map(({ reconnected }) => reconnected));
    await new ApprovalManager({ store: other }).decide(approval.id, { by: "ann", how: "token", decision: "deny" });
    expect(await waiting).toMatchObject({ status: "denied", votes: [{ by: "ann" }] });
  });

  test("has what it answered for when it was killed, and nothing twice", async () => {
    const server = await start(DURABLE);
    const url = server.newUrl();
    const kept: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const store = openStore(url);
      const pending = newApproval(Date.now());
      const used = newApproval(Date.now());
      await store.create(pending);
      await store.create(used);
      await store.replace(toNext(used, "approved", { scope: "once" }));
      const uses = Array.from({ length: 20 }, () =>
        store.replace(toNext(used, "consumed", { scope: "once", version: 3 })).catch(() => undefined),
      );
      const first = await Promise.race(uses);
      await server.kill();
      const results = await Promise.all(uses);
      await store.close();
      await server.start();
      const again = openStore(url);
      kept.push(pending.id);
      expect(first).toBe(true);
      expect(results.filter((result) => result === true)).toHaveLength(1);
      expect((await again.get(used.id))?.status).toBe("consumed");
      expect(await again.replace(toNext(used, "consumed", { scope: "once", version: 3 }))).toBe(false);
      const { approvals } = await again.list({ status: "pending", maxApprovals: 100 });
      expect(approvals.map(({ id }) => id)).toEqual(kept.toReversed());
    }
  });

  test("may come after its gateway: until then nothing is approved", async () => {
    const server = await start();
    await server.kill();
    const lines: string[] = [];
    const back = createGate();
    const log: Log = { ...silentLog, error: (line) => void lines.push(line), info: () => back.open() };
    const store = openStore(server.newUrl(), { log });
    for (let count = 0; count < 3; count += 1) await expect(store.health()).rejects.toMatchObject(UNAVAILABLE);
    await expect(new ApprovalManager({ store }).use("0".repeat(64))).rejects.toMatchObject(UNAVAILABLE);
    expect(lines).toEqual(["Redis cannot be reached"]);
    await server.start();
    await back.promise;
    await expect(store.health()).resolves.toBeUndefined();
  });

  test("and forgets its scripts is given them again", async () => {
    const server = await start();
    const store = openStore(server.newUrl());
    const approval = newApproval(Date.now());
    await store.create(approval);
    const client = await server.connect();
    await client.sendCommand(["SCRIPT", "FLUSH", "SYNC"]);
    expect(await store.replace(toNext(approval, "denied"))).toBe(true);
    await client.sendCommand(["SCRIPT", "FLUSH", "SYNC"]);
    expect(await store.insert("key", Date.now() + 1000)).toBe(true);
    expect(await store.list({ maxApprovals: 5 })).toMatchObject({ approvals: [{ status: "denied" }] });
  });
});

describe("a Redis that hangs", () => {
  test("makes the store unavailable, approves nothing, and has everything when it goes on", async () => {
    const server = await start();
    const store = openStore(server.newUrl(), { timeoutMs: 200, pollMs: 3_600_000 });
    const manager = new ApprovalManager({ store });
    const approval = newApproval(Date.now());
    await store.create(approval);
    await store.replace(toNext(approval, "approved", { scope: "once" }));
    const { reconnected } = await onReconnect(store);
    server.suspend();
    for (const work of [
      manager.use(approval.call),
      store.get(approval.id),
      store.create(newApproval(Date.now())),
      store.findOpen(approval.call),
      store.list({ maxApprovals: 1 }),
      store.due(Date.now(), 1),
      store.prune(Date.now()),
      store.changed(approval.id, { version: 2, signal: never }),
      store.subscribe(() => {}),
      store.health(),
      Promise.resolve(store.insert("key", Date.now() + 1000)),
    ]) {
      await expect(work).rejects.toMatchObject(UNAVAILABLE);
    }
    const more = await Promise.allSettled(Array.from({ length: 1000 }, () => store.get(approval.id)));
    expect(more.filter(({ status }) => status === "fulfilled")).toHaveLength(0);
    server.resume();
    await reconnected;
    expect((await store.get(approval.id))?.status).toBe("approved");
    expect((await manager.use(approval.call))?.status).toBe("consumed");
    expect(await manager.use(approval.call)).toBeUndefined();
  });

  test("is told to those who wait", async () => {
    const server = await start();
    const store = openStore(server.newUrl(), { timeoutMs: 200, pollMs: 20 });
    const approval = newApproval(Date.now());
    await store.create(approval);
    const waiting = new ApprovalManager({ store }).wait(approval.id, { timeoutMs: 55_000 });
    await settle(store);
    server.suspend();
    await expect(waiting).rejects.toMatchObject(UNAVAILABLE);
    server.resume();
  });
});

describe("who may use Redis", () => {
  test("is not who has a wrong password, which nobody is told", async () => {
    const server = await start(["--save", "", "--requirepass", "right-hunter2"]);
    const { log, lines } = createKeptLog();
    const url = (password: string): string => server.newUrl().replace("//", `//:${password}@`);
    const store = openStore(url("wrong-hunter2"), { log });
    const error: unknown = await store.health().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(UNAVAILABLE);
    for (let each = error; each instanceof Error; each = each.cause) {
      expect(`${each.stack}${JSON.stringify(each)}`).not.toContain("hunter2");
    }
    expect(lines).toMatchObject([{ level: "error" }]);
    expect(lines[0]?.["error"]).toContain("WRONGPASS");
    expect(JSON.stringify(lines)).not.toContain("hunter2");
    await openStore(url("right-hunter2")).health();
  });

  test("hears of changes by polling where it may not listen", async () => {
    const server = await start();
    const client = await server.connect();
    await client.sendCommand("ACL SETUSER bot on >secret ~* +@all resetchannels".split(" "));
    const { log, lines } = createKeptLog();
    const url = server.newUrl();
    const store = openStore(url.replace("//", "//bot:secret@"), { log, pollMs: 5 });
    const other = openStore(url.replace("//", "//bot:secret@"));
    const approval = newApproval(Date.now());
    await store.create(approval);
    const waiting = new ApprovalManager({ store }).wait(approval.id, { timeoutMs: 55_000 });
    await new ApprovalManager({ store: other }).decide(approval.id, { by: "ann", how: "token", decision: "approve" });
    expect((await waiting).status).toBe("approved");
    expect(lines).toMatchObject([{ level: "warn" }]);
    expect(lines[0]?.["message"]).toContain("changes are seen late");
  });

  test("may be a user who has just what the documentation says", async () => {
    const server = await start();
    const client = await server.connect();
    const rights = "~{bots}:* &{bots}:* +@read +@write +@pubsub +@scripting +@connection -@dangerous";
    await client.sendCommand(`ACL SETUSER bot reset on >secret ${rights}`.split(" "));
    const url = `redis://bot:secret@127.0.0.1:${server.port}?prefix=bots`;
    const { log, lines } = createKeptLog();
    const manager = new ApprovalManager({ store: openStore(url, { log }) });
    const approval = newApproval(Date.now());
    await manager.store.create(approval);
    const waiting = manager.wait(approval.id, { timeoutMs: 55_000 });
    await manager.decide(approval.id, { by: "ann", how: "token", decision: "deny" });
    expect((await waiting).status).toBe("denied");
    expect(await manager.store.insert("key", Date.now() + 1000)).toBe(true);
    expect(await manager.store.prune(Date.now() + 1000)).toBe(1);
    expect(lines).toEqual([{ level: "debug", message: "Redis does not say what it evicts", error: "HookgateError" }]);
  });

  test("is warned of a server that may forget", async () => {
    const server = await start(["--save", "", "--maxmemory", "64mb", "--maxmemory-policy", "volatile-lru"]);
    const { log, lines } = createKeptLog();
    await settle(openStore(server.newUrl(), { log }));
    expect(lines).toMatchObject([{ level: "warn", policy: "volatile-lru" }]);
  });
});

describe("two gateways on one Redis", () => {
  test("of fifty that ask about one call at once, one asks; of fifty that decide and use, one each", async () => {
    const server = await start();
    const url = server.newUrl();
    const stores = [openStore(url), openStore(url)];
    const managers = stores.map((store) => new ApprovalManager({ store }));
    const pick = (index: number): ApprovalManager => managers[index % 2] as ApprovalManager;
    const all = Array.from({ length: 50 }, (_, index) => index);
    const base = { agent: "main", session: "s", tool: "bash", arguments: {}, hook: "human", reason: "" };
    const question = { ...base, require: 1, approvers: [], expiresMs: 60_000, useWithinMs: 60_000 };
    const asked = await Promise.all(all.map((index) => pick(index).ask(question)));
    expect(asked.filter(({ isNew }) => isNew)).toHaveLength(1);
    const { id, call } = (asked[0] as (typeof asked)[0]).approval;
    const decided = await Promise.allSettled(
      all.map((index) => pick(index).decide(id, { by: `p${index}`, how: "token", decision: "approve" })),
    );
    expect(decided.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const used = await Promise.all(all.map((index) => pick(index).use(call)));
    expect(used.filter((approval) => approval !== undefined)).toHaveLength(1);
  });
});

describe("a cluster of Redis", () => {
  test("is followed to the node that has the keys, also when they move", async () => {
    const args = ["--save", "", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
    const [empty, full] = await Promise.all([start(args), start(args)]);
    const admin = await full.connect();
    await admin.sendCommand("CLUSTER ADDSLOTSRANGE 0 16383".split(" "));
    const other = await empty.connect();
    await other.sendCommand(["CLUSTER", "MEET", "127.0.0.1", String(full.port)]);
    const knows = async (): Promise<boolean> => String(await other.sendCommand(["CLUSTER", "INFO"])).includes(READY);
    while (!(await knows()));
    const store = openStore(`redis://127.0.0.1:${empty.port}`);
    const manager = new ApprovalManager({ store });
    const approval = newApproval(Date.now());
    await store.create(approval);
    const waiting = manager.wait(approval.id, { timeoutMs: 55_000 });
    const direct = new ApprovalManager({ store: openStore(`redis://127.0.0.1:${full.port}`) });
    await direct.decide(approval.id, { by: "ann", how: "token", decision: "deny" });
    expect((await waiting).status).toBe("denied");
    await admin.sendCommand(["FLUSHALL"]);
    const slot = String(await admin.sendCommand(["CLUSTER", "KEYSLOT", "{hookgate}"]));
    const target = String(await other.sendCommand(["CLUSTER", "MYID"]));
    for (const node of [other, admin]) await node.sendCommand(["CLUSTER", "SETSLOT", slot, "NODE", target]);
    expect(await store.create(newApproval(Date.now()))).toEqual({ isNew: true });
    expect(await other.sendCommand(["EXISTS", "{hookgate}:body"])).toBe(1);
  });
});

describe("the URL of a Redis store", () => {
  test.each([
    ["http://127.0.0.1", "it is no such URL"],
    ["redis://", "it is no such URL"],
    ["redis://:hunter2@127.0.0.1:99999", "it is no such URL"],
    ["redis://:hunter2@127.0.0.1/zero", "DATABASE is not a number"],
    ["redis://:hunter2@127.0.0.1/?prefix={a}", "NAME is 1 to 64"],
    ["redis://:hunter2@127.0.0.1/?db=1", "another parameter than prefix"],
    ["redis://:hunter2%@127.0.0.1", "written as %25"],
  ])("%s is refused, and not repeated", (url, why) => {
    const create = (): ApprovalStore => createRedisApprovalStore({ url });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(why);
    expect(create).not.toThrow("hunter2");
  });

  test("names a database and a prefix: what is in another is another's", async () => {
    const server = await start();
    const url = `redis://127.0.0.1:${server.port}`;
    const stores = [url, `${url}/1`, `${url}?prefix=bots`].map((each) => openStore(each));
    for (const store of stores) expect(await store.insert("key", Date.now() + 60_000)).toBe(true);
    for (const store of stores) expect(await store.insert("key", Date.now() + 60_000)).toBe(false);
  });
});
