import { type ModelResponse, type Message, TurnAbortedError } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { fails, prints, type Script } from "./jcli-fixture.ts";
import { casesOfTurns, nextTurn, ranOf, request, type Run } from "./turn-stage.ts";

const say = (content: string) => async (): Promise<ModelResponse> => ({ content });
const call = { id: "c", function: { name: "Bash", arguments: '{"command":"ls"}' } };

const RUNS: Readonly<Record<string, Run>> = {
  "both-systems-in-the-documented-order": async (stage) => {
    const order: string[] = [];
    const note =
      (name: string): Script =>
      () => {
        order.push(name);
        return "";
      };
    const events = [
      "pre_send_message",
      "pre_llm_request",
      "post_llm_response",
      "pre_tool_execution",
      "post_tool_execution",
      "stop",
    ];
    const { turn } = await stage(Object.fromEntries(events.map((event) => [event, note(event)])), {
      hooks: {
        a: {
          beforeLlm: () => void order.push("before_llm"),
          afterLlm: () => void order.push("after_llm"),
          beforeTool: () => void order.push("before_tool"),
          approveTool: () => ({ approved: order.push("approve_tool") > 0 }),
          afterTool: () => void order.push("after_tool"),
        },
      },
    });
    await turn.userMessage("hi");
    await turn.llm(request, async () => {
      order.push("model");
      return { content: "" };
    });
    await turn.tool(call, async () => {
      order.push("tool");
      return "done";
    });
    await turn.stop();
    equal(order, [
      "pre_send_message",
      "before_llm",
      "pre_llm_request",
      "model",
      "after_llm",
      "post_llm_response",
      "before_tool",
      "pre_tool_execution",
      "approve_tool",
      "tool",
      "after_tool",
      "post_tool_execution",
      "stop",
    ]);
  },
  "a-user-message-is-changed-and-told": async (stage) => {
    const { turn, host, bench, shown } = await stage({
      pre_send_message: ({ user_input = "" }) => JSON.stringify({ user_input: `${user_input}!`, system_message: "m" }),
      post_send_message: prints({ user_input: "ignored" }),
    });
    equal(await turn.userMessage("hi", { messages: request.messages }), { status: "sent", text: "hi!" });
    await host.flush(1000);
    for (let round = 0; ranOf(bench).length < 2 && round < 100; round += 1) await nextTurn();
    equal(
      bench.commands.map(({ input }) => (JSON.parse(input) as { user_input: string }).user_input),
      ["hi", "hi!"],
    );
    equal(shown, ["pre_send_message: m"]);
  },
  "a-stopped-user-message-is-not-sent": async (stage) => {
    for (const [script, feedback] of [
      [prints({ action: "stop", retry_feedback: "no names" }), "no names"],
      [fails, undefined],
    ] as const) {
      const { turn, bench } = await stage({ pre_send_message: script, post_send_message: prints({}) });
      const step = await turn.userMessage("hi");
      equal(step, { status: "stopped", text: "hi", ...(feedback !== undefined && { feedback }) });
      await rejects(turn.llm(request, say("x")), "ERR_TURN_ABORTED");
      equal([ranOf(bench), turn.status], [["pre_send_message"], "error"]);
    }
  },
  "pre-llm-request-changes-what-the-model-is-asked": async (stage) => {
    const { turn } = await stage({
      pre_llm_request: prints({
        system_prompt: "p",
        additional_context: "a",
        inject_messages: [{ role: "user", content: "i" }],
        retry_feedback: "f",
      }),
    });
    let asked: unknown;
    await turn.llm(request, async ({ messages }) => {
      asked = messages;
      return { content: "" };
    });
    equal(asked, [
      { role: "system", content: "p\n\na" },
      ...request.messages,
      { role: "user", content: "i" },
      { role: "user", content: "f" },
    ]);
  },
  "pre-llm-request-stops-the-turn": async (stage) => {
    const { turn, shown } = await stage({
      pre_llm_request: prints({ action: "stop", retry_feedback: "why", system_message: "m" }),
    });
    const error = await turn.llm(request, () => Promise.reject(new Error("asked"))).catch((reason: unknown) => reason);
    ok(error instanceof TurnAbortedError && error.reason === "why", "a soft abort with the reason");
    equal(shown, ["before_llm: m"]);
  },
  "an-answer-that-is-sent-back-is-given-again": async (stage) => {
    const { turn } = await stage({
      post_llm_response: ({ assistant_output }) =>
        assistant_output === "bad"
          ? JSON.stringify({ action: "stop", retry_feedback: "better" })
          : JSON.stringify({ assistant_output: "best" }),
    });
    const asked: (readonly Message[] | undefined)[] = [];
    const step = await turn.llm(request, async ({ messages }) => {
      asked.push(messages);
      return { content: asked.length === 1 ? "bad" : "good" };
    });
    equal([step.text, step.message], ["best", { role: "assistant", content: "best" }]);
    equal(asked, [
      request.messages,
      [...request.messages, { role: "assistant", content: "bad" }, { role: "user", content: "better" }],
    ]);
  },
  "an-answer-is-sent-back-three-times-and-no-more": async (stage) => {
    for (const [setting, count] of [
      [{}, 4],
      [{ maxRetryCount: 0 }, 1],
    ] as const) {
      const { turn } = await stage(
        { post_llm_response: prints({ action: "stop", retry_feedback: "better" }) },
        setting,
      );
      let asked = 0;
      const error = await turn
        .llm(request, async () => ({ content: `${(asked += 1)}` }))
        .catch((reason: unknown) => reason);
      ok(error instanceof TurnAbortedError, "the turn ends");
      equal([asked, error.reason], [count, `the answer was sent back ${count} times: better`]);
    }
  },
  "post-llm-response-stops-the-turn": async (stage) => {
    const { turn } = await stage({ post_llm_response: prints({ action: "stop" }) });
    await rejects(turn.llm(request, say("x")), "ERR_TURN_ABORTED");
  },
  "a-skipped-tool-does-not-run-and-the-turn-goes-on": async (stage) => {
    const { turn, shown } = await stage({ pre_tool_execution: prints({ action: "skip", system_message: "left out" }) });
    const step = await turn.tool(call, () => Promise.reject(new Error("it ran")));
    equal(
      [step.status, step.result.is_error, shown, turn.status],
      ["denied", true, ["before_tool: left out"], "completed"],
    );
  },
  "a-guard-that-fails-under-abort-ends-the-turn": async (stage) => {
    const { turn } = await stage({ pre_tool_execution: fails });
    let ran = 0;
    await rejects(
      turn.tool(call, async () => `${(ran += 1)}`),
      "ERR_TURN_ABORTED",
    );
    equal([ran, turn.status], [0, "error"]);
  },
  "a-tool-runs-with-the-arguments-of-the-hooks": async (stage) => {
    const { turn } = await stage({
      pre_tool_execution: prints({ tool_arguments: '{"command":"pwd"}' }),
      post_tool_execution: prints({ tool_result: "r" }),
    });
    const step = await turn.tool(call, async ({ arguments: args }) => String(args["command"]));
    equal([step.status, step.message.content], ["executed", "r"]);
  },
  "a-failed-tool-has-its-own-event": async (stage) => {
    const { turn, bench } = await stage({
      post_tool_execution: prints({}),
      post_tool_execution_failure: ({ tool_error }) =>
        JSON.stringify({ tool_error: `${tool_error}?`, additional_context: "c" }),
    });
    const step = await turn.tool(call, () => Promise.reject(new Error("boom")));
    equal(
      [step.message.content, step.result.is_error, ranOf(bench)],
      ["boom?\n\nc", true, ["post_tool_execution_failure"]],
    );
  },
};

/** The steps of a turn with the hooks of both systems. */
export const turnLifecycleCases: readonly Case[] = casesOfTurns(RUNS);
