import type { LlmResponseDecision } from "./host.ts";
import type { LlmRequest, Message, ModelResponse } from "./payload.ts";
import { toRequestPayload, toResponsePayload } from "./turn-payload.ts";
import type { TurnState } from "./turn-state.ts";
import { type CallModel, type LlmStep, toText, type TurnRequest } from "./turn-step.ts";

/**
 * Asks the model: before_llm and pre_llm_request, `callModel`, after_llm and post_llm_response. An answer that hooks send
 * back with feedback is asked for again, with both behind the messages; it is in no step that is returned.
 */
export async function askModel(turn: TurnState, given: TurnRequest, callModel: CallModel): Promise<LlmStep> {
  let request = given;
  for (let retryCount = 0; ; retryCount += 1) {
    const { asked, answer, after } = await askOnce(turn, request, callModel);
    const feedback = after.action === "hard_abort" ? undefined : after.retry_feedback;
    if (feedback === undefined) {
      await turn.assertNotAborted("after_llm", after);
      const response = after.response.response ?? answer;
      turn.emit("llm_response", toResponsePayload(response));
      return toStep(response);
    }
    turn.show("after_llm", after);
    if (retryCount >= turn.maxRetryCount) {
      const reason = `the answer was sent back ${retryCount + 1} times: ${feedback}`;
      await turn.abort("after_llm", { reason, hard: false });
    }
    request = { ...given, model: asked.model, messages: toRetry(given.messages, { answer, feedback }) };
  }
}

interface Asked {
  readonly asked: LlmRequest;
  readonly answer: ModelResponse;
  readonly after: LlmResponseDecision;
}

async function askOnce(turn: TurnState, request: TurnRequest, callModel: CallModel): Promise<Asked> {
  turn.assertGoing();
  const { host, origin } = turn;
  const meta = turn.metaOf("turn.llm.request");
  const before = await turn.ask((options) => host.beforeLlm({ ...request, ...origin, meta }, options));
  await turn.assertNotAborted("before_llm", before);
  turn.iterationCount += 1;
  const { request: asked } = before;
  turn.emit("llm_request", toRequestPayload(asked));
  const answer = await turn.guard("llm", () => callModel(asked, { signal: turn.signal }));
  const response = { model: asked.model, response: answer, ...origin, meta: { ...meta, Source: "turn.llm.response" } };
  const after = await turn.ask((options) => host.afterLlm(response, options));
  turn.assertGoing();
  return { asked, answer, after };
}

/** The refused answer without its tool calls, which have no results, and what has to be done better. */
function toRetry(
  messages: readonly Message[] = [],
  { answer, feedback }: { readonly answer: ModelResponse; readonly feedback: string },
): readonly Message[] {
  const refused = { role: "assistant", content: answer.content ?? "" };
  return [...messages, refused, { role: "user", content: feedback }];
}

function toStep(response: ModelResponse): LlmStep {
  const toolCalls = response.tool_calls ?? [];
  const message: Message = {
    role: "assistant",
    content: response.content ?? "",
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
  return { response, text: toText(response.content), message, toolCalls };
}
