import { HookgateError, type HookgateErrorCode } from "../errors.ts";

/** Why an approval was not changed or used. */
export type ApprovalRefusal =
  | "not_found"
  | "already_decided"
  | "already_consumed"
  | "cancelled"
  | "decided_twice"
  | "not_approved"
  | "expired"
  | "not_an_approver"
  | "other_call"
  | "unreadable";

const CODES: Readonly<Record<ApprovalRefusal, HookgateErrorCode>> = {
  not_found: "ERR_NOT_FOUND",
  already_decided: "ERR_CONFLICT",
  already_consumed: "ERR_CONFLICT",
  cancelled: "ERR_CONFLICT",
  decided_twice: "ERR_CONFLICT",
  not_approved: "ERR_CONFLICT",
  expired: "ERR_GONE",
  not_an_approver: "ERR_FORBIDDEN",
  other_call: "ERR_FORBIDDEN",
  unreadable: "ERR_INTERNAL",
};

/**
 * A change or use of an approval that was refused; its `code` is `ERR_NOT_FOUND`, `ERR_CONFLICT`, `ERR_GONE`,
 * `ERR_FORBIDDEN` or `ERR_INTERNAL`, and maps to status 404, 409, 410, 403 or 500.
 */
export class ApprovalError extends HookgateError {
  readonly refusal: ApprovalRefusal;

  constructor(refusal: ApprovalRefusal, message: string) {
    super(CODES[refusal], message);
    this.refusal = refusal;
  }
}

/** What an approval is looked up by. */
export interface ApprovalKey {
  readonly id?: string | undefined;
  readonly call?: string | undefined;
}

/** That a store keeps an approval which cannot be read, or is not the one that was looked for: it counts for nothing. */
export class UnreadableApprovalError extends ApprovalError {
  readonly key: ApprovalKey;

  constructor(key: ApprovalKey) {
    const { id } = key;
    // What is kept may be a secret by mistake: nothing of it is said.
    super("unreadable", `${id === undefined ? "the approval of this call" : `approval ${id}`} cannot be read`);
    this.key = key;
  }
}
