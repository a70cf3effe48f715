import {
  type Approval,
  APPROVAL_SCOPES,
  type ApprovalScope,
  type ApprovalVote,
  HOUR_SCOPE_MS,
  isLapsed,
  isOpen,
  SESSION_SCOPE_MS,
} from "./approval.ts";
import { ApprovalError } from "./refusal.ts";

/** A person's decision, and the time it is made at. */
export interface DecisionInput {
  /** Who decides; two decisions by one name are one person's. */
  readonly by: string;
  readonly how: string;
  /** The name of the token that speaks for the person, where that is not the person's own. */
  readonly via?: string | undefined;
  readonly decision: "approve" | "deny";
  readonly comment?: string | undefined;
  /** @default "once" */
  readonly scope?: ApprovalScope | undefined;
  /** The hash of the call the person was shown, where the way it came carries one. */
  readonly call?: string | undefined;
  readonly nowMs: number;
}

/**
 * The approval after a decision: denied by the first who denies, approved when as many distinct people as it takes have.
 * @throws {ApprovalError} when it cannot be decided any more, was decided by this person before, is not this person's to
 *   decide, or is bound to another call
 */
export function decideApproval(approval: Approval, input: DecisionInput): Approval {
  const { by, how, via, decision, comment, scope, call, nowMs } = input;
  assertApprover(approval, by);
  if (call !== undefined && call !== approval.call) throw otherCall(approval);
  assertStatus(approval, "pending", nowMs);
  if (approval.votes.some((vote) => vote.by === by)) {
    throw new ApprovalError("decided_twice", `approval ${approval.id} needs another person: this one has decided`);
  }
  const vote: ApprovalVote = {
    by,
    time: toTime(nowMs),
    how,
    ...(via !== undefined && { via }),
    decision,
    ...(comment !== undefined && comment !== "" && { comment }),
    ...(decision === "approve" && scope !== undefined && scope !== "once" && { scope }),
  };
  const next = change(approval, nowMs, { votes: [...approval.votes, vote] });
  if (decision === "deny") return { ...next, status: "denied" };
  if (next.votes.length < next.require) return next;
  const agreed = narrowest(next.votes);
  const useMs = agreed === "once" ? next.use_within_ms : agreed === "hour" ? HOUR_SCOPE_MS : SESSION_SCOPE_MS;
  return { ...next, status: "approved", scope: agreed, expires: toTime(nowMs + useMs) };
}

/** A use of an approval. */
export interface UseInput {
  /** The hash of the call that is about to run. */
  readonly call: string;
  readonly nowMs: number;
}

/**
 * The approval after a use: consumed when it was for once; the approval itself when it holds longer.
 * @throws {ApprovalError} when it is not approved, is used up or over, or is bound to another call
 */
export function consumeApproval(approval: Approval, { call, nowMs }: UseInput): Approval {
  if (call !== approval.call) throw otherCall(approval);
  assertStatus(approval, "approved", nowMs);
  return approval.scope === "once" ? change(approval, nowMs, { status: "consumed" }) : approval;
}

/** Who takes an approval back, and why. */
export interface CancelInput {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly nowMs: number;
}

/**
 * The approval taken back: one that is pending is not asked any more, one that is approved cannot be used any more.
 * @throws {ApprovalError} when it is settled or its time is over
 */
export function cancelApproval(approval: Approval, { by, reason, nowMs }: CancelInput): Approval {
  if (!isOpen(approval) || isLapsed(approval, nowMs)) throw refusalOf(approval, nowMs);
  const ending = { ...(by !== undefined && { by }), ...(reason !== undefined && reason !== "" && { reason }) };
  return change(approval, nowMs, { status: "cancelled", ...(Object.keys(ending).length > 0 && { ending }) });
}

/** The approval after its time; itself when it is settled or has time left. */
export function expireApproval(approval: Approval, nowMs: number): Approval {
  return isLapsed(approval, nowMs) ? change(approval, nowMs, { status: "expired" }) : approval;
}

function assertApprover({ id, approvers }: Approval, by: string): void {
  if (by === "" || (approvers.length > 0 && !approvers.includes(by))) {
    throw new ApprovalError("not_an_approver", `approval ${id} is not for this person to decide`);
  }
}

function assertStatus(approval: Approval, wanted: "pending" | "approved", nowMs: number): void {
  if (approval.status !== wanted || isLapsed(approval, nowMs)) throw refusalOf(approval, nowMs);
}

/** Why an approval that is not as it should be cannot be changed or used. */
function refusalOf(approval: Approval, nowMs: number): ApprovalError {
  const { id, status } = approval;
  if (isLapsed(approval, nowMs) || status === "expired") {
    return new ApprovalError("expired", `the time of approval ${id} is over`);
  }
  if (status === "pending") return new ApprovalError("not_approved", `approval ${id} is not decided yet`);
  if (status === "cancelled") return new ApprovalError("cancelled", `approval ${id} was taken back`);
  if (status === "consumed") return new ApprovalError("already_consumed", `approval ${id} has been used`);
  return new ApprovalError("already_decided", `approval ${id} is ${status} already`);
}

function otherCall({ id }: Approval): ApprovalError {
  return new ApprovalError("other_call", `approval ${id} is for another call: ask for this one`);
}

function narrowest(votes: readonly ApprovalVote[]): ApprovalScope {
  const given = votes.map(({ scope = "once" }) => scope);
  return APPROVAL_SCOPES.find((scope) => given.includes(scope)) ?? "once";
}

function change(approval: Approval, nowMs: number, changes: Partial<Approval>): Approval {
  return { ...approval, ...changes, version: approval.version + 1, changed: toTime(nowMs) };
}

/** RFC 3339, with milliseconds. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
