import {
  createTurn,
  type ExecuteTool,
  type Hook,
  type HookEvent,
  HookManager,
  type ModelResponse,
  runTurn,
  TurnAbortedError,
  type TurnOptions,
} from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";

const SOURCE = "PicoClaw hook semantics, section 5";

interface Stage {
  readonly host: HookManager;
  readonly events: HookEvent[];
  /** The kinds of the events so far, once all are delivered. */
  kinds(): Promise<readonly string[]>;
  payload(kind: string): Promise<unknown>;
}

async function createStage(...hooks: readonly Hook[]): Promise<Stage> {
  // No case waits for a deadline: what ends early must not look as if it had been late.
  const host = new HookManager({ timeouts: { interceptorMs: 86_400_000, approvalMs: 86_400_000 } });
  const events: HookEvent[] = [];
  await host.mount({ onEvent: (event) => void events.push(event) }, { name: "recorder" });
  for (const [index, hook] of hooks.entries()) await host.mount(hook, { name: `hook-${index}`, priority: index });
  const flush = (): Promise<void> => host.flush(1000);
  return {
    host,
    events,
    async kinds() {
      await flush();
      return events.map(({ Kind }) => Kind);
    },
    async payload(kind) {
      await flush();
      return events.find(({ Kind }) => Kind === kind)?.Payload;
    },
  };
}

const answerText = async (): Promise<ModelResponse> => ({ content: "hello", finish_reason: "stop" });
const call = { id: "call-1", type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } };
const answerTool = async (): Promise<ModelResponse> => ({
  content: "",
  tool_calls: [call],
  finish_reason: "tool_calls",
});
const executeOk: ExecuteTool = async () => "done";
const never: ExecuteTool = () => Promise.reject(new Error("the tool must not run"));
const request = { model: "m", messages: [{ role: "user", content: "hi" }] };

function turnCase(id: string, run: () => Promise<void>): Case {
  return { id: `turn/${id}`, source: SOURCE, run };
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function abortedBy(hook: Hook, options: TurnOptions = {}): Promise<{ stage: Stage; error: unknown }> {
  const stage = await createStage(hook);
  const error = await failure(
    runTurn(stage.host, options, async (turn) => {
      await turn.llm(request, answerTool);
      await turn.tool(call, executeOk);
      return "end";
    }),
  );
  return { stage, error };
}

/** What a host does with decisions. */
export const turnCases: readonly Case[] = [
  turnCase("events-in-order", async () => {
    const stage = await createStage();
    await runTurn(stage.host, { userMessage: "hi", channel: "cli", chatId: "1" }, async (turn) => {
      const first = await turn.llm(request, answerTool);
      for (const toolCall of first.toolCalls) await turn.tool(toolCall, executeOk);
      return (await turn.llm(request, answerText)).text;
    });
    equal(await stage.kinds(), [
      "turn_start",
      "llm_request",
      "llm_response",
      "tool_exec_start",
      "tool_exec_end",
      "llm_request",
      "llm_response",
      "turn_end",
    ]);
    equal(await stage.payload("turn_start"), { Channel: "cli", ChatID: "1", UserMessage: "hi", MediaCount: 0 });
    const end = stage.events.at(-1)?.Payload;
    ok(typeof end === "object" && end !== null && "Duration" in end, "turn_end has a duration");
    equal({ ...end, Duration: 0 }, { Status: "completed", Iterations: 2, Duration: 0, FinalContentLen: 5 });
  }),
  turnCase("llm-request-follows-before-llm", async () => {
    const stage = await createStage({ beforeLlm: () => ({ request: { model: "other", options: { max_tokens: 9 } } }) });
    const turn = createTurn(stage.host);
    await turn.llm(request, async ({ model }) => ({ content: model, reasoning_content: "why" }));
    equal(await stage.payload("llm_request"), {
      Model: "other",
      MessagesCount: 1,
      ToolsCount: 0,
      MaxTokens: 9,
      Temperature: 0,
    });
    equal(await stage.payload("llm_response"), { ContentLen: 5, ToolCalls: 0, HasReasoning: true });
  }),
  turnCase("after-llm-decides-the-response", async () => {
    const stage = await createStage({ afterLlm: () => ({ response: { content: "better" } }) });
    const { response, message } = await createTurn(stage.host).llm(request, answerText);
    equal([response.content, message], ["better", { role: "assistant", content: "better" }]);
    equal(await stage.payload("llm_response"), { ContentLen: 6, ToolCalls: 0, HasReasoning: false });
  }),
  turnCase("rewritten-call-is-executed", async () => {
    const stage = await createStage({ beforeTool: () => ({ call: { arguments: { command: "pwd" } } }) });
    const step = await createTurn(stage.host).tool(
      call,
      async ({ tool, arguments: args }) => `${tool} ${String(args["command"])}`,
    );
    equal(step.message, { role: "tool", content: "bash pwd", tool_call_id: "call-1" });
  }),
  turnCase("deny-tool-tells-the-model", async () => {
    const stage = await createStage({ beforeTool: () => ({ action: "deny_tool", reason: "not here" }) });
    const step = await createTurn(stage.host).tool(call, never);
    equal([step.status, step.result.is_error], ["denied", true]);
    equal(step.message.content, "Tool execution denied by hook: not here");
    equal(await stage.kinds(), ["turn_start", "tool_exec_skipped"]);
    equal(await stage.payload("tool_exec_skipped"), { Tool: "bash", Reason: "not here" });
  }),
  turnCase("denied-without-reason", async () => {
    const stage = await createStage({ approveTool: () => ({ approved: false }) });
    const step = await createTurn(stage.host).tool(call, never);
    equal(step.message.content, "Tool execution denied by approval hook");
  }),
  turnCase("approver-without-verdict-denies", async () => {
    const stage = await createStage({ approveTool: () => Promise.reject(new Error("down")) });
    const step = await createTurn(stage.host).tool(call, never);
    equal(step.message.content, 'Tool execution denied by approval hook: tool approval hook "hook-0" failed');
  }),
  turnCase("respond-replaces-the-tool", async () => {
    const seen: string[] = [];
    const stage = await createStage({
      beforeTool: () => ({
        action: "respond",
        result: { for_llm: "cached", response_handled: true },
        call: { tool: "renamed" },
      }),
      approveTool: () => ({ approved: seen.push("approve") < 0 }),
      afterTool: () => void seen.push("after"),
    });
    const step = await createTurn(stage.host).tool(call, never);
    equal([step.status, step.result.for_llm, step.isHandled, seen.length], ["responded", "cached", true, 0]);
    equal(await stage.kinds(), ["turn_start", "tool_exec_start", "tool_exec_end"]);
    const end = await stage.payload("tool_exec_end");
    ok(typeof end === "object" && end !== null && "Tool" in end && end.Tool === "bash", "the original tool name");
  }),
  turnCase("after-tool-sees-errors", async () => {
    const stage = await createStage({
      afterTool: ({ result }) => ({ result: { for_llm: `seen: ${result?.for_llm} ${result?.is_error}` } }),
    });
    const step = await createTurn(stage.host).tool(call, () => Promise.reject(new Error("boom")));
    equal([step.status, step.result.for_llm], ["executed", "seen: boom true"]);
  }),
  turnCase("broken-arguments-never-run", async () => {
    const stage = await createStage();
    const broken = { id: "c", function: { name: "bash", arguments: "[1]" } };
    const step = await createTurn(stage.host).tool(broken, never);
    equal([step.status, step.message.content], ["denied", "the arguments are not a JSON object"]);
  }),
  turnCase("abort-turn-fails-the-turn", async () => {
    const { stage, error } = await abortedBy({ afterLlm: () => ({ action: "abort_turn", reason: "policy" }) });
    ok(error instanceof TurnAbortedError && !error.hard, "a soft abort");
    equal(error.message, "hook aborted turn during after_llm: policy");
    equal(await stage.kinds(), ["turn_start", "llm_request", "error", "turn_end"]);
    equal(await stage.payload("error"), { Stage: "after_llm", Message: error.message });
  }),
  turnCase("abort-without-reason", async () => {
    const { error } = await abortedBy({ beforeTool: () => ({ action: "abort_turn" }) });
    ok(error instanceof TurnAbortedError, "aborted");
    equal(error.message, "hook aborted turn during before_tool: hook requested turn abort");
  }),
  turnCase("hard-abort-rolls-back", async () => {
    let rolledBack = 0;
    const rollback = (): void => void (rolledBack += 1);
    const { stage, error } = await abortedBy({ afterTool: () => ({ action: "hard_abort" }) }, { rollback });
    ok(error instanceof TurnAbortedError && error.hard, "a hard abort");
    equal(rolledBack, 1);
    await stage.kinds();
    const end = stage.events.at(-1)?.Payload;
    ok(typeof end === "object" && end !== null && "Status" in end && end.Status === "aborted", "the status is aborted");
  }),
  turnCase("nothing-goes-on-after-an-abort", async () => {
    const stage = await createStage({ beforeLlm: () => ({ action: "hard_abort" }) });
    const turn = createTurn(stage.host);
    await rejects(turn.llm(request, answerText), "ERR_TURN_ABORTED");
    ok(turn.signal.aborted, "the turn's signal aborts");
    await rejects(turn.tool(call, never), "ERR_TURN_ABORTED");
  }),
  turnCase("bot-signal-cancels-the-hooks", async () => {
    const controller = new AbortController();
    const stage = await createStage({ beforeLlm: () => new Promise(() => controller.abort()) });
    const turn = createTurn(stage.host, { signal: controller.signal });
    await rejects(turn.llm(request, answerText), "ERR_ABORTED");
    turn.end();
    await stage.kinds();
    const end = stage.events.at(-1)?.Payload;
    ok(typeof end === "object" && end !== null && "Status" in end && end.Status === "aborted", "the status is aborted");
  }),
  turnCase("model-failure-is-an-error-event", async () => {
    const stage = await createStage();
    const run = runTurn(stage.host, {}, async (turn) =>
      turn.llm(request, () => Promise.reject(new Error("503"))).then(() => "unreached"),
    );
    ok((await failure(run)) instanceof Error, "the failure reaches the bot");
    equal(await stage.kinds(), ["turn_start", "llm_request", "error", "turn_end"]);
  }),
  turnCase("ended-turn-refuses-steps", async () => {
    const stage = await createStage();
    const turn = createTurn(stage.host);
    turn.end();
    turn.end();
    await rejects(turn.llm(request, answerText), "ERR_CLOSED");
    equal(await stage.kinds(), ["turn_start", "turn_end"]);
  }),
];
