import { type Case, equal } from "./case.ts";
import { answering, CALLS, casesOf, type InterceptorPoint, META, outcomesOf, POINTS, toolCall } from "./fixture.ts";

const ALWAYS = ["continue", "modify", "abort_turn", "hard_abort"];

/** The table of section 1: every point, and the actions it has. */
const ACTIONS: Readonly<Record<InterceptorPoint, readonly string[]>> = {
  before_llm: ALWAYS,
  after_llm: ALWAYS,
  before_tool: [...ALWAYS, "respond", "deny_tool"],
  after_tool: ALWAYS,
};

const RESULT = { for_llm: "from the hook", silent: false, is_error: false, async: false };

/** Section 1: the points and their actions. */
export const pointCases: readonly Case[] = casesOf(
  { topic: "points", source: "PicoClaw hook semantics, section 1" },
  {
    "each-action-of-a-point-is-taken": async () => {
      for (const point of POINTS) {
        for (const action of ACTIONS[point]) {
          const reply = action === "respond" ? { action, result: RESULT } : { action };
          const decision = await CALLS[point](await answering(point, reply));
          const expected = action === "modify" ? "continue" : action;
          equal([point, decision.action, decision.changed], [point, expected, false]);
          equal(
            decision.trace.records.map(({ kind }) => kind),
            [undefined],
          );
        }
      }
    },
    "an-action-of-another-point-is-unsupported": async () => {
      for (const point of POINTS) {
        for (const action of ["respond", "deny_tool", "approve", "event", "toString", "__proto__"]) {
          if (ACTIONS[point].includes(action)) continue;
          const decision = await CALLS[point](await answering(point, { action, result: RESULT }));
          equal(
            [point, action, decision.action, ...outcomesOf(decision)],
            [point, action, "continue", "h0: unsupported_action"],
          );
        }
      }
    },
    "before-llm-may-change-model-messages-tools-options": async () => {
      const request = {
        model: "other",
        messages: [{ role: "system", content: "s" }],
        tools: [{ type: "function", function: { name: "f", description: "", parameters: { type: "object" } } }],
        options: { temperature: 0 },
      };
      const manager = await answering("before_llm", {
        action: "modify",
        request: { ...request, graceful_terminal: true },
      });
      const decision = await manager.beforeLlm({ meta: META, model: "m", channel: "cli" });
      equal(decision.request, { meta: META, channel: "cli", ...request });
      equal(decision.changed, true);
    },
    "after-llm-may-change-the-response-only": async () => {
      const response = { content: "b", finish_reason: "stop" };
      const manager = await answering("after_llm", { action: "modify", response: { model: "x", meta: {}, response } });
      const decision = await manager.afterLlm({ meta: META, model: "m", response: { content: "a" } });
      equal(decision.response, { meta: META, model: "m", response });
    },
    "before-tool-may-change-tool-and-arguments": async () => {
      const manager = await answering("before_tool", {
        call: { tool: "safe", arguments: { n: 1 }, hook_result: RESULT },
      });
      const decision = await manager.beforeTool(toolCall());
      equal(decision.call, { ...toolCall({ n: 1 }), tool: "safe" });
      equal([decision.action, decision.changed, decision.result], ["continue", true, undefined]);
    },
    "after-tool-may-change-the-result-and-the-tool": async () => {
      const reply = { result: { tool: "other", result: RESULT, duration: 1, arguments: { n: 1 } } };
      const decision = await (await answering("after_tool", reply)).afterTool({ ...toolCall(), duration: 5 });
      equal(decision.outcome, { ...toolCall(), tool: "other", result: RESULT, duration: 5 });
    },
    "after-tool-leaves-the-tool-alone-with-an-empty-name": async () => {
      for (const tool of ["", null]) {
        const reply = { action: "modify", result: { tool, result: RESULT } };
        const decision = await (await answering("after_tool", reply)).afterTool({ ...toolCall(), duration: 5 });
        equal([decision.outcome.tool, decision.outcome.result], ["exec", RESULT]);
      }
    },
  },
);
