import type { FailureRules, HookPolicies, OperationOptions } from "../picoclaw/index.ts";
import type { FailureConfig, OperationConfig } from "./operation-schema.ts";

/** The rules a config says, in the manager's words; undefined where it says none. */
export function toFailureRules(config: FailureConfig | undefined): FailureRules | undefined {
  if (config === undefined) return undefined;
  const { on_error: onError, on_timeout: onTimeout, on_invalid: onInvalid, on_unreachable: onUnreachable } = config;
  const rules = { onError, onTimeout, onInvalid, onUnreachable };
  return Object.values(rules).some((effect) => effect !== undefined) ? rules : undefined;
}

/** How a hook of a config is called. */
export function toOperation(entry: OperationConfig): OperationOptions {
  const { timeout_ms: timeoutMs, match, parallel, read_only: readOnly, mode, detached, cache } = entry;
  return {
    timeoutMs,
    policy: toFailureRules(entry),
    match,
    parallel,
    readOnly,
    mode,
    detached,
    cache: cache && { maxTtlMs: cache.max_ttl_ms, maxEntries: cache.max_entries },
  };
}

/** What no-verdicts of a class mean. */
export function toPolicies(defaults: {
  readonly interceptors?: FailureConfig | undefined;
  readonly approvals?: FailureConfig | undefined;
}): HookPolicies {
  return { interceptors: toFailureRules(defaults.interceptors), approvals: toFailureRules(defaults.approvals) };
}
