import { answerHost, type Hook, HOST_METHODS, type HookManager } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, managerOf, META, remoteHook, toolCall } from "./fixture.ts";

const EMPTY_META = {
  AgentID: "",
  TurnID: "",
  ParentTurnID: "",
  SessionKey: "",
  Iteration: 0,
  TracePath: "",
  Source: "",
};

const RESULT = { for_llm: "x", silent: false, is_error: false, async: false };

/** What a host with these hooks is answered, without the trace. */
async function answer(hooks: Readonly<Record<string, Hook>>, method: string, params: unknown): Promise<unknown> {
  const { trace, ...rest } = (await answerHost(await managerOf(hooks), { method, params })) as Record<string, unknown>;
  ok(trace !== undefined, "the trace is missing");
  return rest;
}

/** Each method a host calls with a payload, and the least it may send. */
const LEAST: Readonly<Record<string, unknown>> = {
  "hook.before_llm": { model: "m" },
  "hook.after_llm": { model: "m" },
  "hook.before_tool": { tool: "exec" },
  "hook.approve_tool": { tool: "exec" },
  "hook.check_tool": { tool: "exec" },
  "hook.after_tool": { tool: "exec" },
  "hook.run": { event: "stop" },
  "hook.event": { Kind: "turn_start" },
};

/** What a host is answered. */
export const rpcCases: readonly Case[] = casesOf(
  { topic: "rpc", source: "The gateway's interface, section 3, What comes back" },
  {
    "the-methods": async () => {
      equal(HOST_METHODS, [
        "hook.hello",
        "hook.before_llm",
        "hook.after_llm",
        "hook.before_tool",
        "hook.approve_tool",
        "hook.check_tool",
        "hook.after_tool",
        "hook.run",
        "hook.event",
        "hook.runtime_event",
      ]);
    },
    "an-unknown-method": async () => {
      for (const method of ["hook.shred", "before_tool", "toString", "__proto__", "", "hook.before_tool "]) {
        await rejects(answerHost(await managerOf({}), { method, params: {} }), "ERR_METHOD_NOT_FOUND");
      }
    },
    "hello-is-answered-whatever-it-says": async () => {
      for (const params of [undefined, null, {}, { name: "host", version: 1, modes: ["tool"] }]) {
        const reply = await answerHost(await managerOf({}), { method: "hook.hello", params });
        equal(reply, { ok: true, name: "hookgate", version: 1 });
      }
    },
    "unchanged-is-continue-and-no-payload": async () => {
      const hook: Hook = {
        beforeLlm: () => ({}),
        beforeTool: (call) => ({ action: "modify", call }),
        afterTool: () => null,
      };
      for (const method of ["hook.before_llm", "hook.after_llm", "hook.before_tool", "hook.after_tool"]) {
        equal(await answer({ hook }, method, LEAST[method]), { action: "continue" });
      }
    },
    "a-changed-request-comes-back-whole": async () => {
      const hook: Hook = { beforeLlm: () => ({ request: { model: "b", options: {} } }) };
      const params = {
        meta: META,
        model: "a",
        messages: [{ role: "user", content: "hi" }],
        options: { n: 1 },
        later: 1,
      };
      const request = { meta: META, model: "b", messages: params.messages, later: 1 };
      equal(await answer({ hook }, "hook.before_llm", params), { action: "modify", request });
    },
    "a-changed-response-comes-back-in-its-wrapper": async () => {
      const hook: Hook = { afterLlm: () => ({ response: { content: "b" } }) };
      const response = { meta: META, model: "m", response: { content: "b", finish_reason: "" } };
      const params = { meta: META, model: "m", response: { content: "a" } };
      equal(await answer({ hook }, "hook.after_llm", params), { action: "modify", response });
    },
    "a-changed-call-comes-back-whole": async () => {
      const hook: Hook = { beforeTool: () => ({ call: { arguments: { n: 1 } } }) };
      equal(await answer({ hook }, "hook.before_tool", toolCall()), { action: "modify", call: toolCall({ n: 1 }) });
    },
    "a-changed-result-comes-back-in-its-wrapper": async () => {
      const hook: Hook = { afterTool: () => ({ result: { for_llm: "x" } }) };
      const result = { ...toolCall(), result: RESULT, duration: 7 };
      const params = { ...toolCall(), result: { for_llm: "old" }, duration: 7 };
      equal(await answer({ hook }, "hook.after_tool", params), { action: "modify", result });
    },
    "respond-comes-back-with-call-and-result": async () => {
      const plain: Hook = { beforeTool: () => ({ action: "respond", result: RESULT }) };
      equal(await answer({ plain }, "hook.before_tool", toolCall()), {
        action: "respond",
        call: toolCall(),
        result: RESULT,
      });
      const rewriting: Hook = { beforeTool: () => ({ action: "respond", call: { tool: "b" }, result: RESULT }) };
      const call = { ...toolCall(), tool: "b" };
      equal(await answer({ rewriting }, "hook.before_tool", toolCall()), { action: "respond", call, result: RESULT });
    },
    "a-halt-comes-back-with-its-reason": async () => {
      for (const action of ["deny_tool", "abort_turn", "hard_abort"] as const) {
        const halt: Hook = { beforeTool: () => ({ action, reason: "no" }) };
        equal(await answer({ halt }, "hook.before_tool", toolCall()), { action, reason: "no" });
        const silent: Hook = { beforeTool: () => ({ action }) };
        equal(await answer({ silent }, "hook.before_tool", toolCall()), { action });
        const rewrite: Hook = { beforeTool: () => ({ call: { tool: "b" } }) };
        const call = { ...toolCall(), tool: "b" };
        equal(await answer({ rewrite, halt }, "hook.before_tool", toolCall()), { action, reason: "no", call });
      }
    },
    "an-abort-after-a-change-comes-back-with-the-payload": async () => {
      const rewrite: Hook = {
        beforeLlm: () => ({ request: { model: "b" } }),
        afterLlm: () => ({ response: { content: "b" } }),
      };
      const halt: Hook = { beforeLlm: () => ({ action: "abort_turn" }), afterLlm: () => ({ action: "hard_abort" }) };
      equal(await answer({ rewrite, halt }, "hook.before_llm", { meta: META, model: "a" }), {
        action: "abort_turn",
        request: { meta: META, model: "b" },
      });
      equal(await answer({ rewrite, halt }, "hook.after_llm", { meta: META, model: "a" }), {
        action: "hard_abort",
        response: { meta: META, model: "a", response: { content: "b", finish_reason: "" } },
      });
    },
    approvals: async () => {
      equal(await answer({}, "hook.approve_tool", toolCall()), { approved: true });
      equal(await answer({ a: { approveTool: () => ({ approved: false }) } }, "hook.approve_tool", toolCall()), {
        approved: false,
      });
      equal(
        await answer(
          { a: { approveTool: () => ({ approved: false, reason: "no" }) } },
          "hook.approve_tool",
          toolCall(),
        ),
        {
          approved: false,
          reason: "no",
        },
      );
      equal(await answer({ a: { approveTool: () => 5 as never } }, "hook.approve_tool", toolCall()), {
        approved: false,
        reason: 'tool approval hook "a" failed',
      });
    },
    "a-check-always-says-the-call-to-run": async () => {
      equal(await answer({}, "hook.check_tool", toolCall()), { action: "continue", call: toolCall(), approved: true });
      const rewrite: Hook = { beforeTool: () => ({ call: { tool: "b" } }) };
      const call = { ...toolCall(), tool: "b" };
      equal(await answer({ rewrite }, "hook.check_tool", toolCall()), { action: "modify", call, approved: true });
      const deny: Hook = { beforeTool: () => ({ action: "deny_tool", reason: "no" }) };
      equal(await answer({ rewrite, deny }, "hook.check_tool", toolCall()), {
        action: "deny_tool",
        reason: "no",
        call,
        approved: false,
      });
      const refuse: Hook = { approveTool: () => ({ approved: false, reason: "never" }) };
      equal(await answer({ refuse }, "hook.check_tool", toolCall()), {
        action: "continue",
        reason: "never",
        call: toolCall(),
        approved: false,
      });
      const respond: Hook = { beforeTool: () => ({ action: "respond", result: RESULT }) };
      equal(await answer({ respond, refuse }, "hook.check_tool", toolCall()), {
        action: "respond",
        call: toolCall(),
        result: RESULT,
        approved: true,
      });
    },
    "an-event-is-emitted": async () => {
      const hook = remoteHook([], () => null, { observe: ["*"] });
      const manager = await managerOf({ hook: hook.port });
      const params = {
        Kind: "agent.tool.exec_end",
        Time: "2026-07-01T10:00:00Z",
        Meta: { AgentID: "a" },
        Payload: { Tool: "t" },
      };
      equal(await answerHost(manager, { method: "hook.event", params }), {});
      await manager.flush(5000);
      equal(hook.read(0), { ...params, Kind: "tool_exec_end", Meta: { ...EMPTY_META, AgentID: "a" } });
    },
    "an-event-in-the-later-form-is-the-same-event": async () => {
      const sender = remoteHook([], () => null, { observe: ["*"], events: "hook.runtime_event" });
      const receiver = remoteHook([], () => null, { observe: ["*"] });
      const [first, second] = [await managerOf({ sender: sender.port }), await managerOf({ receiver: receiver.port })];
      const event = {
        Kind: "tool_exec_end",
        Time: "2026-07-01T10:00:00Z",
        Meta: { ...EMPTY_META, AgentID: "a", SessionKey: "s", TurnID: "t", ParentTurnID: "p", TracePath: "a/t" },
        Payload: { Tool: "exec" },
      };
      first.emit(event);
      await first.flush(5000);
      // What one gateway sends is what the next one is sent.
      const params = sender.read(0);
      equal(await answerHost(second, { method: "hook.runtime_event", params }), {});
      await answerHost(second, {
        method: "hook.runtime_event",
        params: { kind: "vendor.thing", time: null, scope: null, correlation: { trace_id: null }, payload: null },
      });
      await second.flush(5000);
      equal(receiver.read(0), event);
      const { Time: _, ...rest } = receiver.read(1) as { readonly Time: string };
      equal(rest, { Kind: "vendor.thing", Meta: EMPTY_META });
    },
    "the-trace-says-what-each-hook-did": async () => {
      const manager = await managerOf({
        broken: {
          beforeTool() {
            throw new Error("broken");
          },
        },
        rewrite: { beforeTool: () => ({ call: { tool: "b" } }) },
      });
      const { trace } = (await answerHost(manager, { method: "hook.before_tool", params: toolCall() })) as {
        readonly trace: { readonly id: string; readonly records: readonly { readonly ms: number }[] };
      };
      ok(typeof trace.id === "string" && trace.id !== "", "the id is missing");
      ok(
        trace.records.every(({ ms }) => typeof ms === "number" && ms >= 0),
        "a duration is missing",
      );
      const base = { source: "in-process", point: "before_tool", attempt: 1, ms: 0 };
      equal(
        trace.records.map((record) => ({ ...record, ms: 0 })),
        [
          { ...base, hook: "broken", outcome: "no_verdict", kind: "hook_error", error: "broken", failed_open: true },
          { ...base, hook: "rewrite", outcome: "modify" },
        ],
      );
    },
    "gateways-chain": async () => {
      const inner = await managerOf({
        a: { beforeTool: () => ({ call: { tool: "b" } }) },
        b: { approveTool: () => ({ approved: true }) },
      });
      const { port } = remoteHook(["before_tool", "approve_tool"], () => null);
      const asHook = { ...port, call: forward(inner) };
      const check = await (await managerOf({ inner: asHook })).checkTool(toolCall());
      equal([check.action, check.approved, check.call], ["continue", true, { ...toolCall(), tool: "b" }]);
    },
    "the-host-s-signal-is-followed": async () => {
      const manager = await managerOf({ a: { beforeTool: () => new Promise<never>(() => {}) } });
      const controller = new AbortController();
      const reply = answerHost(manager, { method: "hook.before_tool", params: toolCall(), signal: controller.signal });
      controller.abort();
      await rejects(reply, "ERR_ABORTED");
    },
    "after-close-it-is-refused": async () => {
      const manager = await managerOf({});
      await manager.close();
      await rejects(answerHost(manager, { method: "hook.before_tool", params: toolCall() }), "ERR_CLOSED");
    },
  },
);

type Call = ReturnType<typeof remoteHook>["port"]["call"];

/** Reaches the hooks of another manager as one hook, over text. */
function forward(inner: HookManager): Call {
  return async (point, current) => {
    const reply = await answerHost(inner, {
      method: `hook.${point}`,
      params: JSON.parse(JSON.stringify(current.value)),
    });
    return JSON.parse(JSON.stringify(reply)) as unknown;
  };
}
