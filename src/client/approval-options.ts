import type { Approval, ApprovalScope, ApprovalStatus } from "../approvals/approval.ts";

/** Options of every call about approvals. */
export interface ApprovalCallOptions {
  /** Ends the call with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** What the call may take, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
}

/** Which approvals are listed. */
export interface ApprovalListOptions extends ApprovalCallOptions {
  /** @default any */
  readonly status?: ApprovalStatus | undefined;
  /** The most on a page, 1 to 500. @default 50 */
  readonly limit?: number | undefined;
  /** The `next` of the page before. @default the first page */
  readonly cursor?: string | undefined;
}

/** Approvals, the newest first. */
export interface ApprovalList {
  readonly approvals: readonly Approval[];
  /** Where the next page begins; absent on the last. */
  readonly next?: string;
  /** How many the gateway left out of this page because it cannot read them; absent where there are none. */
  readonly unreadable?: number;
}

/** A person's decision. */
export interface ApprovalDecisionInput {
  readonly decision: "approve" | "deny";
  /** At most 2000 characters. */
  readonly comment?: string | undefined;
  /** @default "once" */
  readonly scope?: ApprovalScope | undefined;
  /** Who decides, where the token speaks for others. @default the token's own name */
  readonly by?: string | undefined;
  /** The `call` of the approval as the person was shown it; another one is refused. @default it is not checked */
  readonly call?: string | undefined;
}

/** Why an approval is taken back. */
export interface ApprovalCancelInput {
  /** At most 2000 characters. */
  readonly reason?: string | undefined;
  /** Who takes it back, where the token speaks for others. @default the token's own name */
  readonly by?: string | undefined;
}

/** Options of {@link GatewayApprovals.wait}. */
export interface ApprovalWaitOptions {
  /** Ends the wait with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait at most, in milliseconds; rounded up to seconds. @default as long as it can be decided */
  readonly timeoutMs?: number | undefined;
}

/**
 * A gateway's human approvals. Every method but `wait` and `watch` asks once. They reject with a `HookgateError`:
 * `ERR_NOT_FOUND` when there is no such approval, `ERR_CONFLICT` when it is decided, used up or taken back already or this
 * person has decided, `ERR_GONE` when its time is over, `ERR_FORBIDDEN` when it is not this caller's to decide or the token
 * lacks the scope, `ERR_UNAUTHORIZED`, `ERR_INVALID_PARAMS`, `ERR_METHOD_NOT_FOUND` when the gateway asks no people; and with a
 * `HookCallError` when there is no answer, of kind `store_unavailable` when the gateway cannot reach its store.
 * @see docs/approvals.md, "HTTP API"
 */
export interface GatewayApprovals {
  list(options?: ApprovalListOptions): Promise<ApprovalList>;
  get(id: string, options?: ApprovalCallOptions): Promise<Approval>;
  /**
   * Takes a person's decision. One whose answer is lost may have been taken: nothing is sent twice.
   * @returns the approval after it; still pending when more people have to approve
   */
  decide(id: string, input: ApprovalDecisionInput, options?: ApprovalCallOptions): Promise<Approval>;
  /** Takes an approval back, pending or approved. */
  cancel(id: string, input?: ApprovalCancelInput, options?: ApprovalCallOptions): Promise<Approval>;
  /**
   * Waits until an approval is not pending any more. Once it is known, a gateway that cannot be reached or restarts is asked
   * again, with growing waits.
   * @returns the approval as it is then; still pending when the time was up
   */
  wait(id: string, options?: ApprovalWaitOptions): Promise<Approval>;
  /** Lists what is approved for an hour or a session; a page may be empty and have a `next`. */
  grants(options?: Omit<ApprovalListOptions, "status">): Promise<ApprovalList>;
  /** Takes back what is approved for an hour or a session. */
  revoke(id: string, options?: ApprovalCallOptions): Promise<Approval>;
  /**
   * Yields every approval that is pending, and then each that is made or changes, as it is then; one may come twice. It ends
   * when the gateway ends it, and when the signal aborts.
   * @throws {HookCallError} `timeout` when nothing came for a minute, not even a sign of life
   */
  watch(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<Approval>;
}
