import { isHookgateError } from "../../src/errors.ts";
import { answerHost } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, managerOf, META, nested, remoteHook, toolCall } from "./fixture.ts";

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

async function messageOf(method: string, params: unknown): Promise<string> {
  const manager = await managerOf({});
  const error: unknown = await answerHost(manager, { method, params }).catch((thrown: unknown) => thrown);
  if (!isHookgateError(error)) throw new Error(`no error for ${method}`);
  equal(error.code, "ERR_INVALID_PARAMS");
  return error.message;
}

/** Each method a host calls with a payload, and the least it may send. */
const LEAST: Readonly<Record<string, unknown>> = {
  "hook.before_llm": { model: "m" },
  "hook.after_llm": { model: "m" },
  "hook.before_tool": { tool: "exec" },
  "hook.approve_tool": { tool: "exec" },
  "hook.check_tool": { tool: "exec" },
  "hook.after_tool": { tool: "exec" },
  "hook.event": { Kind: "turn_start" },
  "hook.runtime_event": { kind: "agent.turn.start" },
};

/** What a host may send. */
export const paramsCases: readonly Case[] = casesOf(
  { topic: "params", source: "The gateway's interface, section 3, Errors" },
  {
    "the-least-is-enough": async () => {
      const manager = await managerOf({});
      for (const [method, params] of Object.entries(LEAST)) await answerHost(manager, { method, params });
    },
    "no-object-is-refused": async () => {
      for (const method of Object.keys(LEAST)) {
        for (const params of [undefined, null, 5, "x", true, [], [toolCall()]]) {
          ok((await messageOf(method, params)).startsWith("params: "), "the path is missing");
        }
      }
    },
    "what-is-missing-is-named": async () => {
      ok((await messageOf("hook.before_llm", {})).startsWith("params.model: "), "model is not named");
      for (const method of ["hook.before_tool", "hook.check_tool", "hook.approve_tool", "hook.after_tool"]) {
        for (const params of [{}, { tool: "" }, { tool: null }, { tool: 5 }]) {
          ok((await messageOf(method, params)).startsWith("params.tool: "), "tool is not named");
        }
      }
      for (const params of [{}, { Kind: "" }, { Kind: 5 }, { Kind: "x".repeat(129) }]) {
        ok((await messageOf("hook.event", params)).startsWith("params.Kind: "), "Kind is not named");
      }
    },
    "every-problem-is-named-with-its-path": async () => {
      const params = {
        model: 5,
        messages: [{ role: "user" }, { role: 5 }],
        tools: [{ type: "function", function: {} }],
        meta: { AgentID: 5 },
      };
      const paths = (await messageOf("hook.before_llm", params))
        .split("; ")
        .map((problem) => problem.slice(0, problem.indexOf(": ")));
      equal(paths, ["params.meta.AgentID", "params.model", "params.messages.1.role", "params.tools.0.function.name"]);
    },
    "a-message-never-holds-a-value": async () => {
      const message = await messageOf("hook.before_tool", {
        tool: 5,
        arguments: "s3cret",
        channel: { token: "s3cret" },
      });
      ok(!message.includes("s3cret"), "a value is shown");
    },
    "wrong-types-are-refused": async () => {
      const wrong: readonly (readonly [string, object])[] = [
        ["hook.before_tool", { arguments: [] }],
        ["hook.before_tool", { hook_result: "x" }],
        ["hook.before_tool", { channel: 5 }],
        ["hook.approve_tool", { meta: [] }],
        ["hook.after_tool", { duration: 1.5 }],
        ["hook.after_tool", { result: { is_error: "no" } }],
        ["hook.before_llm", { graceful_terminal: "no" }],
        ["hook.after_llm", { response: { content: 5 } }],
        ["hook.event", { Meta: "x" }],
        ["hook.event", { Meta: { AgentID: {} } }],
        ["hook.runtime_event", { kind: 5 }],
        ["hook.runtime_event", { scope: "x" }],
        ["hook.runtime_event", { scope: { agent_id: 5 } }],
        ["hook.runtime_event", { correlation: { trace_id: {} } }],
      ];
      for (const [method, fields] of wrong) await messageOf(method, { ...(LEAST[method] as object), ...fields });
    },
    "null-is-what-is-absent": async () => {
      const hook = remoteHook(
        ["before_tool", "approve_tool", "before_llm", "after_llm", "after_tool"],
        () => ({ approved: true }),
        {
          observe: ["*"],
        },
      );
      const manager = await managerOf({ hook: hook.port });
      const nulls = { meta: null, channel: null, chat_id: null };
      const meta = EMPTY_META;
      await answerHost(manager, {
        method: "hook.check_tool",
        params: { ...nulls, tool: "exec", arguments: null, hook_result: null },
      });
      equal(
        [hook.read(0), hook.read(1)],
        [
          { meta, tool: "exec", arguments: {} },
          { meta, tool: "exec", arguments: {} },
        ],
      );
      const request = { ...nulls, model: "m", messages: null, tools: null, options: null, graceful_terminal: null };
      await answerHost(manager, { method: "hook.before_llm", params: request });
      equal(hook.read(2), { meta, model: "m" });
      await answerHost(manager, { method: "hook.after_llm", params: { ...nulls, model: "m", response: null } });
      equal(hook.read(3), { meta, model: "m", response: { content: "", finish_reason: "" } });
      await answerHost(manager, {
        method: "hook.after_tool",
        params: { ...nulls, tool: "exec", result: null, duration: null },
      });
      equal(hook.read(4), { meta, tool: "exec", arguments: {}, result: { ...RESULT, for_llm: "" }, duration: 0 });
      await answerHost(manager, {
        method: "hook.event",
        params: { Kind: "turn_end", Time: null, Meta: null, Payload: null },
      });
      await manager.flush(5000);
      equal(hook.sent[5]?.method, "hook.event");
    },
    "null-inside-a-payload-is-what-is-absent": async () => {
      const hook = remoteHook(["before_tool", "after_tool"], () => null);
      const manager = await managerOf({ hook: hook.port });
      const meta = { ...META, ParentTurnID: null, Iteration: null };
      await answerHost(manager, { method: "hook.before_tool", params: { tool: "exec", meta } });
      equal(hook.read(0), { tool: "exec", arguments: {}, meta: { ...META, Iteration: 0 } });
      const result = { for_llm: "x", for_user: null, silent: null, media: null };
      await answerHost(manager, { method: "hook.after_tool", params: { tool: "exec", meta: META, result } });
      equal(hook.read(1), { tool: "exec", arguments: {}, meta: META, result: RESULT, duration: 0 });
    },
    "ten-thousand-levels-are-refused": async () => {
      for (const [method, least] of Object.entries(LEAST)) {
        ok(
          (await messageOf(method, { ...(least as object), deep: nested(10_000) })).includes("512"),
          "the bound is not named",
        );
      }
    },
    "ten-thousand-levels-of-text-are-refused": async () => {
      const params: unknown = JSON.parse(`{"tool":"exec","arguments":${'{"a":['.repeat(5000)}${"]}".repeat(5000)}}`);
      await rejects(answerHost(await managerOf({}), { method: "hook.before_tool", params }), "ERR_INVALID_PARAMS");
    },
    "a-cycle-is-refused": async () => {
      const args: Record<string, unknown> = { leaf: {} };
      args["b"] = [args, args];
      args["a"] = args;
      await rejects(
        answerHost(await managerOf({}), { method: "hook.before_tool", params: toolCall(args) }),
        "ERR_INVALID_PARAMS",
      );
    },
    "a-key-named-proto-is-a-key": async () => {
      const params: unknown = JSON.parse(
        '{"tool":"exec","__proto__":{"meta":{"AgentID":"evil"}},"arguments":{"__proto__":{"x":1}}}',
      );
      const hook = remoteHook(["before_tool"], () => null);
      await answerHost(await managerOf({ hook: hook.port }), { method: "hook.before_tool", params });
      const read = hook.read(0) as Record<string, unknown>;
      equal([read["meta"], JSON.stringify(read["arguments"])], [EMPTY_META, '{"__proto__":{"x":1}}']);
      equal([Reflect.get({}, "x"), Reflect.get({}, "meta")], [undefined, undefined]);
    },
    "params-are-not-changed": async () => {
      const params = { tool: "exec", arguments: null, meta: { AgentID: "a" } };
      await answerHost(await managerOf({}), { method: "hook.before_tool", params });
      equal(params, { tool: "exec", arguments: null, meta: { AgentID: "a" } });
    },
  },
);
