import { createFailurePolicy, type FailureRules } from "../chain/index.ts";
import { MAX_DELAY_MS } from "../wait.ts";

/** Deadlines of one hook call by the hook's class, in milliseconds. A value of 0 or less means the default. */
export interface HookTimeouts {
  /** Telling one observer of one event. @default 500 */
  readonly observerMs?: number;
  /** One interceptor. @default 5000 */
  readonly interceptorMs?: number;
  /** One approver. @default 60000 */
  readonly approvalMs?: number;
}

/**
 * What all hooks of one call of a point may take together, in milliseconds. The hook under way when it is used up is cut,
 * those not reached are not called, and the failure policy of each decides. A value of 0 or less means the default.
 */
export interface HookBudgets {
  /** The interceptors of a point. @default 15000, or the deadline of one where that is more */
  readonly interceptorMs?: number;
  /** The approvers. @default 60000, or the deadline of one where that is more */
  readonly approvalMs?: number;
}

/** What no-verdicts of hooks mean, by class. */
export interface HookPolicies {
  /** @default "continue" for every cause */
  readonly interceptors?: FailureRules | undefined;
  /**
   * The threat: with `continue` an approver that fails is as if it were absent, so whoever makes it fail runs tools that
   * nobody approved. @default "deny" for every cause
   */
  readonly approvals?: FailureRules | undefined;
}

/** The limits of a manager, with every default filled in. */
export interface HookLimits {
  readonly observerMs: number;
  readonly interceptorMs: number;
  readonly approvalMs: number;
  readonly interceptorBudgetMs: number;
  readonly approvalBudgetMs: number;
  readonly interceptorPolicy: FailureRules | undefined;
  readonly approvalPolicy: FailureRules | undefined;
}

/** What {@link toLimits} reads. */
export interface LimitOptions {
  readonly timeouts?: HookTimeouts;
  readonly budgets?: HookBudgets;
  readonly policies?: HookPolicies;
}

/** The default of {@link HookBudgets.interceptorMs}. */
export const INTERCEPTOR_BUDGET_MS: number = 15_000;

/** The default of {@link HookBudgets.approvalMs}. */
export const APPROVAL_BUDGET_MS: number = 60_000;

/**
 * Fills in the defaults.
 * @throws {RangeError} when a time is out of range
 * @throws {TypeError} when the effect of a policy is not known
 */
export function toLimits({ timeouts = {}, budgets = {}, policies = {} }: LimitOptions): HookLimits {
  const interceptorMs = toTime("timeouts.interceptorMs", timeouts.interceptorMs, 5000);
  const approvalMs = toTime("timeouts.approvalMs", timeouts.approvalMs, 60_000);
  const { interceptors: interceptorPolicy, approvals: approvalPolicy } = policies;
  createFailurePolicy([interceptorPolicy], "continue");
  createFailurePolicy([approvalPolicy], "deny");
  return {
    observerMs: toTime("timeouts.observerMs", timeouts.observerMs, 500),
    interceptorMs,
    approvalMs,
    interceptorBudgetMs: toTime(
      "budgets.interceptorMs",
      budgets.interceptorMs,
      Math.max(INTERCEPTOR_BUDGET_MS, interceptorMs),
    ),
    approvalBudgetMs: toTime("budgets.approvalMs", budgets.approvalMs, Math.max(APPROVAL_BUDGET_MS, approvalMs)),
    interceptorPolicy,
    approvalPolicy,
  };
}

function toTime(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined || value <= 0) return fallback;
  if (!Number.isFinite(value) || value > MAX_DELAY_MS) {
    throw new RangeError(`${name}: expected milliseconds up to ${MAX_DELAY_MS}, got ${value}`);
  }
  return value;
}
