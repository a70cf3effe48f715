import { ApprovalManager, type ApprovalScope } from "../../src/approvals/index.ts";
import { createTurn } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, META, toolCall } from "./fixture.ts";
import { openHumanStage } from "./human-approval-stage.ts";

const MINUTE_MS = 60_000;

/** After a person has said no, the same call does not ask people again for a while. */
export const approvalHoldCases: readonly Case[] = casesOf(
  { topic: "approval-hold", source: "docs/approvals.md, Asking people" },
  {
    "what a person has denied is denied at once for a minute, and nobody is asked": async () => {
      const { ask, decide, clock, news, store } = await openHumanStage({ wait_ms: 0 });
      const id = (await ask()).approval?.id ?? "";
      clock.advance(1000);
      await decide(id, "deny", { comment: "not on Friday" });
      const deniedAt = new Date(clock.nowMs).toISOString();
      const untilMs = clock.nowMs + MINUTE_MS;
      clock.advance(MINUTE_MS - 1);
      const { approved, approval, reason } = await ask();
      equal([approved, approval, clock.running], [false, { id, status: "denied" }, 0]);
      equal(
        reason,
        `ann denied this at ${deniedAt}: not on Friday (approval ${id}). Nobody is asked again about the same call before ${new Date(untilMs).toISOString()}`,
      );
      equal([news.length, (await store.list({ maxApprovals: 9 })).approvals.length], [2, 1]);
      clock.advance(1);
      const again = await ask();
      equal([again.approval?.status, again.approval?.id === id, news.length], ["pending", false, 3]);
    },
    "only the call that was denied is held": async () => {
      const { ask, decide } = await openHumanStage({ wait_ms: 0 });
      await decide((await ask()).approval?.id ?? "", "deny");
      equal((await ask(toolCall({ command: "pwd" }))).approval?.status, "pending");
    },
    "time that is over and a question that was taken back hold nothing": async () => {
      const { ask, approvals, clock } = await openHumanStage({ wait_ms: 0, expires_ms: 1000 });
      const first = (await ask()).approval?.id ?? "";
      clock.advance(1000);
      const second = (await ask()).approval?.id ?? "";
      await approvals.cancel(second, { by: "ann" });
      const third = (await ask()).approval;
      equal([first === second, second === third?.id, third?.status], [false, false, "pending"]);
    },
    "a rule says for how long, and 0 asks again at once": async () => {
      const { ask, decide, clock } = await openHumanStage([
        { match: { tool: ["rm"] }, wait_ms: 0, denial_holds_ms: 0 },
        { wait_ms: 0, denial_holds_ms: 86_400_000 },
      ]);
      const rm = { ...toolCall(), tool: "rm" };
      await decide((await ask(rm)).approval?.id ?? "", "deny");
      equal((await ask(rm)).approval?.status, "pending");
      await decide((await ask()).approval?.id ?? "", "deny");
      clock.advance(86_399_999);
      equal((await ask()).approval?.status, "denied");
      clock.advance(1);
      equal((await ask()).approval?.status, "pending");
    },
    "a denial holds at every gateway on the store, and after the one that asked has ended": async () => {
      const { ask, decide, store, clock } = await openHumanStage({ wait_ms: 0 });
      const id = (await ask()).approval?.id ?? "";
      await decide(id, "deny");
      const other = new ApprovalManager({ store, now: clock.now, startTimer: clock.startTimer });
      const { call } = await other.get(id);
      const question = {
        agent: "main",
        session: "cli:direct",
        tool: "exec",
        arguments: { command: "ls" },
        hook: "human_approval",
        reason: "",
        require: 1,
        approvers: [],
        expiresMs: 1000,
        useWithinMs: 1000,
      };
      const held = await other.ask({ ...question, denialHoldsMs: 1000 });
      equal(
        [held.approval.call === call, held.approval.id, held.isNew, held.heldUntil],
        [true, id, false, new Date(clock.nowMs + 1000).toISOString()],
      );
      equal([(await other.ask(question)).isNew, (await other.ask(question)).heldUntil], [true, undefined]);
    },
    "what was approved after a denial is used": async () => {
      for (const scope of ["once", "hour"] satisfies ApprovalScope[]) {
        const { ask, decide, approvals, clock } = await openHumanStage({ wait_ms: 0 });
        const denied = await approvals.get((await ask()).approval?.id ?? "");
        await decide(denied.id, "deny");
        clock.advance(MINUTE_MS);
        const second = (await ask()).approval?.id ?? "";
        // The clock of the gateway that answers is behind.
        clock.nowMs -= 30_000;
        await decide(second, "approve", { scope });
        equal((await ask()).approval, { id: second, status: scope === "once" ? "consumed" : "approved" });
        equal((await ask()).approval?.status, scope === "once" ? "pending" : "approved");
      }
    },
    "calls that wait are all denied by one denial, and the next is held": async () => {
      const { begin, ask, decide } = await openHumanStage();
      const first = await begin();
      const second = await begin();
      equal(first.id, second.id);
      await decide(first.id, "deny");
      const reason = `ann denied this (approval ${first.id})`;
      equal([(await first.asked).reason, (await second.asked).reason], [reason, reason]);
      ok((await ask()).reason.includes("Nobody is asked again"), "it is not held");
    },
    "a turn that goes on by the approval's id is told of that one, and one that asks again is held": async () => {
      const { host, decide, clock } = await openHumanStage({ wait_ms: 0 });
      const turn = createTurn(host, { meta: META, channel: "cli", chatId: "direct", userMessage: "list" });
      const call = { id: "call-1", tool: "exec", arguments: { command: "ls" } };
      const ran: unknown[] = [];
      const execute = async (given: unknown): Promise<string> => String(ran.push(given));
      const asked = await turn.tool(call, execute);
      const id = asked.status === "pending" ? asked.pending : "";
      await decide(id, "deny");
      const contents: string[] = [];
      for (const step of [await turn.resume(id, execute), await turn.tool(call, execute)]) {
        equal(step.status, "denied");
        contents.push(String(step.message.content));
      }
      equal(
        contents.map((content) => content.includes("Nobody is asked again")),
        [false, true],
      );
      clock.advance(MINUTE_MS);
      equal([(await turn.tool(call, execute)).status, ran], ["pending", []]);
    },
    "a store that is down while it is looked for denies": async () => {
      const { ask, decide, store } = await openHumanStage({ wait_ms: 0 });
      await decide((await ask()).approval?.id ?? "", "deny");
      store.isDown = true;
      equal((await ask()).approved, false);
    },
  },
);
