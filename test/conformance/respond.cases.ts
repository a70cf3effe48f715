import { type Case, equal } from "./case.ts";
import { answering, casesOf, keepingLog, managerOf, outcomesOf, remoteHook, toolCall } from "./fixture.ts";

const RESULT = { for_llm: "from the hook", silent: false, is_error: false, async: false };

/** Section 3: respond. */
export const respondCases: readonly Case[] = casesOf(
  { topic: "respond", source: "PicoClaw hook semantics, section 3" },
  {
    "respond-stops-and-returns-the-responder-s-call-and-result": async () => {
      const manager = await answering(
        "before_tool",
        { action: "respond", result: RESULT, call: { tool: "cached", arguments: { n: 1 } } },
        { action: "deny_tool" },
      );
      const decision = await manager.beforeTool(toolCall());
      equal([decision.action, decision.result], ["respond", RESULT]);
      equal([decision.call, outcomesOf(decision)], [{ ...toolCall({ n: 1 }), tool: "cached" }, ["h0: respond"]]);
    },
    "respond-needs-no-call": async () => {
      const decision = await (
        await answering("before_tool", { action: "respond", result: RESULT })
      ).beforeTool(toolCall());
      equal([decision.action, decision.changed, decision.call], ["respond", false, toolCall()]);
    },
    "the-result-may-arrive-inside-the-call": async () => {
      const manager = await answering("before_tool", { action: "respond", call: { hook_result: RESULT } });
      equal((await manager.beforeTool(toolCall())).result, RESULT);
    },
    "an-in-process-hook-may-put-the-result-into-its-call": async () => {
      const manager = await managerOf({
        a: {
          beforeTool(call) {
            Reflect.set(call, "hook_result", { for_llm: "in place" });
            return { action: "respond", call };
          },
        },
      });
      equal((await manager.beforeTool(toolCall())).result?.for_llm, "in place");
    },
    "the-result-beside-the-call-comes-first": async () => {
      const reply = { action: "respond", result: RESULT, call: { hook_result: { for_llm: "other" } } };
      equal((await (await answering("before_tool", reply)).beforeTool(toolCall())).result, RESULT);
    },
    "a-result-has-every-key-that-is-always-there": async () => {
      for (const result of [{ for_llm: "x" }, { for_llm: "x", for_user: null, silent: null, media: null }]) {
        const decision = await (await answering("before_tool", { action: "respond", result })).beforeTool(toolCall());
        equal(decision.result, { for_llm: "x", silent: false, is_error: false, async: false });
      }
    },
    "respond-without-a-result-falls-through-and-keeps-earlier-rewrites": async () => {
      const { log, warnings } = keepingLog();
      for (const reply of [{ action: "respond" }, { action: "respond", result: null, call: { tool: "c" } }]) {
        const rewrite = remoteHook(["before_tool"], () => ({ call: { tool: "b" } }));
        const empty = remoteHook(["before_tool"], () => reply);
        const manager = await managerOf({ rewrite: rewrite.port, empty: empty.port }, { log });
        const decision = await manager.beforeTool(toolCall());
        equal([decision.action, decision.call.tool, decision.result], ["continue", "b", undefined]);
        equal(outcomesOf(decision), ["rewrite: modify", "empty: bad_result"]);
      }
      equal(warnings.length, 2);
    },
    "respond-without-a-result-skips-no-later-hook": async () => {
      const manager = await answering("before_tool", { action: "respond" }, { action: "deny_tool" });
      equal((await manager.beforeTool(toolCall())).action, "deny_tool");
    },
    "a-result-of-another-action-is-ignored": async () => {
      for (const action of ["continue", "modify", "deny_tool"]) {
        const decision = await (await answering("before_tool", { action, result: RESULT })).beforeTool(toolCall());
        equal([decision.result, decision.changed], [undefined, false]);
      }
    },
    "a-result-of-the-wrong-type-is-no-verdict": async () => {
      for (const result of ["text", 5, [], true, { for_llm: 5 }, { for_llm: "x", silent: "yes" }, { media: {} }]) {
        const decision = await (await answering("before_tool", { action: "respond", result })).beforeTool(toolCall());
        equal([decision.action, ...outcomesOf(decision)], ["continue", "h0: bad_result"]);
      }
    },
  },
);
