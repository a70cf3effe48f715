import { type Approval, type ApprovalStore, MAX_LISTED } from "../../src/approvals/index.ts";
import { type ApprovalStage, newApproval, toNext } from "./approval-fixture.ts";
import type { Behaviour } from "./approval-store-waking.ts";
import { equal, rejects } from "./case.ts";

/** An approval that a store keeps and cannot read back, as one that was damaged or is of a later version. */
export function unreadableApproval(nowMs: number, changes: Partial<Approval> = {}): Approval {
  return newApproval(nowMs, { tool: "x".repeat(301), ...changes });
}

/** One that can be read before and after one that cannot. */
async function createThree({ store, now, advance }: ApprovalStage): Promise<readonly [Approval, Approval, Approval]> {
  const oldest = newApproval(now());
  advance(1);
  const bad = unreadableApproval(now());
  advance(1);
  const newest = newApproval(now());
  for (const approval of [oldest, bad, newest]) equal(await store.create(approval), { isNew: true });
  return [oldest, bad, newest];
}

/** The ids that a list leaves out, page by page. */
async function leftOut(store: ApprovalStore): Promise<readonly string[]> {
  return (await store.list({ maxApprovals: MAX_LISTED })).unreadable ?? [];
}

/** What a store does with an approval that cannot be read. */
export const unreadable: Readonly<Record<string, Behaviour>> = {
  "one that cannot be read is named beside a list, and those around it are in it": async (stage) => {
    const { store } = stage;
    const [oldest, bad, newest] = await createThree(stage);
    equal(await store.list({ maxApprovals: 3 }), { approvals: [newest, oldest], unreadable: [bad.id] });
    equal(await store.list({ status: "pending", maxApprovals: 2 }), {
      approvals: [newest],
      unreadable: [bad.id],
      next: bad.id,
    });
    equal(await store.list({ maxApprovals: 2, cursor: bad.id }), { approvals: [oldest] });
    equal(await store.list({ maxApprovals: 1, cursor: newest.id }), {
      approvals: [],
      unreadable: [bad.id],
      next: bad.id,
    });
    equal(await store.list({ status: "denied", maxApprovals: 3 }), { approvals: [] });
  },
  "one that cannot be read is refused by itself, and nothing takes its place while it is open": async (stage) => {
    const { store, other = store, now } = stage;
    const [, bad] = await createThree(stage);
    await rejects(store.get(bad.id), "ERR_INTERNAL");
    await rejects(other.get(bad.id), "ERR_INTERNAL");
    await rejects(store.findOpen(bad.call), "ERR_INTERNAL");
    await rejects(store.findLast(bad.call), "ERR_INTERNAL");
    await rejects(store.create(newApproval(now(), { call: bad.call })), "ERR_INTERNAL");
    equal((await store.list({ maxApprovals: 10 })).approvals.length, 2);
  },
  "one that cannot be read is not due for ever: once its time is over it is open no more": async (stage) => {
    const { store, other = store, now, advance } = stage;
    const [oldest, bad, newest] = await createThree(stage);
    const later = unreadableApproval(now(), { expires: new Date(now() + 120_000).toISOString() });
    await store.create(later);
    advance(60_000);
    equal(await store.due(now(), 2), { approvals: [oldest], unreadable: [bad.id] });
    equal(await store.due(now(), 10), { approvals: [oldest, newest] });
    equal(await leftOut(store), [later.id, bad.id]);
    await rejects(store.get(bad.id), "ERR_INTERNAL");
    const next = newApproval(now(), { call: bad.call });
    equal(await other.create(next), { isNew: true });
    equal([await store.findOpen(bad.call), await store.findLast(bad.call)], [next, next]);
    await rejects(store.findOpen(later.call), "ERR_INTERNAL");
    equal(await store.prune(now()), 0);
    advance(1);
    equal(await store.prune(now()), 1);
    equal([await leftOut(store), await store.get(bad.id)], [[later.id], undefined]);
  },
  "one that is settled and cannot be read is in nobody's way": async ({ store, now }) => {
    const first = newApproval(now());
    await store.create(first);
    await store.replace(toNext(first, "denied", { tool: "x".repeat(301) }));
    await rejects(store.get(first.id), "ERR_INTERNAL");
    await rejects(store.findLast(first.call), "ERR_INTERNAL");
    equal(await store.findOpen(first.call), undefined);
    const next = newApproval(now(), { call: first.call });
    equal(await store.create(next), { isNew: true });
    equal(await store.list({ status: "denied", maxApprovals: 10 }), { approvals: [], unreadable: [first.id] });
  },
};
