import type { ChainOutcome } from "../chain/index.ts";
import type { ApprovalDecision, LlmRequestDecision, ToolCallDecision, ToolCheckDecision, Trace } from "./host.ts";
import type { Origin, ToolApproval, ToolCall } from "./payload.ts";
import type { ApprovalHalt, InterceptorHalt } from "./reply.ts";

/** How a before_tool chain's end looks to the host, but for the call. */
export function toToolDecision({
  changed,
  halt,
  failure,
  id,
  records,
}: ChainOutcome<ToolCall, InterceptorHalt>): Omit<ToolCallDecision, "call"> {
  const trace = toTrace({ id, records });
  if (halt !== undefined) return { ...halt.verdict, changed, trace };
  if (failure === undefined) return { action: "continue", reason: "", changed, trace };
  const action = failure.effect === "deny" ? "deny_tool" : "abort_turn";
  return { action, reason: failureReason("hook", failure), changed, trace };
}

/** How any other interceptor chain's end looks to the host, but for the payload. */
export function toDecision({
  changed,
  halt,
  failure,
  id,
  records,
}: ChainOutcome<Origin, InterceptorHalt>): Omit<LlmRequestDecision, "request"> {
  const trace = toTrace({ id, records });
  if (halt !== undefined) {
    const action = halt.verdict.action === "hard_abort" ? "hard_abort" : "abort_turn";
    return { action, reason: halt.verdict.reason, changed, trace };
  }
  if (failure === undefined) return { action: "continue", reason: "", changed, trace };
  return { action: "abort_turn", reason: failureReason("hook", failure), changed, trace };
}

/** How an approval chain's end looks to the host. */
export function toApprovalDecision({
  halt,
  failure,
  id,
  records,
  said,
}: ChainOutcome<ToolApproval, ApprovalHalt>): ApprovalDecision {
  const trace = toTrace({ id, records });
  if (halt !== undefined) return { ...halt.verdict, trace };
  if (failure === undefined) return { ...said, approved: true, reason: "", trace };
  const reason = failureReason("tool approval hook", failure);
  // A host that looks only at `approved` still does not run the tool.
  if (failure.effect === "abort_turn") return { approved: false, action: "abort_turn", reason, trace };
  return { approved: false, reason, trace };
}

/** What approvers came to: the decision, and whether a failure policy ends the turn. */
export interface ApprovalEnd {
  readonly approval: ApprovalDecision;
  readonly abortsTurn: boolean;
}

/** before_tool's decision and, where there was one, approve_tool's as one. */
export function toToolCheck(decision: ToolCallDecision, end: ApprovalEnd | undefined): ToolCheckDecision {
  if (end === undefined) return { ...decision, approved: decision.action === "respond" };
  const { approval, abortsTurn } = end;
  const trace = { id: decision.trace.id, records: [...decision.trace.records, ...approval.trace.records] };
  // What else an approver said comes along, but never in the place of what before_tool decided.
  const { approved, reason: why, result: _, system_message: _shown, retry_feedback: _told, ...said } = approval;
  const reason = approved ? decision.reason : why;
  if (abortsTurn) {
    const { result: _unused, ...call } = decision;
    return { ...call, action: "abort_turn", approved: false, reason, trace };
  }
  if (approved || decision.action !== "respond") return { ...said, ...decision, approved, reason, trace };
  // A host that looks at the action first must not find the answer that was refused.
  const { result: _refused, ...rest } = decision;
  return { ...said, ...rest, action: "continue", approved, reason, trace };
}

function toTrace({ id = crypto.randomUUID(), records }: Pick<ChainOutcome<Origin, never>, "id" | "records">): Trace {
  return { id, records };
}

/** Why a hook without a verdict stands in the way. Of where its store is, and why that does not answer, nothing is said. */
function failureReason(what: string, { hook, noVerdict }: NonNullable<ChainOutcome<Origin, never>["failure"]>): string {
  const { kind } = noVerdict;
  if (kind === "timeout" || kind === "budget") return `${what} "${hook}" timed out`;
  return `${what} "${hook}" failed${kind === "store_unavailable" ? STORE_DOWN : ""}`;
}

const STORE_DOWN = ": the approval store is not available, so nothing can be approved. Make the same call again later";
