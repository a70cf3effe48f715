import { LifecycleManager } from "../../src/jcli/index.ts";
import {
  createCompositeHost,
  type Hook,
  type HookContext,
  type HookHost,
  HookManager,
} from "../../src/picoclaw/index.ts";
import type { OnDecision } from "../../src/chain/index.ts";
import type { Case } from "./case.ts";
import { equal, ok, rejects } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { callText, errorOf, gatewayOf, post } from "./gateway-fixture.ts";
import { type Bench, commandsAt, createBench, fails, prints, type Script } from "./jcli-fixture.ts";

const SOURCE = "YAML hook system, section 2; hooks over HTTP, section 3";

/** A host of both systems: hooks of the points by name, and one command at an event. */
export async function bothOf(
  scripts: Readonly<Record<string, Script>>,
  hooks: Readonly<Record<string, Hook>> = {},
  onDecision?: OnDecision,
): Promise<{ readonly host: HookHost; readonly bench: Bench }> {
  const bench = createBench(scripts);
  const files = Object.keys(scripts).map((event) => [event, [{ command: event, on_error: "abort" }]]);
  bench.load("user", JSON.stringify(Object.fromEntries(files)));
  const manager = new HookManager({ onDecision });
  for (const [name, hook] of Object.entries(hooks)) await manager.mount(hook, { name });
  return { host: createCompositeHost({ hooks: manager, lifecycle: bench.manager, onDecision }), bench };
}

const messages = [
  { role: "system", content: "be good" },
  { role: "user", content: "hi" },
  { role: "assistant", tool_calls: [{ id: "1", type: "function", function: { name: "ls", arguments: "{}" } }] },
  { role: "tool", content: "a", tool_call_id: "1" },
];
const call = { tool: "Bash", arguments: { command: "ls" }, meta: { SessionKey: "s" } };
const outcome = { tool: "Bash", result: { for_llm: "out" } };

const outcomesOf = ({
  trace,
}: {
  trace: { records: readonly { point: string; outcome: string }[] };
}): readonly string[] => trace.records.map((record) => `${record.point} ${record.outcome}`);

/** Both systems as one host. */
export const compositeCases: readonly Case[] = casesOf(
  { topic: "composite", source: SOURCE },
  {
    "both-share-the-time-that-the-host-waits": async () => {
      let nowMs = 0;
      const now = (): number => nowMs;
      const left: number[] = [];
      const manager = new HookManager({ now });
      const spend = (_payload: unknown, scope: HookContext): undefined => {
        left.push(scope.remainingMs);
        nowMs += 300;
      };
      await manager.mount({ beforeTool: spend, afterTool: spend, beforeLlm: spend, approveTool: spend }, { name: "a" });
      const lifecycle = new LifecycleManager({ now });
      for (const event of ["pre_tool_execution", "post_tool_execution", "pre_llm_request"] as const) {
        lifecycle.addBuiltin(event, (_context, scope) => void left.push(scope.remainingMs), { name: event });
      }
      const host = createCompositeHost({ hooks: manager, lifecycle, now });
      await host.beforeTool(call, { timeoutMs: 1000 });
      await host.afterTool(outcome, { timeoutMs: 1000 });
      await host.beforeLlm({ model: "m" }, { timeoutMs: 1000 });
      equal(left.splice(0), [1000, 700, 1000, 700, 1000, 700]);
      await host.checkTool(call, { timeoutMs: 1000 });
      equal(left.splice(0), [1000, 700, 700]);
      // Nothing is left for the hooks of the event: they give no verdict, and are skipped as by default.
      const { action, trace } = await host.beforeTool(call, { timeoutMs: 300 });
      equal([action, left.splice(0)], ["continue", [300]]);
      equal(
        trace.records.map(({ point, kind }) => [point, kind]),
        [
          ["before_tool", "timeout"],
          ["pre_tool_execution", "timeout"],
        ],
      );
      await host.run({ event: "pre_tool_execution", tool_name: "x" } as never, { timeoutMs: 200 });
      await host.beforeTool(call);
      equal(left, [200, 5000, 10_000]);
    },
    "pre-llm-request-follows-before-llm": async () => {
      const seen: unknown[] = [];
      const script: Script = (context) => {
        seen.push(context);
        return JSON.stringify({
          system_prompt: "be better",
          additional_context: "it is late",
          inject_messages: [{ role: "user", content: "more" }],
        });
      };
      const { host } = await bothOf(
        { pre_llm_request: script },
        { a: { beforeLlm: () => ({ request: { model: "m2" } }) } },
      );
      const decision = await host.beforeLlm({ model: "m", messages, meta: { SessionKey: "s" } });
      const flat = { role: "assistant", tool_calls: [{ id: "1", name: "ls", arguments: "{}" }] };
      equal(seen, [
        {
          event: "pre_llm_request",
          messages: [messages[1], flat, messages[3]],
          system_prompt: "be good",
          model: "m2",
          session_id: "s",
          cwd: "/work",
        },
      ]);
      const [, ...rest] = messages;
      const prompt = { role: "system", content: "be better\n\nit is late" };
      equal(decision.request.messages, [prompt, ...rest, { role: "user", content: "more" }]);
      equal([decision.changed, decision.action], [true, "continue"]);
      equal(outcomesOf(decision), ["before_llm modify", "pre_llm_request modify"]);
    },
    "messages-are-replaced-and-come-back-as-models-take-them": async () => {
      const given = [{ role: "assistant", content: "x", tool_calls: [{ id: "9", name: "t", arguments: "{}" }] }];
      const { host } = await bothOf({ pre_llm_request: prints({ messages: given }) });
      const { request } = await host.beforeLlm({ model: "m", messages });
      const back = {
        role: "assistant",
        content: "x",
        tool_calls: [{ id: "9", type: "function", function: { name: "t", arguments: "{}" } }],
      };
      equal(request.messages, [messages[0], back]);
    },
    "nothing-changed-is-the-same-request": async () => {
      const { host } = await bothOf({ pre_llm_request: prints({}) });
      const { request, changed } = await host.beforeLlm({ model: "m", messages });
      ok(request.messages === messages && !changed, "the messages were copied");
    },
    "a-point-that-ends-the-turn-runs-no-event": async () => {
      const { host, bench } = await bothOf(
        { pre_tool_execution: prints({}) },
        { a: { beforeTool: () => ({ action: "deny_tool" }) } },
      );
      equal([(await host.checkTool(call)).action, bench.commands.length], ["deny_tool", 0]);
    },
    "post-llm-response-changes-and-sends-back": async () => {
      const { host } = await bothOf({ post_llm_response: prints({ assistant_output: "b", system_message: "m" }) });
      const changed = await host.afterLlm({ model: "m", response: { content: "a", custom: 1 } });
      equal(
        [changed.response.response?.content, changed.response.response?.["custom"], changed.system_message],
        ["b", 1, "m"],
      );
      const refusing = await bothOf({ post_llm_response: prints({ action: "stop", retry_feedback: "again" }) });
      const refused = await refusing.host.afterLlm({ model: "m", response: { content: "a" } });
      equal([refused.action, refused.retry_feedback, refused.reason], ["abort_turn", "again", "again"]);
    },
    "an-answer-is-seen-with-the-conversation-it-answers": async () => {
      const { host, bench } = await bothOf({ post_llm_response: prints({}) });
      const meta = { TurnID: "t", Iteration: 1 };
      for (const model of ["a", "b"]) await host.beforeLlm({ model, messages, meta: { ...meta, TurnID: model } });
      await host.afterLlm({ model: "a", response: { content: "x" }, meta: { ...meta, TurnID: "a" } });
      await host.afterLlm({ model: "c", response: { content: "x" }, meta: { ...meta, TurnID: "c" } });
      const seen = bench.commands.map(({ input }) => (JSON.parse(input) as { messages?: unknown[] }).messages?.length);
      equal(seen, [3, undefined]);
    },
    "pre-tool-execution-comes-between-before-tool-and-approval": async () => {
      const approved: unknown[] = [];
      const { host } = await bothOf(
        {
          pre_tool_execution: ({ tool_arguments }) =>
            JSON.stringify({ tool_arguments: JSON.stringify({ was: tool_arguments }) }),
        },
        {
          a: {
            beforeTool: () => ({ call: { arguments: { command: "pwd" } } }),
            approveTool: ({ arguments: args }) => ({ approved: approved.push(args) > 0 }),
          },
        },
      );
      const check = await host.checkTool(call);
      equal(
        [check.approved, check.changed, check.call.arguments, approved],
        [true, true, { was: '{"command":"pwd"}' }, [{ was: '{"command":"pwd"}' }]],
      );
      equal(outcomesOf(check), ["before_tool modify", "pre_tool_execution modify", "approve_tool approved"]);
    },
    "skip-denies-and-stop-ends-the-turn-and-nobody-approves": async () => {
      for (const [script, action] of [
        [prints({ action: "skip", system_message: "no" }), "deny_tool"],
        [prints({ action: "stop" }), "abort_turn"],
        [fails, "abort_turn"],
      ] as const) {
        let asked = 0;
        const { host } = await bothOf(
          { pre_tool_execution: script },
          { a: { approveTool: () => ({ approved: (asked += 1) > 0 }) } },
        );
        const check = await host.checkTool(call);
        equal([check.action, check.approved, asked], [action, false, 0]);
        equal((await host.beforeTool(call)).action, action);
        ok(check.reason.includes("user.pre_tool_execution[0]"), check.reason);
      }
    },
    "arguments-that-are-no-object-never-run": async () => {
      for (const tool_arguments of ["[1]", "{", "", "null"]) {
        const { host } = await bothOf({ pre_tool_execution: prints({ tool_arguments }) });
        const check = await host.checkTool(call);
        equal([check.action, check.approved], ["deny_tool", false]);
      }
    },
    "after-a-tool-by-how-it-ended": async () => {
      const { host, bench } = await bothOf({
        post_tool_execution: prints({ tool_result: "new" }),
        post_tool_execution_failure: prints({ tool_error: "worse", additional_context: "try ls" }),
      });
      equal((await host.afterTool(outcome)).outcome.result?.for_llm, "new");
      const failed = await host.afterTool({ tool: "Bash", result: { for_llm: "bad", is_error: true } });
      equal([failed.outcome.result?.for_llm, failed.outcome.result?.is_error], ["worse\n\ntry ls", true]);
      equal(
        bench.commands.map(({ command }) => command),
        ["post_tool_execution", "post_tool_execution_failure"],
      );
    },
    "a-manager-alone-has-no-yaml-hooks": async () => {
      const { result, halted, trace } = await new HookManager().run({ event: "stop" });
      equal([result, halted, trace.records], [{}, false, []]);
      const closed = new HookManager();
      await closed.close();
      await rejects(closed.run({ event: "stop" }), "ERR_CLOSED");
    },
    "hook-run-over-rpc": async () => {
      const { host } = await bothOf({ stop: prints({ retry_feedback: "go on" }), session_start: prints({}) });
      const gateway = await gatewayOf({}, { host });
      const { json } = await post(gateway, callText("hook.run", { event: "stop", user_input: "x" }));
      const { result } = json as { result: { retry_feedback: string; halted: boolean; trace: { records: object[] } } };
      equal([result.retry_feedback, result.halted, result.trace.records.length], ["go on", false, 1]);
      const told = await post(gateway, callText("hook.run", { event: "session_start" }));
      equal((told.json as { result: { trace: { records: object[] } } }).result.trace.records, []);
      for (const params of [
        {},
        { event: "stops" },
        { event: "stop", messages: {} },
        { event: "stop", messages: [{ role: 1 }] },
        [],
      ]) {
        equal(errorOf((await post(gateway, callText("hook.run", params))).json).code, -32602);
      }
    },
    "a-caller-from-elsewhere-does-not-choose-the-directory": async () => {
      const { host, bench } = await bothOf({ stop: prints({}) });
      await post(await gatewayOf({}, { host }), callText("hook.run", { event: "stop", cwd: "/etc" }));
      await host.run({ event: "stop", cwd: "/own" });
      equal(
        bench.commands.map(({ cwd, env }) => [cwd, env["JCLI_CWD"]]),
        [
          ["/work", "/work"],
          ["/own", "/own"],
        ],
      );
    },
    "one-file-is-one-call-each": async () => {
      const { host, bench } = await bothOf({ pre_tool_execution: prints({}) });
      bench.load("project", commandsAt("pre_tool_execution", "pre_tool_execution"));
      equal(outcomesOf(await host.checkTool(call)), ["pre_tool_execution continue", "pre_tool_execution continue"]);
    },
  },
);
