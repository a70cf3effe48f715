import { rmSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { createSqliteApprovalStore } from "../../../adapters/node/index.ts";
import { ApprovalManager } from "../../../src/approvals/index.ts";
import { testReplayStore } from "../../signing/replay-contract.ts";
import { describeStore } from "../../approvals/store-contract.ts";
import { newApproval, type OpenApprovalStage, START_MS } from "../../conformance/approval-fixture.ts";

const directory = await mkdtemp(join(tmpdir(), "hookgate-approvals-"));
let count = 0;
const newPath = (): string => join(directory, `${(count += 1)}.db`);

afterAll(() => rmSync(directory, { recursive: true }));

function openStage(isMemory: boolean): OpenApprovalStage {
  return async () => {
    let nowMs = START_MS;
    const now = (): number => nowMs;
    const path = isMemory ? ":memory:" : newPath();
    const create = (): ReturnType<typeof createSqliteApprovalStore> =>
      createSqliteApprovalStore({ path, now, pollMs: 1 });
    const other = isMemory ? undefined : create();
    return {
      store: create(),
      other,
      now,
      advance: (ms) => void (nowMs += ms),
      reopen: isMemory ? undefined : async () => create(),
      close: async () => other?.close(),
    };
  };
}

describeStore("a SQLite database of one process", openStage(true));
describeStore("a SQLite file of two", openStage(false), { numRuns: 25 });

describe("the requests of hosts in a SQLite file", () => {
  let nowMs = START_MS;
  const store = createSqliteApprovalStore({ path: newPath(), now: () => nowMs });

  testReplayStore(() => ({
    store: store.requests ?? store,
    nowMs: () => nowMs,
    advance: (ms) => void (nowMs += ms),
  }));

  test("are those of every process that has it open, and are let go of with it", async () => {
    const path = newPath();
    const stores = [createSqliteApprovalStore({ path }), createSqliteApprovalStore({ path })];
    const expiresAtMs = Date.now() + 60_000;
    const results = stores.map(async ({ requests }) => requests?.insert("key", expiresAtMs));
    expect(await Promise.all(results)).toEqual([true, false]);
    expect(await stores[0]?.insert("key", expiresAtMs)).toBe(false);
    for (const each of stores) await each.close();
    expect(() => stores[0]?.requests?.insert("other", expiresAtMs)).toThrow("it is closed");
  });
});

describe("a SQLite file that cannot be used", () => {
  test("makes the store unavailable until it can, and loses nothing", async () => {
    const path = join(directory, "later", "approvals.db");
    const store = createSqliteApprovalStore({ path });
    const manager = new ApprovalManager({ store });
    const approval = newApproval(Date.now());
    await expect(store.health()).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    await expect(store.create(approval)).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    await expect(manager.use(approval.call)).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    const { mkdir } = await import("node:fs/promises");
    await mkdir(join(directory, "later"));
    await expect(store.health()).resolves.toBeUndefined();
    await store.create(approval);
    const lock = new DatabaseSync(path);
    lock.exec("BEGIN EXCLUSIVE");
    await expect(manager.decide(approval.id, { by: "ann", how: "token", decision: "approve" })).rejects.toMatchObject({
      code: "ERR_STORE_UNAVAILABLE",
    });
    lock.exec("ROLLBACK");
    lock.close();
    expect(await manager.get(approval.id)).toEqual(approval);
    await store.close();
  });

  test("never says what is in a row that is not an approval, and approves nothing by it", async () => {
    const path = newPath();
    const store = createSqliteApprovalStore({ path });
    const approval = newApproval(Date.now());
    await store.create(approval);
    const database = new DatabaseSync(path);
    database.exec(`UPDATE approvals SET status = 'approved', body = '{"status":"approved","secret":"hunter2"}'`);
    database.close();
    const manager = new ApprovalManager({ store });
    const error: unknown = await manager.use(approval.call).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "ERR_INTERNAL", refusal: "unreadable" });
    expect(inspect(error)).not.toContain("hunter2");
    await store.close();
  });

  test("approves no call by the approval of another one that stands in its row", async () => {
    const path = newPath();
    const store = createSqliteApprovalStore({ path });
    const [mine, other] = [newApproval(Date.now()), newApproval(Date.now())];
    for (const each of [mine, other]) await store.create(each);
    const manager = new ApprovalManager({ store });
    await manager.decide(other.id, { by: "ann", how: "token", decision: "approve", scope: "session" });
    const database = new DatabaseSync(path);
    const set = "UPDATE approvals SET body = (SELECT body FROM approvals WHERE id = ?) WHERE id = ?";
    database.prepare(set).run(other.id, mine.id);
    database.close();
    for (const work of [store.findOpen(mine.call), store.get(mine.id), manager.use(mine.call)]) {
      await expect(work).rejects.toMatchObject({ refusal: "unreadable" });
    }
    expect(await store.list({ maxApprovals: 10 })).toMatchObject({
      approvals: [{ id: other.id, status: "approved" }],
      unreadable: [mine.id],
    });
    await store.close();
  });

  test("is readable by its owner alone", async () => {
    const path = newPath();
    const store = createSqliteApprovalStore({ path });
    await store.create(newApproval(Date.now()));
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o077).toBe(0);
    await store.close();
  });
});
