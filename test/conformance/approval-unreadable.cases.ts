import { type Approval, toCallHash } from "../../src/approvals/index.ts";
import type { LogFields } from "../../src/log.ts";
import { START_MS } from "./approval-fixture.ts";
import { openApprovalPages } from "./approval-page-stage.ts";
import { unreadableApproval } from "./approval-store-unreadable.ts";
import { type Case, equal, ok } from "./case.ts";
import { clientOf, fetchOf, kindOf } from "./client-approvals-stage.ts";
import { casesOf, outcomesOf } from "./fixture.ts";
import { type ApprovalGateway, openApprovalGateway, outcome } from "./gateway-approvals-stage.ts";
import { errorOf } from "./gateway-fixture.ts";

/** The hash of the call that stages ask about. */
function hashOf(args: Readonly<Record<string, unknown>>): Promise<string> {
  return toCallHash({ agent: "", session: "", tool: "exec", arguments: args });
}

const MINUTE_MS = 60_000;

/** A gateway with two approvals that are pending and one, of the call `{n: 2}`, that cannot be read. */
async function openDamaged(changes: Partial<Approval> = {}): Promise<
  ApprovalGateway & {
    readonly ids: readonly string[];
    readonly bad: Approval;
    readonly lines: readonly (readonly [string, LogFields | undefined])[];
  }
> {
  const lines: (readonly [string, LogFields | undefined])[] = [];
  const warn = (message: string, fields?: LogFields): void => void lines.push([message, fields]);
  const log = { debug() {}, info() {}, warn, error: warn };
  const stage = await openApprovalGateway({}, {}, { log });
  const bad = unreadableApproval(stage.clock.nowMs, { call: await hashOf({ n: 2 }), ...changes });
  const first = await stage.pend({ n: 1 });
  await stage.store.create(bad);
  return { ...stage, ids: [first, await stage.pend({ n: 3 })], bad, lines };
}

/** An approval that is kept as something that cannot be read takes nothing else down, and counts for nothing. */
export const approvalUnreadableCases: readonly Case[] = casesOf(
  { topic: "approval-unreadable", source: "docs/approvals.md, Stores" },
  {
    "lists have everything else, and say how many are left out": async () => {
      const { at, ids, clock } = await openDamaged();
      const { status, json } = await at("/v1/approvals?status=pending");
      const { approvals, ...rest } = json as { readonly approvals: readonly Approval[] };
      equal(
        [status, approvals.map(({ id }) => id).toSorted(), rest],
        [200, ids.toSorted(), { next: null, unreadable: 1 }],
      );
      equal((await at("/v1/approvals?status=denied")).json, { approvals: [], next: null });
      equal((await at("/v1/grants")).json, { grants: [], next: null });
      clock.nowMs += MINUTE_MS;
      equal((await at("/v1/approvals?status=pending")).json, json);
    },
    "the log names it, once, however often it is met": async () => {
      const { at, bad, lines, clock } = await openDamaged();
      for (let round = 0; round < 5; round += 1) {
        await at("/v1/approvals");
        await at(`/v1/approvals/${bad.id}`);
        clock.nowMs += MINUTE_MS;
      }
      const message = "an approval cannot be read, and counts for nothing";
      equal(lines, [[message, { approval: bad.id, call: undefined }]]);
    },
    "by itself it is an error that says so, and nobody decides it or takes it back": async () => {
      const { at, send, bad } = await openDamaged();
      const { status, json, headers } = await at(`/v1/approvals/${bad.id}`);
      equal([status, errorOf(json).message], [500, `approval ${bad.id} cannot be read`]);
      equal([errorOf(json).data, headers.get("retry-after")], [{ reason: "unreadable" }, null]);
      equal(outcome(await at(`/v1/approvals/${bad.id}?wait=1`)), [500, "unreadable"]);
      equal(outcome(await send(`/v1/approvals/${bad.id}/decision`, { decision: "approve" })), [500, "unreadable"]);
      equal(outcome(await send(`/v1/approvals/${bad.id}/cancel`, {})), [500, "unreadable"]);
      equal(outcome(await at(`/v1/grants/${bad.id}`, { method: "DELETE" })), [500, "unreadable"]);
    },
    "its call is denied, whatever it says, until its time is over; then people are asked": async () => {
      const { host, decide, bad, clock } = await openDamaged({ status: "approved", scope: "session" });
      const ask = (): ReturnType<typeof host.approveTool> => host.approveTool({ tool: "exec", arguments: { n: 2 } });
      const denied = await ask();
      equal([denied.approved, outcomesOf(denied)], [false, ["human_approval: store_unavailable"]]);
      ok(denied.reason.endsWith("Make the same call again later"), denied.reason);
      clock.nowMs += MINUTE_MS - 1;
      equal((await ask()).approval, undefined);
      clock.nowMs += 1;
      const { approval } = await ask();
      ok(approval?.id !== bad.id && approval?.status === "pending", "people are not asked");
      await decide(approval.id);
      equal((await ask()).approved, true);
    },
    "one that was settled holds its call up no more": async () => {
      const { host, pend, bad } = await openDamaged({ status: "consumed" });
      const id = await pend({ n: 2 });
      ok(id !== "" && id !== bad.id, "people are not asked");
      equal((await host.approveTool({ tool: "exec", arguments: { n: 2 } })).approval?.id, id);
    },
    "the client of a gateway says how many are left out": async () => {
      const { gateway, ids, bad } = await openDamaged({ status: "approved", scope: "hour" });
      const { approvals } = clientOf(fetchOf(gateway));
      const page = await approvals.list();
      equal([page.approvals.length, page.unreadable], [ids.length, 1]);
      equal(await approvals.grants(), { approvals: [], unreadable: 1 });
      equal(await kindOf(approvals.get(bad.id)), "http_status");
    },
    "the page shows the others, and that one is left out": async () => {
      const { ask, enter, look, store } = await openApprovalPages();
      const { tool } = await ask();
      const cookie = await enter("ann");
      const before = await look("/approvals", cookie);
      equal([before.status, before.text.includes("left out")], [200, false]);
      const bad = unreadableApproval(START_MS);
      await store.create(bad);
      const { status, text } = await look("/approvals", cookie);
      equal([status, text.includes("1 left out: what is kept cannot be read"), text.includes(tool)], [200, true, true]);
      const one = await look(`/approvals/${bad.id}`, cookie);
      equal([one.status, one.text.includes("It is kept as something that cannot be read")], [500, true]);
    },
  },
);
