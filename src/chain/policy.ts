import type { NoVerdictKind } from "../errors.ts";
import type { FailureEffect, FailurePolicy } from "./verdict.ts";

/**
 * Why there was no verdict, as far as a failure policy tells causes apart: the hook failed, was too late, gave what is no
 * verdict, or could not be asked.
 */
export type FailureCause = "error" | "timeout" | "invalid" | "unreachable";

/** The cause of every kind of no-verdict. */
const CAUSES: Readonly<Record<NoVerdictKind, FailureCause>> = {
  timeout: "timeout",
  budget: "timeout",
  aborted: "error",
  hook_error: "error",
  rpc_error: "error",
  http_status: "error",
  exited: "error",
  unencodable: "error",
  redirect: "invalid",
  content_type: "invalid",
  too_large: "invalid",
  bad_json: "invalid",
  bad_envelope: "invalid",
  wrong_id: "invalid",
  bad_result: "invalid",
  unsupported_action: "invalid",
  unsigned_reply: "invalid",
  bad_signature: "invalid",
  replayed_reply: "invalid",
  not_granted: "invalid",
  unreachable: "unreachable",
  circuit_open: "unreachable",
  overloaded: "unreachable",
  unsupported_runtime: "unreachable",
  not_running: "unreachable",
  store_unavailable: "unreachable",
};

/** Every kind of no-verdict. */
export const NO_VERDICT_KINDS: readonly NoVerdictKind[] = Object.keys(CAUSES).filter(isKind);

function isKind(name: string): name is NoVerdictKind {
  return Object.hasOwn(CAUSES, name);
}

/** The one cause a kind of no-verdict has. */
export function causeOf(kind: NoVerdictKind): FailureCause {
  return CAUSES[kind];
}

/** What a no-verdict means, by its cause. */
export interface FailureRules {
  /** The hook failed: it threw, answered with an error, or died. */
  readonly onError?: FailureEffect | undefined;
  /** It did not answer within its time, or within that of its point. */
  readonly onTimeout?: FailureEffect | undefined;
  /** What it answered is no verdict, or is not proven to be its own. */
  readonly onInvalid?: FailureEffect | undefined;
  /** It could not be asked. */
  readonly onUnreachable?: FailureEffect | undefined;
}

/** Every {@link FailureEffect}. */
export const FAILURE_EFFECTS: readonly FailureEffect[] = ["continue", "deny", "abort_turn"];

/** The key of {@link FailureRules} for each cause. */
export const FAILURE_RULES: Readonly<Record<FailureCause, keyof FailureRules>> = {
  error: "onError",
  timeout: "onTimeout",
  invalid: "onInvalid",
  unreachable: "onUnreachable",
};

/**
 * Makes a policy of rules: of several the first that names the cause counts.
 * @param fallback - the effect of a cause that none of them names
 * @throws {TypeError} when an effect is not known
 */
export function createFailurePolicy(
  rules: readonly (FailureRules | undefined)[],
  fallback: FailureEffect,
): FailurePolicy {
  const effectOf = (cause: FailureCause): FailureEffect => {
    const name = FAILURE_RULES[cause];
    const effect = rules.find((rule) => rule?.[name] !== undefined)?.[name] ?? fallback;
    if (FAILURE_EFFECTS.includes(effect)) return effect;
    throw new TypeError(`${name}: expected one of ${FAILURE_EFFECTS.join(", ")}, got ${JSON.stringify(effect)}`);
  };
  const effects: Readonly<Record<FailureCause, FailureEffect>> = {
    error: effectOf("error"),
    timeout: effectOf("timeout"),
    invalid: effectOf("invalid"),
    unreachable: effectOf("unreachable"),
  };
  return { effectOf: ({ kind }) => effects[CAUSES[kind] ?? "error"] };
}
