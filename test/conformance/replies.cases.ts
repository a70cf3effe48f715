import {
  acceptHello,
  createHookHandler,
  encodeHello,
  HELLO_METHOD,
  toMethod,
  toModes,
} from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, keepingLog, managerOf, META, nested, outcomesOf, remoteHook, toolCall } from "./fixture.ts";

async function decide(reply: unknown): Promise<readonly [string, ...string[]]> {
  const manager = await managerOf({ h: remoteHook(["before_tool"], () => reply).port });
  const decision = await manager.beforeTool(toolCall());
  return [decision.action, ...outcomesOf(decision)];
}

/** Section 6: what a hook's result means once it has been received. */
export const replyCases: readonly Case[] = casesOf(
  { topic: "replies", source: "PicoClaw hook semantics, section 6" },
  {
    "absent-null-and-empty-continue": async () => {
      for (const reply of [undefined, null, {}]) equal(await decide(reply), ["continue", "h: continue"]);
    },
    "no-object-is-no-verdict": async () => {
      for (const reply of [[], ["deny_tool"], "deny_tool", "", 0, 1, true, false]) {
        equal(await decide(reply), ["continue", "h: bad_result"]);
      }
    },
    "an-action-that-is-no-string-is-no-verdict": async () => {
      for (const action of [1, true, {}, ["deny_tool"]]) equal(await decide({ action }), ["continue", "h: bad_result"]);
    },
    "a-reason-that-is-no-string-is-no-verdict": async () => {
      for (const reason of [1, {}, []])
        equal(await decide({ action: "deny_tool", reason }), ["continue", "h: bad_result"]);
      equal(await decide({ action: "deny_tool", reason: null }), ["deny_tool", "h: deny_tool"]);
    },
    "a-payload-of-the-wrong-type-is-no-verdict": async () => {
      for (const call of ["x", 1, [], true, { tool: 5 }, { arguments: "x" }, { arguments: [] }, { tool: {} }]) {
        equal(await decide({ action: "modify", call }), ["continue", "h: bad_result"]);
      }
    },
    "a-field-of-the-wrong-type-leaves-the-others-unchanged-too": async () => {
      const hook = remoteHook(["before_tool"], () => ({ call: { tool: "b", arguments: 5 } }));
      equal((await (await managerOf({ h: hook.port })).beforeTool(toolCall())).call, toolCall());
    },
    "wrong-types-of-an-llm-request-are-no-verdict": async () => {
      const wrong = [
        { model: 1 },
        { messages: {} },
        { messages: ["x"] },
        { messages: [{ role: 1 }] },
        { messages: [{ role: "user", content: 5 }] },
        { messages: [{ role: "assistant", tool_calls: [{ id: 1 }] }] },
        { tools: [{}] },
        { tools: [{ type: "function", function: { name: 1 } }] },
        { options: [] },
      ];
      for (const request of wrong) {
        const manager = await managerOf({ h: remoteHook(["before_llm"], () => ({ request })).port });
        const decision = await manager.beforeLlm({ meta: META, model: "m" });
        equal([decision.changed, ...outcomesOf(decision)], [false, "h: bad_result"]);
      }
    },
    "wrong-types-of-an-llm-response-are-no-verdict": async () => {
      for (const response of [{ response: "x" }, { content: 5 }, { tool_calls: {} }, { response: { usage: 1 } }, []]) {
        const manager = await managerOf({ h: remoteHook(["after_llm"], () => ({ response })).port });
        const decision = await manager.afterLlm({ meta: META, model: "m" });
        equal([decision.changed, ...outcomesOf(decision)], [false, "h: bad_result"]);
      }
    },
    "the-error-names-the-field": async () => {
      const manager = await managerOf({ h: remoteHook(["before_llm"], () => ({ request: { messages: [{}] } })).port });
      const { trace } = await manager.beforeLlm({ meta: META, model: "m" });
      ok(trace.records[0]?.error?.startsWith("request.messages.0.role: "), `got ${trace.records[0]?.error}`);
    },
    "unknown-fields-are-ignored": async () => {
      equal(await decide({ action: "deny_tool", note: 5, version: { a: 1 } }), ["deny_tool", "h: deny_tool"]);
    },
    "names-of-another-dialect-are-reported-once-per-hook": async () => {
      const { log, warnings } = keepingLog();
      for (const reply of [{ allow: true }, { decision: { action: "deny_tool" } }, { args: {} }, { hook_result: {} }]) {
        warnings.length = 0;
        const manager = await managerOf({ h: remoteHook(["before_tool"], () => reply).port }, { log });
        await manager.beforeTool(toolCall());
        await manager.beforeTool(toolCall());
        equal(
          warnings.map(({ fields }) => fields),
          [{ hook: "h", keys: Object.keys(reply).join(", ") }],
        );
        ok(warnings[0]?.message.includes("docs/protocol.md"), "where to look is not named");
        ok(!warnings[0]?.message.includes("set "), "there is no such key in a config");
      }
    },
    "names-of-another-dialect-are-reported-beside-an-action-too": async () => {
      const { log, warnings } = keepingLog();
      const reply = { action: "modify", args: { command: "ls" } };
      const manager = await managerOf({ h: remoteHook(["before_tool"], () => reply).port }, { log });
      await manager.beforeTool(toolCall());
      equal(warnings[0]?.fields, { hook: "h", keys: "args" });
    },
    "names-of-another-dialect-are-reported-for-approvals": async () => {
      const { log, warnings } = keepingLog();
      const manager = await managerOf({ h: remoteHook(["approve_tool"], () => ({ allow: true })).port }, { log });
      const { approved, reason } = await manager.approveTool(toolCall());
      equal([approved, reason, warnings[0]?.fields], [false, "", { hook: "h", keys: "allow" }]);
    },
    "a-hook-mounted-anew-is-reported-anew": async () => {
      const { log, warnings } = keepingLog();
      const manager = await managerOf({ h: remoteHook(["before_tool"], () => ({ args: {} })).port }, { log });
      await manager.beforeTool(toolCall());
      await manager.mount(remoteHook(["before_tool"], () => ({ args: {} })).port, { name: "h" });
      await manager.beforeTool(toolCall());
      equal(warnings.length, 2);
    },
    "keys-in-another-case-are-not-accepted-and-reported": async () => {
      for (const reply of [{ Action: "deny_tool" }, { action: "modify", Call: { tool: "b" } }]) {
        const { log, warnings } = keepingLog();
        const manager = await managerOf({ h: remoteHook(["before_tool"], () => reply).port }, { log });
        const decision = await manager.beforeTool(toolCall());
        equal([decision.action, decision.changed, warnings.length], ["continue", false, 1]);
      }
    },
    "keys-of-a-payload-in-another-case-are-not-accepted-and-reported": async () => {
      const { log, warnings } = keepingLog();
      const reply = { action: "modify", call: { Tool: "b", Arguments: {} } };
      const manager = await managerOf({ h: remoteHook(["before_tool"], () => reply).port }, { log });
      equal((await manager.beforeTool(toolCall())).changed, false);
      equal(warnings[0]?.fields["keys"], "call.Tool, call.Arguments");
    },
    "approved-in-another-case-denies-and-is-reported": async () => {
      const { log, warnings } = keepingLog();
      const manager = await managerOf({ h: remoteHook(["approve_tool"], () => ({ Approved: true })).port }, { log });
      equal([(await manager.approveTool(toolCall())).approved, warnings.length], [false, 1]);
    },
    "a-reply-nested-too-deep-is-no-verdict": async () => {
      for (const levels of [513, 10_000]) {
        const args = JSON.parse(`${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`) as Record<string, unknown>;
        const { port } = remoteHook(["before_tool"], () => null);
        const deep = { ...port, call: async () => ({ action: "modify", call: { arguments: args } }) };
        const decision = await (await managerOf({ deep })).beforeTool(toolCall());
        equal([decision.changed, ...outcomesOf(decision)], [false, "deep: bad_result"]);
      }
    },
    "the-same-depth-is-too-deep-wherever-the-hook-runs": async () => {
      for (const [levels, outcome] of [
        [512, "modify"],
        [513, "bad_result"],
      ] as const) {
        const reply = { call: { arguments: nested(levels) } };
        const far = await managerOf({ h: remoteHook(["before_tool"], () => reply).port });
        const near = await managerOf({ h: { beforeTool: () => reply } });
        for (const manager of [far, near]) equal(outcomesOf(await manager.beforeTool(toolCall())), [`h: ${outcome}`]);
      }
    },
    "the-greeting-has-name-version-and-modes-in-order": async () => {
      equal(HELLO_METHOD, "hook.hello");
      const modes = toModes(new Set(["approve_tool", "after_tool", "before_llm"] as const), true);
      equal(encodeHello("gate", modes), '{"name":"gate","version":1,"modes":["observe","llm","tool","approve"]}');
      equal(toModes(new Set(["after_llm"] as const), false), ["llm"]);
      equal(toModes(new Set(["before_tool"] as const), false), ["tool"]);
    },
    "any-object-or-nothing-accepts-the-greeting": async () => {
      for (const result of [undefined, null, {}, { ok: false }]) acceptHello(result);
    },
    "anything-else-refuses-the-greeting": async () => {
      for (const result of [[], "ok", 1, true]) {
        let kind: unknown;
        try {
          acceptHello(result);
        } catch (error) {
          kind = Reflect.get(error as object, "kind");
        }
        equal(kind, "bad_result");
      }
    },
    "what-a-served-hook-returns-is-judged-by-its-caller": async () => {
      for (const reply of [5, [], "deny_tool", true]) {
        const handle = createHookHandler({ beforeTool: () => reply as never });
        equal(await handle("hook.before_tool", toolCall()), reply);
      }
      for (const reply of [undefined, null]) {
        const handle = createHookHandler({ beforeTool: () => reply });
        equal(await handle("hook.before_tool", toolCall()), {});
      }
    },
    "a-method-is-the-point-s-name": async () => {
      equal([toMethod("before_llm"), toMethod("approve_tool")], ["hook.before_llm", "hook.approve_tool"]);
    },
  },
);
