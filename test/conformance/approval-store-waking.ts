import type { Approval, ApprovalChange, ApprovalStore } from "../../src/approvals/index.ts";
import { type ApprovalStage, newApproval, toNext } from "./approval-fixture.ts";
import { equal } from "./case.ts";
import { createGate } from "./fixture.ts";

/** What a store does on a stage. */
export type Behaviour = (stage: ApprovalStage) => Promise<void>;

/** Waits for a version other than the one that is known, as often as the store wakes early. */
async function waitUntilChanged(store: ApprovalStore, { id, version }: Approval): Promise<Approval | undefined> {
  for (;;) {
    await store.changed(id, { version, signal: new AbortController().signal });
    const approval = await store.get(id);
    if (approval?.version !== version) return approval;
  }
}

/** How changes reach those who wait for them. */
export const waking: Readonly<Record<string, Behaviour>> = {
  "who waits is woken by a change, also one made elsewhere": async ({ store, other = store, now }) => {
    const approval = newApproval(now());
    await store.create(approval);
    const waits = Array.from({ length: 5 }, () => waitUntilChanged(store, approval));
    const next = toNext(approval, "denied");
    equal(await other.replace(next), true);
    equal(await Promise.all(waits), Array(5).fill(next));
  },
  "a change that came before the wait ends it": async ({ store, now }) => {
    const approval = newApproval(now());
    await store.create(approval);
    await store.replace(toNext(approval, "denied"));
    equal((await waitUntilChanged(store, approval))?.status, "denied");
    await store.changed(newApproval(now()).id, { version: 1, signal: new AbortController().signal });
  },
  "a wait ends with its signal, and so it does when the signal has aborted before": async ({ store, now }) => {
    const approval = newApproval(now());
    await store.create(approval);
    const controller = new AbortController();
    const wait = store.changed(approval.id, { version: 1, signal: controller.signal });
    controller.abort();
    await wait;
    await store.changed(approval.id, { version: 1, signal: controller.signal });
  },
  "a wait ends when the store is closed": async ({ store, now }) => {
    const approval = newApproval(now());
    await store.create(approval);
    const wait = store.changed(approval.id, { version: 1, signal: new AbortController().signal });
    await store.close();
    await wait.catch((error: unknown) => equal((error as { code: unknown }).code, "ERR_STORE_UNAVAILABLE"));
  },
  "who listens is told of what changes, here and elsewhere, until it lets go": async (stage) => {
    const { store, other = store, now } = stage;
    const seen: (ApprovalChange | undefined)[] = [];
    const gate = createGate();
    const last = newApproval(now());
    const letGo = await store.subscribe((change) => {
      seen.push(change);
      if (change?.id === last.id) gate.open();
    });
    const approval = newApproval(now());
    await other.create(approval);
    await other.replace(toNext(approval, "approved"));
    await other.create(last);
    await gate.promise;
    // Of changes that come together elsewhere the last is enough.
    const { id } = approval;
    const versions = seen.flatMap((change) => (change?.id === id ? [change.version] : []));
    const wanted = other === store ? [1, 2] : versions.length === 1 ? [2] : [1, 2];
    equal(versions, wanted);
    equal(
      seen.findLast((change) => change?.id === id),
      { id, version: 2, status: "approved" },
    );
    letGo();
    const before = seen.length;
    await store.create(newApproval(now()));
    equal(seen.length, before);
  },
};
