import { type Approval, MAX_LISTED } from "../../src/approvals/index.ts";
import { type ApprovalStage, newApproval, type OpenApprovalStage, toNext } from "./approval-fixture.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { unreadable } from "./approval-store-unreadable.ts";
import { type Behaviour, waking } from "./approval-store-waking.ts";

/** What every store of approvals must do, whatever it keeps them in. */
export function approvalStoreCases(name: string, open: OpenApprovalStage): readonly Case[] {
  return Object.entries({ ...keeping, ...listing, ...unreadable, ...waking, ...singleUse }).map(([what, behave]) => ({
    id: `approval-store/${name}/${what}`,
    source: "docs/approvals.md, Stores",
    async run() {
      const stage = await open();
      try {
        await behave(stage);
      } finally {
        await stage.store.close();
        await stage.close?.();
      }
    },
  }));
}

const keeping: Readonly<Record<string, Behaviour>> = {
  "what was created is there, whole": async ({ store, now }) => {
    const approval = newApproval(now(), {
      tool: "b\u00FC'\"\u2028\u202E",
      arguments: { list: [1, { deep: null }], "": "\u{1F600}", text: "x".repeat(20_000) },
      requester: { agent: "main", session: "s'1", turn: "t", channel: "c", chat_id: "7", caller: "bot" },
      risk: "high",
      require: 2,
      approvers: ["ann", "ben"],
      votes: [{ by: "ann", time: new Date(now()).toISOString(), how: "token", decision: "approve", comment: "ok" }],
    });
    equal(await store.create(approval), { isNew: true });
    equal(await store.get(approval.id), approval);
    equal(await store.findOpen(approval.call), approval);
    equal(await store.get(newApproval(now()).id), undefined);
    equal(await store.findOpen("0".repeat(64)), undefined);
    await store.health();
  },
  "an id is taken once": async ({ store, now }) => {
    const approval = newApproval(now());
    await store.create(approval);
    await rejects(store.create({ ...approval, call: "0".repeat(64) }), "ERR_CONFLICT");
    equal(await store.get(approval.id), approval);
  },
  "there is one open approval for a call": async ({ store, other = store, now }) => {
    const first = newApproval(now());
    const second = newApproval(now(), { call: first.call });
    const results = await Promise.all([store.create(first), other.create(second)]);
    equal(results.filter(({ isNew }) => isNew).length, 1);
    const kept = results[0].isNew ? first : second;
    equal(
      results.find(({ isNew }) => !isNew),
      { isNew: false, open: kept },
    );
    equal((await store.list({ maxApprovals: 10 })).approvals, [kept]);
    equal(await store.replace(toNext(kept, "approved", { scope: "once" })), true);
    equal((await store.create(newApproval(now(), { call: first.call }))).isNew, false);
    equal(await store.replace(toNext(kept, "consumed", { scope: "once", version: 3 })), true);
    equal(await store.findOpen(first.call), undefined);
    const third = newApproval(now(), { call: first.call });
    equal(await store.create(third), { isNew: true });
    equal(await store.findOpen(first.call), third);
  },
  "the last approval of a call is found, whatever has come of it, until it is deleted": async (stage) => {
    const { store, other = store, now, advance } = stage;
    const call = newApproval(now()).call;
    equal(await store.findLast(call), undefined);
    const first = newApproval(now(), { call });
    await store.create(first);
    await store.create(newApproval(now()));
    equal(await other.findLast(call), first);
    const denied = toNext(first, "denied", { changed: new Date(now()).toISOString() });
    await other.replace(denied);
    equal([await store.findLast(call), await store.findOpen(call)], [denied, undefined]);
    // Of the same millisecond, and of one whose clock is behind.
    for (const skewMs of [0, -5]) {
      const next = newApproval(now() + skewMs, { call });
      await other.create(next);
      equal(await store.findLast(call), next);
      await store.replace(toNext(next, "expired", { changed: new Date(now() + 1).toISOString() }));
      equal((await other.findLast(call))?.id, next.id);
    }
    const last = await store.findLast(call);
    advance(1);
    equal(await store.prune(now()), 1);
    equal(await store.findLast(call), last);
    equal(await store.prune(now() + 1), 2);
    equal(await store.findLast(call), undefined);
  },
  "an approval is replaced by its next version only": async ({ store, now }) => {
    const approval = newApproval(now());
    const next = toNext(approval, "denied");
    equal(await store.replace(next), false);
    equal(await store.get(approval.id), undefined);
    await store.create(approval);
    equal(await store.replace({ ...next, version: 1 }), false);
    equal(await store.replace({ ...next, version: 3 }), false);
    equal(await store.get(approval.id), approval);
    equal(await store.replace(next), true);
    equal(await store.replace({ ...next, status: "approved" }), false);
    equal(await store.get(approval.id), next);
  },
  "of many that replace one version at once, one does": async ({ store, other = store, now }) => {
    const approval = newApproval(now());
    await store.create(approval);
    const nexts = Array.from({ length: 50 }, (_, index) => toNext(approval, "denied", { reason: `by ${index}` }));
    const results = await Promise.all(nexts.map((next, index) => (index % 2 === 0 ? store : other).replace(next)));
    equal(results.filter(Boolean).length, 1);
    equal(await store.get(approval.id), nexts[results.indexOf(true)]);
  },
  "what it holds is the caller's no more": async ({ store, now }) => {
    const args = { list: [1] };
    const approval = newApproval(now(), { arguments: args });
    await store.create(approval);
    args.list.push(2);
    const read = await store.get(approval.id);
    equal(read?.arguments, { list: [1] });
    (read as unknown as { arguments: { list: number[] } }).arguments.list.push(3);
    equal((await store.get(approval.id))?.arguments, { list: [1] });
  },
  "what it holds is there after a restart": async ({ store, reopen, now }) => {
    if (reopen === undefined) return;
    const pending = newApproval(now());
    const settled = newApproval(now());
    await store.create(pending);
    await store.create(settled);
    await store.replace(toNext(settled, "denied"));
    await store.insert("used", now() + 60_000);
    await store.close();
    const again = await reopen();
    equal(await again.get(pending.id), pending);
    equal(await again.findOpen(pending.call), pending);
    equal(await again.findOpen(settled.call), undefined);
    equal((await again.findLast(settled.call))?.status, "denied");
    equal(await again.insert("used", now() + 60_000), false);
    await again.close();
  },
  "a store that is closed tells nothing": async ({ store, now }) => {
    const approval = newApproval(now());
    await store.create(approval);
    await store.close();
    await store.close();
    for (const work of [
      store.get(approval.id),
      store.create(newApproval(now())),
      store.replace(toNext(approval, "approved")),
      store.findOpen(approval.call),
      store.findLast(approval.call),
      store.list({ maxApprovals: 1 }),
      store.due(now(), 1),
      store.prune(now()),
      store.changed(approval.id, { version: 1, signal: new AbortController().signal }),
      store.subscribe(() => {}),
      store.health(),
    ]) {
      await rejects(work, "ERR_STORE_UNAVAILABLE");
    }
    await rejects((async () => store.insert("key", now() + 1))(), "ERR_STORE_UNAVAILABLE");
  },
};

/** Approvals a millisecond apart, each in the status of its place in the list. */
async function createAll(
  { store, now, advance }: ApprovalStage,
  statuses: readonly Approval["status"][],
): Promise<readonly Approval[]> {
  const made: Approval[] = [];
  for (const status of statuses) {
    advance(1);
    const approval = newApproval(now());
    await store.create(approval);
    const next = status === "pending" ? approval : toNext(approval, status, { changed: new Date(now()).toISOString() });
    if (next !== approval) equal(await store.replace(next), true);
    made.push(next);
  }
  return made;
}

const listing: Readonly<Record<string, Behaviour>> = {
  "a list has the newest first, page by page, of one status or any": async (stage) => {
    const { store } = stage;
    const made = await createAll(stage, ["pending", "denied", "pending", "consumed", "pending", "approved"]);
    const newest = made.toReversed();
    equal(await store.list({ maxApprovals: 10 }), { approvals: newest });
    equal(await store.list({ maxApprovals: 6 }), { approvals: newest });
    const first = await store.list({ maxApprovals: 4 });
    equal(first.approvals, newest.slice(0, 4));
    ok(first.next !== undefined, "there is another page");
    equal(await store.list({ maxApprovals: 4, cursor: first.next }), { approvals: newest.slice(4) });
    const pending = newest.filter(({ status }) => status === "pending");
    const head = await store.list({ status: "pending", maxApprovals: 2 });
    equal(head.approvals, pending.slice(0, 2));
    equal(await store.list({ status: "pending", maxApprovals: 2, cursor: head.next }), { approvals: pending.slice(2) });
    equal(await store.list({ status: "expired", maxApprovals: 2 }), { approvals: [] });
  },
  "a page begins at the next of another, or is refused": async ({ store, now }) => {
    await store.create(newApproval(now()));
    for (const cursor of [
      "zz",
      "",
      "0",
      "+",
      "-",
      "(",
      "[a",
      `${newApproval(now()).id}0`,
      newApproval(now()).id.toUpperCase(),
    ]) {
      for (const status of ["pending", undefined] as const) {
        await rejects(store.list({ status, maxApprovals: 1, cursor }), "ERR_INVALID_PARAMS");
      }
    }
    equal(await store.list({ maxApprovals: 1, cursor: newApproval(0).id }), { approvals: [] });
  },
  "a page has a bound": async ({ store }) => {
    for (const maxApprovals of [0, -1, 1.5, MAX_LISTED + 1, Number.NaN])
      await rejects(store.list({ maxApprovals }), "RangeError");
  },
  "what is due is open and over, the longest over first": async (stage) => {
    const { store, now } = stage;
    const made = await createAll(stage, ["pending", "denied", "approved", "pending"]);
    const [first, , third, fourth] = made;
    equal(await store.due(now() + 59_000, 10), { approvals: [] });
    equal(await store.due(Date.parse(third?.expires ?? ""), 10), { approvals: [first, third] });
    equal(await store.due(now() + 60_000, 10), { approvals: [first, third, fourth] });
    equal(await store.due(now() + 60_000, 2), { approvals: [first, third] });
  },
  "what is settled is deleted when it is old": async (stage) => {
    const { store, now } = stage;
    const [open, denied, approved, consumed] = await createAll(stage, ["pending", "denied", "approved", "consumed"]);
    equal(await store.prune(Date.parse(denied?.changed ?? "")), 0);
    equal(await store.prune(Date.parse(consumed?.changed ?? "")), 1);
    equal((await store.list({ maxApprovals: 10 })).approvals, [consumed, approved, open]);
    equal(await store.prune(now() + 1), 1);
    equal((await store.list({ maxApprovals: 10 })).approvals, [approved, open]);
    equal(await store.get(denied?.id ?? ""), undefined);
  },
};

const singleUse: Readonly<Record<string, Behaviour>> = {
  "a key counts once until it expires": async ({ store, other = store, now, advance }) => {
    const expiresAtMs = now() + 1000;
    const results = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => (index % 2 === 0 ? store : other).insert("jti", expiresAtMs)),
    );
    equal(results.filter(Boolean).length, 1);
    advance(999);
    equal(await store.insert("jti", now() + 9000), false);
    advance(1);
    equal(await store.insert("jti", now() + 9000), true);
    equal(await store.insert("jti", now() + 9000), false);
    equal(await store.insert("Jti", now() + 9000), true);
  },
};
