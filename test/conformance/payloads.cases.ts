import type { Hook, HookPoint } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, managerOf, META, outcomesOf, type RemoteHook, remoteHook, toolCall } from "./fixture.ts";

const EMPTY_META = {
  AgentID: "",
  TurnID: "",
  ParentTurnID: "",
  SessionKey: "",
  Iteration: 0,
  TracePath: "",
  Source: "",
};

const FULL_RESULT = { for_llm: "x", silent: false, is_error: false, async: false };

/** A hook at one point that says nothing, and its manager. */
async function listening(
  point: HookPoint,
): Promise<{ manager: Awaited<ReturnType<typeof managerOf>>; hook: RemoteHook }> {
  const hook = remoteHook([point], () => null);
  return { manager: await managerOf({ h: hook.port }), hook };
}

/** Section 7: what goes to a hook. */
export const payloadCases: readonly Case[] = casesOf(
  { topic: "payloads", source: "PicoClaw hook semantics, section 7" },
  {
    "meta-has-every-key-always": async () => {
      for (const meta of [undefined, null, {}, { AgentID: undefined }, { AgentID: null }] as never[]) {
        const { manager, hook } = await listening("before_tool");
        await manager.beforeTool({ tool: "exec", meta });
        equal(hook.read(0), { meta: EMPTY_META, tool: "exec", arguments: {} });
      }
    },
    "meta-keys-are-pascal-case-and-unknown-ones-stay": async () => {
      const { manager, hook } = await listening("before_llm");
      await manager.beforeLlm({ meta: { ...META, Extra: [1] }, model: "m" });
      equal(hook.read(0), { meta: { ...META, Extra: [1] }, model: "m" });
    },
    "before-llm-params": async () => {
      const { manager, hook } = await listening("before_llm");
      const request = {
        meta: META,
        model: "m",
        messages: [{ role: "user", content: "hi", model_name: "x", created_at: "t", attachments: [] }],
        tools: [{ type: "function", function: { name: "f", description: "d", parameters: { type: "object" } } }],
        options: { temperature: 0 },
        channel: "cli",
        chat_id: "direct",
        graceful_terminal: true,
      };
      await manager.beforeLlm(request);
      equal([hook.sent[0]?.method, hook.read(0)], ["hook.before_llm", request]);
    },
    "before-llm-leaves-out-what-is-empty": async () => {
      const { manager, hook } = await listening("before_llm");
      const empty = { messages: [], tools: [], options: {}, channel: "", chat_id: "", graceful_terminal: false };
      await manager.beforeLlm({ meta: META, model: "", ...empty });
      equal(hook.read(0), { meta: META, model: "" });
    },
    "after-llm-params": async () => {
      const { manager, hook } = await listening("after_llm");
      const response = { content: "hi", finish_reason: "stop", usage: { total_tokens: 3 }, reasoning: "r" };
      await manager.afterLlm({ meta: META, model: "m", response, channel: "cli", chat_id: "" });
      equal(
        [hook.sent[0]?.method, hook.read(0)],
        ["hook.after_llm", { meta: META, model: "m", response, channel: "cli" }],
      );
    },
    "a-response-always-has-content-and-finish-reason": async () => {
      for (const response of [undefined, {}, { content: null }] as never[]) {
        const { manager, hook } = await listening("after_llm");
        await manager.afterLlm({ meta: META, model: "m", response });
        equal(hook.read(0), { meta: META, model: "m", response: { content: "", finish_reason: "" } });
      }
    },
    "before-tool-params": async () => {
      const { manager, hook } = await listening("before_tool");
      const call = { ...toolCall({ n: 1 }), hook_result: { for_llm: "x" } };
      await manager.beforeTool(call);
      equal([hook.sent[0]?.method, hook.read(0)], ["hook.before_tool", call]);
    },
    "arguments-absent-and-empty-are-the-same": async () => {
      for (const call of [
        { tool: "exec" },
        { tool: "exec", arguments: {} },
        { tool: "exec", arguments: null as never },
      ]) {
        const { manager, hook } = await listening("before_tool");
        const decision = await manager.beforeTool(call);
        equal(hook.read(0), { meta: EMPTY_META, tool: "exec", arguments: {} });
        equal(decision.call.arguments, {});
      }
    },
    "empty-arguments-are-never-shared-between-calls": async () => {
      const manager = await managerOf({});
      const first = await manager.beforeTool({ tool: "exec" });
      Reflect.set(first.call.arguments ?? {}, "leaked", true);
      equal((await manager.beforeTool({ tool: "exec" })).call.arguments, {});
    },
    "approve-tool-params": async () => {
      const { manager, hook } = await listening("approve_tool");
      await manager.approveTool(toolCall());
      equal([hook.sent[0]?.method, hook.read(0)], ["hook.approve_tool", toolCall()]);
    },
    "after-tool-params": async () => {
      const { manager, hook } = await listening("after_tool");
      const outcome = { ...toolCall(), result: { ...FULL_RESULT, for_user: "u", media: ["m"] }, duration: 1_500_000 };
      await manager.afterTool(outcome);
      equal([hook.sent[0]?.method, hook.read(0)], ["hook.after_tool", outcome]);
    },
    "a-duration-is-always-there": async () => {
      const { manager, hook } = await listening("after_tool");
      await manager.afterTool(toolCall());
      equal(hook.read(0), { ...toolCall(), result: { ...FULL_RESULT, for_llm: "" }, duration: 0 });
    },
    "a-result-has-every-key-that-is-always-there": async () => {
      const { manager, hook } = await listening("after_tool");
      await manager.afterTool({ ...toolCall(), result: { for_llm: "x" }, duration: 1 });
      equal(hook.read(0), { ...toolCall(), result: FULL_RESULT, duration: 1 });
    },
    "tool-parameters-are-never-null": async () => {
      for (const parameters of [undefined, null] as never[]) {
        const { manager, hook } = await listening("before_llm");
        await manager.beforeLlm({
          meta: META,
          model: "m",
          tools: [{ type: "function", function: { name: "f", parameters } }],
        });
        const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
        equal(hook.read(0), { meta: META, model: "m", tools });
      }
    },
    "content-may-be-parts-and-passes-through": async () => {
      const content = [
        { type: "text", text: "hi" },
        { type: "image_url", image_url: { url: "u" } },
      ];
      const llm = await listening("before_llm");
      await llm.manager.beforeLlm({ meta: META, model: "m", messages: [{ role: "user", content }] });
      equal(llm.hook.read(0), { meta: META, model: "m", messages: [{ role: "user", content }] });
      const after = await listening("after_llm");
      await after.manager.afterLlm({ meta: META, model: "m", response: { content } });
      equal(after.hook.read(0), { meta: META, model: "m", response: { content, finish_reason: "" } });
    },
    "a-hook-may-return-content-as-parts": async () => {
      const content = [{ type: "text", text: "new" }];
      const manager = await managerOf({
        h: remoteHook(["after_llm"], () => ({ response: { response: { content } } })).port,
      });
      equal((await manager.afterLlm({ meta: META, model: "m" })).response.response?.content, content);
    },
    "unknown-keys-pass-through-at-every-level": async () => {
      const { manager, hook } = await listening("before_llm");
      const call = {
        id: "c1",
        type: "function",
        function: { name: "f", arguments: "{}", thought_signature: "s" },
        extra_content: { g: 1 },
      };
      const messages = [
        { role: "assistant", content: "", tool_calls: [call], system_parts: [{ type: "text", x: 1 }], later: 1 },
      ];
      const tools = [{ type: "function", later: 1, function: { name: "f", strict: true, parameters: { later: 1 } } }];
      await manager.beforeLlm({ meta: META, model: "m", messages, tools, later: { a: 1 } });
      equal(hook.read(0), { meta: META, model: "m", messages, tools, later: { a: 1 } });
    },
    "a-hook-s-unknown-keys-pass-through-inside-what-it-may-change": async () => {
      const result = { ...FULL_RESULT, artifact_tags: ["a"], later: { n: 1 } };
      const manager = await managerOf({ h: remoteHook(["after_tool"], () => ({ result: { result } })).port });
      equal((await manager.afterTool(toolCall())).outcome.result, result);
    },
    "lone-surrogates-pass-through": async () => {
      const text = "a\ud800b\udc00";
      const { manager, hook } = await listening("before_tool");
      const decision = await manager.beforeTool(toolCall({ text }));
      ok(hook.sent[0]?.params.includes("\\ud800"), "the surrogate is not escaped");
      equal([hook.read(0), decision.call.arguments], [toolCall({ text }), { text }]);
    },
    "line-separators-pass-through": async () => {
      const { manager, hook } = await listening("before_tool");
      await manager.beforeTool(toolCall({ text: "\u2028\n\0" }));
      ok(!hook.sent[0]?.params.includes("\n"), "a newline is not escaped");
      equal(hook.read(0), toolCall({ text: "\u2028\n\0" }));
    },
    "five-megabytes-pass-through": async () => {
      const text = "x".repeat(5 * 1024 * 1024);
      const near: Hook = { beforeTool: ({ arguments: args }) => ({ call: { arguments: { ...args, n: 1 } } }) };
      const far = remoteHook(["before_tool"], () => null);
      const decision = await (await managerOf({ near, far: far.port })).beforeTool(toolCall({ text }));
      ok(decision.call.arguments?.["text"] === text, "the text is not the same");
      equal(far.sent[0]?.params.length, JSON.stringify(toolCall({ text, n: 1 })).length);
    },
    "what-json-cannot-hold-is-a-no-verdict-of-remote-hooks": async () => {
      const cyclic: Record<string, unknown> = {};
      cyclic["self"] = cyclic;
      for (const args of [cyclic, { n: 1n }]) {
        const far = remoteHook(["before_tool"], () => null);
        const near: Hook = { beforeTool: () => ({ action: "continue" }) };
        const decision = await (await managerOf({ near, far: far.port })).beforeTool(toolCall(args));
        equal([far.sent.length, ...outcomesOf(decision)], [0, "near: continue", "far: unencodable"]);
      }
    },
    "the-same-text-goes-to-hooks-between-which-nothing-changed": async () => {
      let encodings = 0;
      const counting = {
        toJSON() {
          encodings += 1;
          return "counted";
        },
      };
      const hooks = [1, 2, 3].map(() => remoteHook(["before_tool"], () => ({ action: "modify" })));
      const manager = await managerOf(Object.fromEntries(hooks.map(({ port }, i) => [`h${i}`, port])));
      await manager.beforeTool(toolCall({ counting }));
      equal([encodings, new Set(hooks.map(({ sent }) => sent[0]?.params)).size], [1, 1]);
    },
  },
);

/** Section 7: what comes back in a wrapper or without. */
export const wrapperCases: readonly Case[] = casesOf(
  { topic: "wrappers", source: "PicoClaw hook semantics, section 7" },
  {
    "after-llm-accepts-the-wrapper-and-the-bare-response": async () => {
      const inner = { content: "new", finish_reason: "stop" };
      for (const response of [{ response: inner }, { meta: {}, model: "x", response: inner }, inner]) {
        const manager = await managerOf({ h: remoteHook(["after_llm"], () => ({ action: "modify", response })).port });
        const decision = await manager.afterLlm({ meta: META, model: "m", response: { content: "old" } });
        equal([decision.response, decision.changed], [{ meta: META, model: "m", response: inner }, true]);
      }
    },
    "a-bare-response-may-have-tool-calls-only": async () => {
      const tool_calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
      const manager = await managerOf({ h: remoteHook(["after_llm"], () => ({ response: { tool_calls } })).port });
      const { response } = await manager.afterLlm({ meta: META, model: "m", response: { content: "old" } });
      equal(response.response, { content: "", finish_reason: "", tool_calls });
    },
    "a-wrapper-without-a-response-changes-nothing": async () => {
      const manager = await managerOf({ h: remoteHook(["after_llm"], () => ({ response: { model: "x" } })).port });
      equal((await manager.afterLlm({ meta: META, model: "m" })).changed, false);
    },
    "after-tool-accepts-the-wrapper-and-the-bare-result": async () => {
      for (const result of [
        { result: FULL_RESULT },
        FULL_RESULT,
        { for_llm: "x" },
        { tool: "", result: { for_llm: "x" } },
      ]) {
        const manager = await managerOf({ h: remoteHook(["after_tool"], () => ({ action: "modify", result })).port });
        const decision = await manager.afterTool({ ...toolCall(), result: { for_llm: "old" }, duration: 3 });
        equal(decision.outcome, { ...toolCall(), result: FULL_RESULT, duration: 3 });
      }
    },
    "an-emptied-result-has-every-key-that-is-always-there": async () => {
      for (const result of [null, {}]) {
        const manager = await managerOf({ h: remoteHook(["after_tool"], () => ({ result: { result } })).port });
        const decision = await manager.afterTool({ ...toolCall(), result: { for_llm: "old" } });
        equal([decision.outcome.result, decision.changed], [{ ...FULL_RESULT, for_llm: "" }, true]);
      }
    },
    "later-hooks-see-a-changed-result-with-every-key": async () => {
      const first = remoteHook(["after_tool"], () => ({ result: { for_llm: "x", for_user: null } }));
      const second = remoteHook(["after_tool"], () => null);
      await (await managerOf({ first: first.port, second: second.port })).afterTool(toolCall());
      equal(second.read(0), { ...toolCall(), result: FULL_RESULT, duration: 0 });
    },
    "later-hooks-see-changed-tools-with-parameters": async () => {
      const first = remoteHook(["before_llm"], () => ({
        request: { tools: [{ type: "function", function: { name: "f" } }] },
      }));
      const second = remoteHook(["before_llm"], () => null);
      await (await managerOf({ first: first.port, second: second.port })).beforeLlm({ meta: META, model: "m" });
      const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
      equal(second.read(0), { meta: META, model: "m", tools });
    },
    "a-null-inside-a-payload-is-an-absent-key": async () => {
      const message = { role: "assistant", content: null, tool_calls: null, tool_call_id: null };
      const tools = [{ type: "function", function: { name: "f", description: null, parameters: null } }];
      const manager = await managerOf({
        h: remoteHook(["before_llm"], () => ({ request: { messages: [message], tools } })).port,
      });
      const decision = await manager.beforeLlm({ meta: META, model: "m" });
      equal([outcomesOf(decision), decision.request.messages?.length], [["h: modify"], 1]);
    },
  },
);
