import { toApprovalEvent } from "../../src/approvals/index.ts";
import { type HookEvent, HookManager } from "../../src/picoclaw/index.ts";
import { type Case, equal } from "./case.ts";
import { casesOf, META, toolCall } from "./fixture.ts";
import { openHumanStage } from "./human-approval-stage.ts";

/** What observers are told of approvals. */
export const approvalEventCases: readonly Case[] = casesOf(
  { topic: "approval-event", source: "Human approvals, 3" },
  {
    "observers hear of a question and of what came of it, with the arguments masked": async () => {
      const observers = new HookManager();
      const events: HookEvent[] = [];
      await observers.mount({ onEvent: (event) => void events.push(event) }, { name: "watcher" });
      const stage = await openHumanStage(
        { wait_ms: 0, reason: "it goes live", risk: "high", approvers: ["ann"] },
        {
          masks: [["arguments", "password"]],
          onNews: (news, approval) => observers.emit(toApprovalEvent(news, approval)),
        },
      );
      const call = toolCall({ command: "deploy", password: "hunter2" });
      const { approval } = await stage.ask(call);
      const id = approval?.id ?? "";
      await stage.decide(id, "approve", { scope: "hour", comment: "go" });
      await observers.flush(1000);
      const { created, changed, expires } = await stage.approvals.get(id);
      const asked = {
        ID: id,
        Tool: "exec",
        Arguments: { command: "deploy", password: "[masked]" },
        Reason: "it goes live",
        Risk: "high",
        Require: 1,
        Channel: "cli",
        ChatID: "direct",
      };
      equal(
        events.map(({ Kind, Time, Payload }) => [Kind, Time, Payload]),
        [
          ["approval_requested", created, { ...asked, Status: "pending", Expires: approval?.expires }],
          [
            "approval_decided",
            changed,
            {
              ...asked,
              Status: "approved",
              Expires: expires,
              By: ["ann"],
              How: ["token"],
              Scope: "hour",
              Comment: "go",
            },
          ],
        ],
      );
      equal(
        events.map(({ Meta }) => [Meta.AgentID, Meta.SessionKey, Meta.TurnID]),
        events.map(() => [META.AgentID, META.SessionKey, META.TurnID]),
      );
    },
    "what was decided says how each person did, and through whom": async () => {
      const payloads: Readonly<Record<string, unknown>>[] = [];
      const stage = await openHumanStage(
        { wait_ms: 0, require: 3 },
        {
          onNews: (news, approval) =>
            void payloads.push(toApprovalEvent(news, approval).Payload as (typeof payloads)[0]),
        },
      );
      const id = (await stage.ask()).approval?.id ?? "";
      await stage.decide(id, "approve", { by: "ann", how: "page" });
      await stage.decide(id, "approve", { by: "ben", how: "token", via: "bot" });
      await stage.decide(id, "deny", { by: "cem", how: "link", comment: "no" });
      const [asked = {}, decided = {}] = payloads;
      equal([asked["How"], asked["Via"]], [undefined, undefined]);
      equal(
        [decided["By"], decided["How"], decided["Via"]],
        [
          ["ann", "ben", "cem"],
          ["page", "token", "link"],
          ["", "bot", ""],
        ],
      );
    },
    "expiry and taking back are decisions too": async () => {
      const kinds: unknown[] = [];
      const stage = await openHumanStage(
        { wait_ms: 0, expires_ms: 1000 },
        {
          onNews(news, approval) {
            const { Kind, Payload } = toApprovalEvent(news, approval);
            const { Status, Comment } = Payload as Readonly<Record<string, unknown>>;
            kinds.push([Kind, Status, Comment]);
          },
        },
      );
      await stage.ask(toolCall({ n: 1 }));
      stage.clock.advance(1000);
      await stage.approvals.sweep();
      const { approval } = await stage.ask(toolCall({ n: 2 }));
      await stage.approvals.cancel(approval?.id ?? "", { by: "ann", reason: "no need" });
      equal(kinds, [
        ["approval_requested", "pending", undefined],
        ["approval_decided", "expired", undefined],
        ["approval_requested", "pending", undefined],
        ["approval_decided", "cancelled", "no need"],
      ]);
    },
  },
);
