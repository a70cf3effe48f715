import { createHumanApprovalHook, humanApprovalSchema } from "../../src/approvals/index.ts";
import { createGateway } from "../../src/gateway/index.ts";
import { type ApprovalDecision, HookManager } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, toolCall } from "./fixture.ts";
import { requestOf, toAnswer } from "./gateway-fixture.ts";
import { type HumanStage, openHumanStage } from "./human-approval-stage.ts";

type Ask = () => Promise<ApprovalDecision>;

/** Asks as a gateway does that has read other rules. */
async function reload({ approvals, clock }: HumanStage, rule: object): Promise<Ask> {
  const host = new HookManager({ now: clock.now });
  const config = humanApprovalSchema.parse({ rules: [{ wait_ms: 0, ...rule }] });
  await host.mount(createHumanApprovalHook(config, { approvals, keepsApprovals: true }), { name: "human_approval" });
  return () => host.approveTool(toolCall());
}

/** A call that was approved by these people under a rule. */
async function grant(
  rule: object,
  people: readonly string[],
  scope: "once" | "hour" | "session" = "hour",
): Promise<HumanStage & { readonly id: string }> {
  const stage = await openHumanStage({ wait_ms: 0, require: people.length, ...rule });
  const id = (await stage.ask()).approval?.id ?? "";
  for (const by of people) await stage.decide(id, "approve", { by, scope });
  return { ...stage, id };
}

/** Whether what was approved lets a call run under another rule. */
async function holds(given: Parameters<typeof grant>, rule: object): Promise<boolean> {
  return (await (await reload(await grant(...given), rule))()).approved;
}

const [ann, ben] = [["ann"], ["ben"]];

/** What people approved counts only for as long as it meets the rule there is. */
export const approvalRuleCases: readonly Case[] = casesOf(
  { topic: "approval-rules", source: "docs/approvals.md, Asking people" },
  {
    "what fewer people approved than have to now is not used: people are asked, and told why": async () => {
      const stage = await grant({}, ann);
      const { id, approvals, decide } = stage;
      equal((await stage.ask()).approved, true);
      const ask = await reload(stage, { require: 2 });
      const { approved, approval, reason } = await ask();
      equal([approved, approval?.status, approval?.id === id], [false, "pending", false]);
      const why = "the rule now needs 2 people, and 1 of those who may decide has approved";
      ok(reason.endsWith(`. What was approved before (approval ${id}) does not count: ${why}`), reason);
      const { status, ending, votes } = await approvals.get(id);
      equal([status, ending, votes.length], ["cancelled", { reason: why }, 1]);
      const next = approval?.id ?? "";
      await decide(next, "approve", { scope: "hour" });
      equal((await ask()).approval?.status, "pending");
      await decide(next, "approve", { by: "ben", scope: "hour" });
      equal((await ask()).approval, { id: next, status: "approved" });
    },
    "who may not decide any more has not approved": async () => {
      equal(await holds([{}, ann], { approvers: ben }), false);
      equal(await holds([{ approvers: ["ann", "ben"] }, ann], { approvers: ben }), false);
      equal(await holds([{}, ["ann", "ben"]], { require: 2, approvers: ["ben", "cem"] }), false);
      equal(await holds([{}, ["ann", "ben"]], { require: 1, approvers: ["ben", "cem"] }), true);
      equal(await holds([{}, ann], { approvers: ["ben", "ann"] }), true);
    },
    "what was approved by a stricter rule, or by one that asks the same, goes on": async () => {
      equal(await holds([{}, ["ann", "ben"]], { require: 1 }), true);
      equal(await holds([{ approvers: ann }, ann, "session"], {}), true);
      equal(await holds([{ approvers: ann }, ann, "once"], { approvers: ann, reason: "another", risk: "high" }), true);
    },
    "what was approved once is used within the time of the rule there is": async () => {
      for (const [useWithinMs, approved] of [
        [5000, false],
        [5001, true],
      ] as const) {
        const stage = await grant({}, ann, "once");
        stage.clock.advance(5000);
        const answer = await (await reload(stage, { use_within_ms: useWithinMs }))();
        equal([useWithinMs, answer.approved], [useWithinMs, approved]);
        const why = "the rule now gives less time to use what is approved once";
        if (!approved) ok(answer.reason.endsWith(why), answer.reason);
      }
      const hour = await grant({}, ann);
      hour.clock.advance(5000);
      equal((await (await reload(hour, { use_within_ms: 1000 }))()).approved, true);
    },
    "what is decided after a reload, of what was asked before, counts by the rule there is": async () => {
      const stage = await openHumanStage({ wait_ms: 0 });
      const id = (await stage.ask()).approval?.id ?? "";
      const ask = await reload(stage, { require: 2 });
      equal((await stage.decide(id)).status, "approved");
      equal((await ask()).approved, false);
    },
    "what another gateway with a weaker rule was given meanwhile is not used": async () => {
      const stage = await grant({}, ann);
      const { call } = await stage.approvals.get(stage.id);
      const demand = { require: 2, approvers: [], useWithinMs: 1000 };
      equal(await stage.approvals.use(call, demand), undefined);
      equal((await stage.approvals.use(call))?.id, stage.id);
      const once = await grant({}, ann, "once");
      const asked = await once.approvals.get(once.id);
      equal(await once.approvals.use(asked.call, demand), undefined);
      equal((await once.approvals.get(once.id)).status, "approved");
    },
    "one of many calls at once takes it back, and people are asked once": async () => {
      const stage = await grant({}, ann, "session");
      const ask = await reload(stage, { require: 2 });
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
      equal(new Set(answers.map(({ approval }) => approval?.id)).size, 1);
      equal(answers.filter(({ approved }) => approved).length, 0);
    },
    "it is listed as taken back, with why, and is no grant any more": async () => {
      const stage = await grant({}, ann);
      const { host, approvals, id } = stage;
      const gateway = createGateway({ host, hooks: () => host.hooks(), approvals });
      const at = async (path: string): Promise<unknown> =>
        (await toAnswer(await gateway.fetch(requestOf({ method: "GET", path })))).json;
      await (
        await reload(stage, { approvers: ben })
      )();
      equal(await at("/v1/grants"), { grants: [], next: null });
      const { approvals: taken } = (await at("/v1/approvals?status=cancelled")) as { approvals: { id: string }[] };
      equal(taken, [await approvals.get(id)]);
    },
  },
);
