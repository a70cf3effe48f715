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
  | "other_call";

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
};

/**
 * A change or use of an approval that was refused; its `code` is `ERR_NOT_FOUND`, `ERR_CONFLICT`, `ERR_GONE` or
 * `ERR_FORBIDDEN`, and maps to status 404, 409, 410 or 403.
 */
export class ApprovalError extends HookgateError {
  readonly refusal: ApprovalRefusal;

  constructor(refusal: ApprovalRefusal, message: string) {
    super(CODES[refusal], message);
    this.refusal = refusal;
  }
}
