import { HookgateError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import type { ToolCheckDecision } from "./host.ts";
import { toToolResult } from "./normalize.ts";
import type { Open, ToolResult } from "./payload.ts";
import { NANOSECONDS_PER_MS, toToolEndPayload } from "./turn-payload.ts";
import type { TurnState } from "./turn-state.ts";
import { MAX_SUSPENDED, readPending } from "./turn-suspend.ts";
import {
  type ExecuteTool,
  readInvocation,
  type SettledToolStep,
  toDenial,
  type ToolInvocation,
  type ToolStep,
  toToolStep,
} from "./turn-step.ts";

/**
 * Runs a tool: before_tool, pre_tool_execution and approve_tool in one question, `execute`, then after_tool and
 * post_tool_execution or its form for a tool that failed. A denied call is a result that tells the model so; one that
 * people are asked for waits, and can be resumed.
 */
export function runTool(turn: TurnState, invocation: ToolInvocation, execute: ExecuteTool): Promise<ToolStep> {
  return askAndRun(turn, readInvocation(invocation), { execute });
}

interface Running {
  readonly execute: ExecuteTool;
  /** The approval that the call has waited for. */
  readonly pending?: string;
}

async function askAndRun(
  turn: TurnState,
  call: ReturnType<typeof readInvocation>,
  { execute, pending }: Running,
): Promise<ToolStep> {
  turn.assertGoing();
  if (call.arguments === undefined) return deny(turn, call, "the arguments are not a JSON object");
  const asked = {
    tool: call.tool,
    arguments: call.arguments,
    ...turn.origin,
    meta: turn.metaOf("turn.tool"),
    ...(pending !== undefined && { approval: { id: pending } }),
  };
  const check = await turn.ask((options) => turn.host.checkTool(asked, options));
  await turn.assertNotAborted("before_tool", check);
  if (check.action === "deny_tool") {
    return deny(turn, call, toDenial("hook", check.reason), check.reason);
  }
  if (check.action === "respond") return respond(turn, call, check);
  if (!check.approved) {
    const step = deny(turn, call, toDenial("approval hook", check.reason), check.reason);
    return suspend(turn, { id: call.id, tool: call.tool, arguments: call.arguments }, { step, check });
  }
  return run(turn, { id: call.id, tool: check.call.tool, arguments: check.call.arguments ?? {} }, execute);
}

/**
 * Goes on with a call that has waited for people: it is asked about again, with the approval's id, and runs when it was
 * approved meanwhile. A call that is still pending, or is again, waits on.
 * @throws {HookgateError} `ERR_NOT_FOUND` when no call of the turn waits for this approval
 */
export async function resumeTool(turn: TurnState, pending: string, execute: ExecuteTool): Promise<ToolStep> {
  turn.assertGoing();
  const held = turn.suspended.get(pending);
  if (held === undefined) throw new HookgateError("ERR_NOT_FOUND", "no call of this turn waits for that approval");
  // Taken, so that a second attempt meanwhile cannot run it too.
  turn.suspended.delete(pending);
  let hasStarted = false;
  const executeOnce: ExecuteTool = (call, context) => {
    hasStarted = true;
    return execute(call, context);
  };
  try {
    return await askAndRun(turn, held, { execute: executeOnce, pending });
  } catch (error) {
    if (!hasStarted) turn.suspended.set(pending, held);
    throw error;
  }
}

/** The step of a call that people are asked for; that of its denial when they are not, or too many calls wait already. */
function suspend(
  turn: TurnState,
  call: Call & { readonly arguments: Open },
  { step, check }: { readonly step: SettledToolStep; readonly check: ToolCheckDecision },
): ToolStep {
  const asked = readPending(check.approval);
  const held = toJson(call.arguments);
  if (asked === undefined || held === undefined || turn.suspended.size >= MAX_SUSPENDED) return step;
  turn.suspended.set(asked.pending, { ...asked, ...call, arguments: held });
  return { ...step, status: "pending", ...asked };
}

/** A copy, since the host may go on changing its own; undefined when it is not JSON. */
function toJson(value: Open): Open | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    return isObject(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}

interface Call {
  readonly id: string;
  readonly tool: string;
}

async function run(
  turn: TurnState,
  call: Call & { readonly arguments: Open },
  execute: ExecuteTool,
): Promise<ToolStep> {
  turn.emit("tool_exec_start", { Tool: call.tool, Arguments: call.arguments });
  const startedAtMs = performance.now();
  const result = await callTool(turn, call, execute);
  const durationMs = performance.now() - startedAtMs;
  const outcome = {
    ...turn.origin,
    tool: call.tool,
    arguments: call.arguments,
    result,
    duration: Math.round(durationMs * NANOSECONDS_PER_MS),
    meta: turn.metaOf("turn.tool"),
  };
  const after = await turn.ask((options) => turn.host.afterTool(outcome, options));
  const { tool, result: final = result } = after.outcome;
  turn.emit("tool_exec_end", toToolEndPayload(tool, { result: final, durationMs }));
  await turn.assertNotAborted("after_tool", after);
  return toToolStep("executed", { id: call.id, tool, result: final });
}

async function callTool(
  turn: TurnState,
  call: { readonly tool: string; readonly arguments: Open },
  execute: ExecuteTool,
): Promise<ToolResult> {
  try {
    const result = await execute({ tool: call.tool, arguments: call.arguments }, { signal: turn.signal });
    return toToolResult(typeof result === "string" ? { for_llm: result } : result);
  } catch (error) {
    turn.assertGoing();
    return toToolResult({ for_llm: error instanceof Error ? error.message : String(error), is_error: true });
  }
}

function respond(turn: TurnState, call: Call, check: ToolCheckDecision): ToolStep {
  const result = toToolResult(check.result);
  turn.emit("tool_exec_start", { Tool: call.tool, Arguments: check.call.arguments ?? {} });
  turn.emit("tool_exec_end", toToolEndPayload(call.tool, { result, durationMs: 0 }));
  return toToolStep("responded", { id: call.id, tool: call.tool, result });
}

// oxlint-disable-next-line max-params -- the text is what the reason is by default
function deny(turn: TurnState, call: Call, text: string, reason: string = text): SettledToolStep {
  turn.emit("tool_exec_skipped", { Tool: call.tool, Reason: reason });
  return toToolStep("denied", { ...call, result: toToolResult({ for_llm: text, is_error: true }) });
}
