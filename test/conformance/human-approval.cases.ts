import { createGatewayClient } from "../../src/client/index.ts";
import { createGateway } from "../../src/gateway/index.ts";
import type { ApprovalDecision, HookHost } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, countTimers, META, outcomesOf, toolCall } from "./fixture.ts";
import { requestOf } from "./gateway-fixture.ts";
import { openHumanStage } from "./human-approval-stage.ts";

/** What an answer says, without its trace. */
function said(decision: ApprovalDecision): unknown {
  const { trace: _, ...rest } = decision;
  return rest;
}

const STORE_DOWN =
  'tool approval hook "human_approval" failed: the approval store is not available, so nothing can be approved. Make the same call again later';

const HOUR_MS = 3_600_000;

/** The built-in hook `human_approval`. */
export const humanApprovalCases: readonly Case[] = casesOf(
  { topic: "human-approval", source: "Human approvals, 1 and 2" },
  {
    "a call that no rule matches needs nobody": async () => {
      const { ask, news } = await openHumanStage({ match: { tool: ["rm"] } });
      equal(said(await ask()), { approved: true, reason: "" });
      equal(news, []);
    },
    "the first rule that matches counts": async () => {
      const { ask, news } = await openHumanStage([
        { match: { tool: ["exec"], session: ["!cli:*"] }, reason: "a" },
        { match: { tool: ["exec"] }, reason: "b", risk: "high", require: 2, approvers: ["ann", "ben"], wait_ms: 0 },
        { reason: "c" },
      ]);
      await ask();
      const [[kind, approval] = []] = news;
      equal([kind, approval?.reason, approval?.risk, approval?.require], ["requested", "b", "high", 2]);
      const { turn, ...requester } = approval?.requester ?? { agent: "", session: "" };
      equal([turn, requester], ["turn-1", { agent: "main", session: "cli:direct", channel: "cli", chat_id: "direct" }]);
    },
    "a call that waits goes on when people approve it, and the approval is used": async () => {
      const { begin, decide, store, clock } = await openHumanStage();
      const { asked, id } = await begin();
      equal(clock.running, 1);
      await decide(id);
      equal(said(await asked), { approved: true, reason: "", approval: { id, status: "consumed" } });
      equal([(await store.get(id))?.status, clock.running], ["consumed", 0]);
    },
    "a call that waits takes one timer, for as long as its deadline lets it": async () => {
      const { begin, decide, clock } = await openHumanStage({ require: 2 });
      const { asked, id } = await begin();
      equal(clock.delays, [59_000]);
      clock.nowMs += 1000;
      const timer = clock.nextTimer();
      await decide(id);
      await timer;
      equal([clock.delays, clock.running], [[59_000, 58_000], 1]);
      await decide(id, "approve", { by: "ben" });
      equal((await asked).approved, true);
    },
    "no time is left to the platform's own timers by those who wait": async () => {
      const { left } = await countTimers(async () => {
        const { begin, decide } = await openHumanStage();
        const { asked, id } = await begin();
        await decide(id);
        await asked;
      });
      equal(left, 0);
    },
    "a call whose approval another one has used by the time it looks asks anew, and is not told of a denial":
      async () => {
        const { begin, approvals, clock, decide } = await openHumanStage({ wait_ms: 5000 });
        const wait = approvals.wait.bind(approvals);
        approvals.wait = async (id, options) => {
          const { status, call } = await wait(id, options);
          if (status === "approved") await approvals.use(call);
          return approvals.get(id);
        };
        const { asked, id } = await begin();
        const timer = clock.nextTimer();
        await decide(id);
        await Promise.race([timer, asked]);
        clock.advance(5000);
        const { approved, approval, reason } = await asked;
        equal([approved, approval?.status, approval?.id === id], [false, "pending", false]);
        ok(reason.startsWith(`approval ${approval?.id} is pending: `), reason);
      },
    "a call that has waited is told that the approval is pending, and runs when it comes again": async () => {
      const { begin, ask, decide, clock, news } = await openHumanStage({ wait_ms: 5000 });
      const { asked, id } = await begin();
      clock.advance(5000);
      const expires = new Date(clock.nowMs - 5000 + HOUR_MS).toISOString();
      const reason = `approval ${id} is pending: a person has to approve this until ${expires}. Make the same call again later; it runs once it is approved`;
      const approval = { id, status: "pending", poll: `/v1/approvals/${id}?wait=55`, expires };
      equal(said(await asked), { approved: false, reason, approval });
      await decide(id);
      equal(said(await ask()), { approved: true, reason: "", approval: { id, status: "consumed" } });
      equal(
        news.map(([kind, { status }]) => [kind, status]),
        [
          ["requested", "pending"],
          ["decided", "approved"],
        ],
      );
    },
    "what was approved is used once, and then people are asked again": async () => {
      const { ask, decide, news } = await openHumanStage({ wait_ms: 0 });
      const first = (await ask()).approval?.id ?? "";
      equal((await ask()).approval?.id, first);
      await decide(first);
      equal((await ask()).approved, true);
      const again = await ask();
      equal([again.approved, again.approval?.status, again.approval?.id === first], [false, "pending", false]);
      equal(news.length, 3);
    },
    "of calls that come at once, one uses an approval": async () => {
      const { ask, decide } = await openHumanStage({ wait_ms: 0 });
      await decide((await ask()).approval?.id ?? "");
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
      equal(answers.filter(({ approved }) => approved).length, 1);
      const pending = new Set(answers.flatMap(({ approval, approved }) => (approved ? [] : (approval?.id ?? ""))));
      equal(pending.size, 1);
    },
    "what was approved is for that call alone": async () => {
      const { ask, decide } = await openHumanStage({ wait_ms: 0 });
      const id = (await ask(toolCall({ command: "ls", n: 1 }))).approval?.id ?? "";
      await decide(id, "approve", { scope: "session" });
      const others = [
        toolCall({ command: "ls", n: 2 }),
        toolCall({ command: "ls" }),
        { ...toolCall({ command: "ls", n: 1 }), tool: "Exec" },
        { ...toolCall({ command: "ls", n: 1 }), meta: { ...META, SessionKey: "other" } },
        { ...toolCall({ command: "ls", n: 1 }), meta: { ...META, AgentID: "other" } },
      ];
      for (const other of others) equal((await ask(other)).approved, false);
      equal((await ask(toolCall({ n: 1, command: "ls" }))).approved, true);
    },
    "an approval for an hour holds for an hour, until it is taken back": async () => {
      const { ask, decide, clock, approvals } = await openHumanStage({ wait_ms: 0 });
      const first = (await ask()).approval?.id ?? "";
      await decide(first, "approve", { scope: "hour" });
      equal((await ask()).approval, { id: first, status: "approved" });
      clock.advance(HOUR_MS - 1);
      equal((await ask()).approved, true);
      clock.advance(1);
      const second = (await ask()).approval?.id ?? "";
      await decide(second, "approve", { scope: "session" });
      clock.advance(HOUR_MS * 23);
      equal((await ask()).approved, true);
      await approvals.cancel(second, { by: "ben" });
      equal((await ask()).approved, false);
    },
    "a person who denies says why": async () => {
      const { begin, decide } = await openHumanStage({ wait_ms: 9000 });
      const { asked, id } = await begin();
      await decide(id, "deny", { comment: "not on Friday" });
      const reason = `ann denied this: not on Friday (approval ${id})`;
      equal(said(await asked), { approved: false, reason, approval: { id, status: "denied" } });
      await rejects(decide(id), "ERR_CONFLICT");
    },
    "time that is over denies, and is over for people too": async () => {
      const { begin, clock, decide, news } = await openHumanStage({ expires_ms: 2000 });
      const { asked, id } = await begin();
      equal(clock.delays, [2000]);
      clock.advance(2000);
      const reason = `nobody approved this in time (approval ${id})`;
      equal(said(await asked), { approved: false, reason, approval: { id, status: "expired" } });
      equal(
        news.map(([, { status }]) => status),
        ["pending", "expired"],
      );
      await rejects(decide(id), "ERR_GONE");
    },
    "what was approved and not used in time is not used later": async () => {
      const { ask, decide, clock } = await openHumanStage({ wait_ms: 0, use_within_ms: 5000 });
      const id = (await ask()).approval?.id ?? "";
      await decide(id);
      clock.advance(5000);
      const answer = await ask();
      equal([answer.approved, answer.approval?.id === id], [false, false]);
    },
    "a wait that is longer than a timer can be is not over at once": async () => {
      const { approvals, ask, clock, decide } = await openHumanStage({ wait_ms: 0, expires_ms: 2_592_000_000 });
      const id = (await ask()).approval?.id ?? "";
      const timer = clock.nextTimer();
      const wait = approvals.wait(id, { timeoutMs: Infinity });
      await timer;
      equal(clock.delays.at(-1), 2_147_483_647);
      await decide(id);
      equal((await wait).status, "approved");
    },
    "a question that is taken back denies": async () => {
      const { begin, approvals } = await openHumanStage();
      const { asked, id } = await begin();
      await approvals.cancel(id, { reason: "the bot was stopped" });
      equal((await asked).reason, `approval ${id} was taken back: the bot was stopped`);
    },
    "a pending question that asks others by now is asked anew": async () => {
      const { begin, approvals, store } = await openHumanStage({ require: 1 });
      const { asked, id } = await begin();
      const first = await approvals.get(id);
      const question = {
        agent: "main",
        session: "cli:direct",
        tool: "exec",
        arguments: { command: "ls" },
        hook: "human_approval",
        reason: "",
        require: 2,
        approvers: ["ann", "ben"],
        expiresMs: 1000,
        useWithinMs: 1000,
      };
      const { approval, isNew } = await approvals.ask(question);
      equal([isNew, approval.call === first.call, approval.require], [true, true, 2]);
      equal([(await asked).approved, (await store.get(id))?.status], [false, "cancelled"]);
    },
    "a store that is down denies, and what is pending is there when it is back": async () => {
      const { ask, store, decide } = await openHumanStage({ wait_ms: 0 });
      const id = (await ask()).approval?.id ?? "";
      await decide(id);
      store.isDown = true;
      const denied = await ask();
      equal(
        [denied.approved, denied.reason, outcomesOf(denied)],
        [false, STORE_DOWN, ["human_approval: store_unavailable"]],
      );
      await rejects(decide(id), "ERR_STORE_UNAVAILABLE");
      store.isDown = false;
      equal((await ask()).approval, { id, status: "consumed" });
    },
    "a store that goes down while a call waits denies it": async () => {
      const { begin, store, clock } = await openHumanStage();
      const { asked } = await begin();
      store.isDown = true;
      clock.advance(59_000);
      equal([(await asked).reason, outcomesOf(await asked)], [STORE_DOWN, ["human_approval: store_unavailable"]]);
    },
    "those who wait are told to come again when the gateway stops": async () => {
      const { begin, approvals, clock } = await openHumanStage();
      const { asked, id } = await begin();
      approvals.release();
      equal([(await asked).approval?.id, (await asked).approval?.status, clock.running], [id, "pending", 0]);
    },
    "people are not shown what is masked, and it counts all the same": async () => {
      const masks = [["arguments", "password"]];
      const { ask, news, decide } = await openHumanStage({ wait_ms: 0 }, { masks });
      const call = toolCall({ user: "ann", password: "hunter2", note: "it is hunter2" });
      const id = (await ask(call)).approval?.id ?? "";
      equal(news[0]?.[1].arguments, { user: "ann", password: "[masked]", note: "it is [masked]" });
      ok(!JSON.stringify(news).includes("hunter2"), "the password is in what is kept");
      await decide(id);
      equal((await ask(toolCall({ user: "ann", password: "hunter3", note: "it is hunter2" }))).approved, false);
      equal((await ask(call)).approved, true);
    },
    "arguments that are too long to be shown are denied": async () => {
      const { ask, news } = await openHumanStage();
      const { approved, reason } = await ask(toolCall({ text: "x".repeat(300_000) }));
      equal([approved, reason.slice(0, 52), news], [false, "the arguments are too long to be shown to people: at", []]);
    },
    "what a gateway answers says of the approval, for check_tool too, and its client hands it on": async () => {
      const { host, approvals, clock, decide } = await openHumanStage({ wait_ms: 0 });
      const gateway = createGateway({ host, hooks: () => host.hooks(), approvals });
      const client: HookHost = createGatewayClient({
        url: "http://127.0.0.1:8787",
        fetch: (_url, { body }) => gateway.fetch(requestOf({ body: body ?? null })),
      });
      const checked = await client.checkTool(toolCall());
      const id = checked.approval?.id ?? "";
      const expires = new Date(clock.nowMs + HOUR_MS).toISOString();
      const approval = { id, status: "pending", poll: `/v1/approvals/${id}?wait=55`, expires };
      equal([checked.approved, checked.action, checked.approval], [false, "continue", approval]);
      equal((await client.approveTool(toolCall())).approval, approval);
      await decide(id);
      const again = await client.checkTool(toolCall());
      equal([again.approved, again.approval], [true, { id, status: "consumed" }]);
    },
    "a gateway whose store is down says so and is ready for what needs no approval": async () => {
      const { host, approvals, store } = await openHumanStage();
      const gateway = createGateway({ host, hooks: () => host.hooks(), approvals });
      const readyz = async (): Promise<unknown> => {
        const response = await gateway.fetch(requestOf({ method: "GET", path: "/readyz" }));
        return [response.status, await response.json()];
      };
      const status = { store: "memory", available: true };
      equal(await readyz(), [200, { status: "ready", hooks: [], approvals: status }]);
      store.isDown = true;
      equal(await readyz(), [200, { status: "degraded", hooks: [], approvals: { ...status, available: false } }]);
    },
  },
);
