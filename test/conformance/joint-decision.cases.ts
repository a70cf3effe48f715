import type { ObservedDecision } from "../../src/chain/index.ts";
import type { Hook } from "../../src/picoclaw/index.ts";
import { type Case, equal, rejects } from "./case.ts";
import { bothOf } from "./composite.cases.ts";
import { casesOf } from "./fixture.ts";
import { prints, type Script } from "./jcli-fixture.ts";

const call = { tool: "Bash", arguments: { command: "ls" }, meta: { SessionKey: "s" } };
const outcome = { tool: "Bash", result: { for_llm: "out" } };

/** What those who record decisions are told of them. */
const told = ({ point, action, reason, records }: ObservedDecision): unknown => [
  point,
  action,
  reason,
  records.map(({ hook }) => hook),
];

/** One decision of both systems is told of once. */
export const jointDecisionCases: readonly Case[] = casesOf(
  { topic: "joint-decision", source: "docs/operations.md, Records" },
  {
    "a-tool-that-a-yaml-hook-skips-was-denied": async () => {
      const seen: ObservedDecision[] = [];
      const script = { pre_tool_execution: prints({ action: "skip" }) };
      const { host } = await bothOf(script, { a: { beforeTool: () => ({}) } }, (each) => void seen.push(each));
      const { trace, reason } = await host.beforeTool(call, { caller: "bot" });
      equal(seen.map(told), [["before_tool", "deny_tool", reason, ["a", "user.pre_tool_execution[0]"]]]);
      equal([seen[0]?.id, seen[0]?.caller], [trace.id, "bot"]);
    },
    "what-ends-at-the-point-or-changes-at-the-event-is-told-as-it-is": async () => {
      const seen: ObservedDecision[] = [];
      const script = {
        pre_tool_execution: prints({ tool_arguments: '{"command":"pwd"}' }),
        post_tool_execution: prints({}),
      };
      const gate: Hook = {
        beforeTool: ({ tool }) => (tool === "rm" ? { action: "deny_tool", reason: "no" } : undefined),
      };
      const { host } = await bothOf(script, { gate }, (each) => void seen.push(each));
      await host.beforeTool({ ...call, tool: "rm" });
      await host.beforeTool(call);
      await host.afterTool(outcome);
      equal(
        seen.map(({ point, action }) => [point, action]),
        [
          ["before_tool", "deny_tool"],
          ["before_tool", "modify"],
          ["after_tool", "continue"],
        ],
      );
    },
    "a-check-is-told-of-by-its-two-points": async () => {
      const seen: ObservedDecision[] = [];
      const script = { pre_tool_execution: prints({ tool_arguments: '{"command":"pwd"}' }) };
      const ask: Hook = { approveTool: () => ({ approved: false, reason: "no" }) };
      const { host } = await bothOf(script, { ask }, (each) => void seen.push(each));
      await host.checkTool(call);
      const stopped = await bothOf(
        { pre_tool_execution: prints({ action: "stop" }) },
        { ask },
        (each) => void seen.push(each),
      );
      await stopped.host.checkTool(call);
      const denies: Hook = { beforeTool: () => ({ action: "deny_tool", reason: "no" }) };
      const denied = await bothOf(script, { denies }, (each) => void seen.push(each));
      await denied.host.checkTool(call);
      equal(
        seen.map(({ point, action }) => [point, action]),
        [
          ["before_tool", "modify"],
          ["approve_tool", "denied"],
          ["before_tool", "abort_turn"],
          ["before_tool", "deny_tool"],
        ],
      );
    },
    "a-host-that-gives-up-at-the-event-has-aborted": async () => {
      const seen: ObservedDecision[] = [];
      const controller = new AbortController();
      const script: Script = () => {
        controller.abort();
        return new Promise<never>(() => undefined);
      };
      const { host } = await bothOf({ pre_tool_execution: script }, {}, (each) => void seen.push(each));
      await rejects(host.beforeTool(call, { signal: controller.signal }), "ERR_ABORTED");
      await rejects(host.checkTool(call, { signal: controller.signal }), "ERR_ABORTED");
      equal(
        seen.map(({ action }) => action),
        ["aborted", "aborted"],
      );
    },
    "an-event-of-its-own-is-a-decision-where-it-has-hooks": async () => {
      const seen: ObservedDecision[] = [];
      const { host } = await bothOf(
        { pre_send_message: prints({ user_input: "hello" }) },
        {},
        (each) => void seen.push(each),
      );
      const { trace } = await host.run({ event: "pre_send_message", user_input: "hi" }, { caller: "bot" });
      await host.run({ event: "pre_llm_request" });
      equal(
        seen.map(({ id, point, action, input, caller }) => [id, point, action, input, caller]),
        [[trace.id, "pre_send_message", "modify", { event: "pre_send_message", user_input: "hi" }, "bot"]],
      );
    },
  },
);
