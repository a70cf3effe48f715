import { isHookCallError, isHookgateError, type NoVerdictKind } from "../errors.ts";

/** A hook call that yielded no verdict: what happened, never what was decided. */
export interface NoVerdict {
  readonly kind: NoVerdictKind;
  /** What happened, for people; at most 300 characters. */
  readonly message: string;
  readonly cause: unknown;
}

/** What a failure policy makes of a no-verdict: go on as if the hook were absent, deny, or abort the turn. */
export type FailureEffect = "continue" | "deny" | "abort_turn";

/** Decides what a no-verdict means. It is never asked about a verdict. */
export interface FailurePolicy {
  effectOf(noVerdict: NoVerdict): FailureEffect;
}

/** The default of interceptors and observers: a hook without a verdict is skipped. */
export const failOpen: FailurePolicy = { effectOf: () => "continue" };

/** The default of approvals: no verdict denies. */
export const failClosed: FailurePolicy = { effectOf: () => "deny" };

/** One hook call, as it is shown and kept. */
export interface HookRecord {
  readonly hook: string;
  readonly source: string;
  readonly point: string;
  /**
   * The verdict's name, such as `continue` or `deny_tool`, or `no_verdict`; `audit` where the verdict was only recorded, and
   * `superseded` where a hook called at the same time, but before in order, ended the chain. A hook that was not called has
   * `filtered`, or `out_of_budget` where the chain ended before it.
   */
  readonly outcome: string;
  /** Why there was no verdict; beside a verdict, why a part of it was not applied. */
  readonly kind?: NoVerdictKind;
  /** What happened, for people; only with `kind`. At most 300 characters. */
  readonly error?: string;
  /** Wall-clock duration of the call, in milliseconds. */
  readonly ms: number;
  /** 1 for the first attempt; 0 when the hook was not called. */
  readonly attempt: number;
  /** Present and true when the call yielded no verdict and the chain went on. */
  readonly failed_open?: true;
  /** Present and true when the verdict is one the hook gave before and allowed to be used again. */
  readonly cached?: true;
  /** What a hook in audit mode would have done: the verdict and its reason, or the effect of its failure policy. */
  readonly would?: string;
  /** What the transport noted of the call, such as the tokens it cost. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Which hook did what, for one call of a host. */
export interface Trace {
  /** Unique to the call. */
  readonly id: string;
  readonly records: readonly HookRecord[];
}

const MESSAGE_LIMIT = 300;

/** Turns whatever a hook call threw into a no-verdict; what is not a {@link HookCallError} is of kind `hook_error`. */
export function toNoVerdict(cause: unknown): NoVerdict {
  try {
    const kind = isHookCallError(cause) ? cause.kind : isAborted(cause) ? "aborted" : "hook_error";
    return { kind, message: toMessage(cause).slice(0, MESSAGE_LIMIT), cause };
  } catch {
    // A value that throws when it is looked at, such as a revoked proxy.
    return { kind: "hook_error", message: "the hook threw a value that cannot be shown", cause };
  }
}

function isAborted(cause: unknown): boolean {
  return isHookgateError(cause) && cause.code === "ERR_ABORTED";
}

function toMessage(cause: unknown): string {
  // A message is a string by type only: libraries put other things there.
  return String(cause instanceof Error || isHookgateError(cause) ? cause.message : cause);
}
