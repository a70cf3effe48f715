import {
  type CallScope,
  createFailurePolicy,
  type Current,
  type FailurePolicy,
  type FailureRules,
  failClosed,
  failOpen,
} from "../chain/index.ts";
import { DecisionCache } from "./cache.ts";
import { Gate } from "./gate.ts";
import { createMatcher, type Matcher } from "./match.ts";
import type { OperationOptions } from "./operation.ts";
import type { Origin } from "./payload.ts";
import type { HookPoint } from "./point.ts";
import type { HookPort } from "./port.ts";
import type { Trust, TrustedHook } from "./trust.ts";

/** What holds for hooks of a class where a hook says nothing else. */
export interface ClassDefaults {
  readonly interceptorMs: number;
  readonly approvalMs: number;
  readonly interceptorPolicy: FailureRules | undefined;
  readonly approvalPolicy: FailureRules | undefined;
}

/** Parts of a {@link PointHooks}. */
export interface PointHooksParts {
  readonly name: string;
  readonly port: HookPort;
  readonly trust: Trust;
  readonly operation: OperationOptions;
  readonly defaults: ClassDefaults;
  readonly now: () => number;
  /** The same hook in the manager before: calls under way there take their places here too. @default it is new */
  readonly kept?: PointHooks | undefined;
}

/** How one hook is called at each of its points. Its cache and its gate are its own, and go with it. */
export class PointHooks {
  readonly matcher: Matcher | undefined;
  readonly cache: DecisionCache | undefined;
  readonly gate: Gate | undefined;
  readonly #parts: Omit<PointHooksParts, "kept">;
  readonly #policies: { readonly interceptor: FailurePolicy; readonly approval: FailurePolicy };

  constructor({ kept, ...parts }: PointHooksParts) {
    const { operation, defaults, now } = parts;
    const { policy, match, cache, maxConcurrency } = operation;
    this.#parts = parts;
    this.matcher = match && createMatcher(match);
    this.cache = cache && new DecisionCache(cache, now);
    const isSameGate = kept !== undefined && kept.#parts.operation.maxConcurrency === maxConcurrency;
    this.gate = isSameGate ? kept.gate : maxConcurrency === undefined ? undefined : new Gate(maxConcurrency);
    const { interceptorPolicy, approvalPolicy } = defaults;
    this.#policies = {
      interceptor:
        (policy ?? interceptorPolicy) === undefined
          ? failOpen
          : createFailurePolicy([policy, interceptorPolicy], "continue"),
      approval:
        (policy ?? approvalPolicy) === undefined ? failClosed : createFailurePolicy([policy, approvalPolicy], "deny"),
    };
  }

  /** The hook as the chain of a point calls it. */
  at(point: HookPoint): TrustedHook<Origin> {
    const { name, port, trust, operation, defaults } = this.#parts;
    const isApproval = point === "approve_tool";
    const { parallel, readOnly, mode, detached, timeoutMs } = operation;
    return {
      name,
      source: port.source,
      timeoutMs: timeoutMs ?? (isApproval ? defaults.approvalMs : defaults.interceptorMs),
      policy: isApproval ? this.#policies.approval : this.#policies.interceptor,
      trust,
      cache: this.cache,
      parallel,
      readOnly: readOnly === true || (parallel === true && isApproval),
      audit: mode === "audit",
      detached,
      call: this.#callOf(point),
    };
  }

  /** Tells the hook of something when there is room for it. */
  notify(scope: CallScope, tell: () => unknown): unknown {
    return this.gate === undefined ? tell() : this.gate.run(scope, "event", tell);
  }

  #callOf(point: HookPoint): TrustedHook<Origin>["call"] {
    const { port } = this.#parts;
    const { cache, gate } = this;
    const kind = point === "approve_tool" ? "approval" : "interceptor";
    const call: TrustedHook<Origin>["call"] =
      gate === undefined
        ? (current, scope) => port.call(point, current, scope)
        : (current, scope) => gate.run(scope, kind, () => port.call(point, current, scope));
    if (cache === undefined) return call;
    return async (current: Current<Origin>, scope: CallScope): Promise<unknown> => {
      const known = await cache.find(point, current.value);
      if (known !== undefined) {
        scope.noteCached();
        return known.reply;
      }
      const reply = await call(current, scope);
      await cache.prepare(point, current.value, reply);
      return reply;
    };
  }
}
