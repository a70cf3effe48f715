import type { ChainOutcome } from "../chain/index.ts";
import type { ApprovalDecision, ToolCallDecision, ToolCheckDecision, Trace } from "./host.ts";
import type { Origin } from "./payload.ts";
import type { InterceptorPoint } from "./point.ts";
import type { ApprovalHalt, InterceptorHalt } from "./reply.ts";

type InterceptorResult = Pick<ToolCallDecision, "action" | "reason" | "changed" | "trace" | "result">;

/** How an interceptor chain's end looks to the host. */
export function toDecision<P extends Origin>(
  point: InterceptorPoint,
  { changed, halt, failure, records }: ChainOutcome<P, InterceptorHalt>,
): InterceptorResult {
  const trace = toTrace(records);
  if (halt !== undefined) return { ...halt.verdict, changed, trace };
  if (failure === undefined) return { action: "continue", reason: "", changed, trace };
  const action = failure.effect === "deny" && point === "before_tool" ? "deny_tool" : "abort_turn";
  return { action, reason: failureReason("hook", failure), changed, trace };
}

/** How an approval chain's end looks to the host. */
export function toApprovalDecision({ halt, failure, records }: ChainOutcome<Origin, ApprovalHalt>): ApprovalDecision {
  const trace = toTrace(records);
  if (halt !== undefined) return { ...halt.verdict, trace };
  if (failure === undefined) return { approved: true, reason: "", trace };
  return { approved: false, reason: failureReason("tool approval hook", failure), trace };
}

/** before_tool's decision and, where there was one, approve_tool's as one. */
export function toToolCheck(decision: ToolCallDecision, approval: ApprovalDecision | undefined): ToolCheckDecision {
  if (approval === undefined) return { ...decision, approved: decision.action === "respond" };
  const records = [...decision.trace.records, ...approval.trace.records];
  const { approved, reason } = approval;
  // What else an approver said comes along, but never in the place of what before_tool decided.
  return { ...approval, ...decision, approved, reason, trace: { id: decision.trace.id, records } };
}

function toTrace(records: Trace["records"]): Trace {
  return { id: crypto.randomUUID(), records };
}

function failureReason(what: string, { hook, noVerdict }: NonNullable<ChainOutcome<Origin, never>["failure"]>): string {
  return `${what} "${hook}" ${noVerdict.kind === "timeout" ? "timed out" : "failed"}`;
}
