import { HookCallError } from "../errors.ts";
import type { Current } from "./current.ts";
import type { Deadline } from "./deadline.ts";
import type { ChainHook, ChainRules, Judgement } from "./hook.ts";
import type { CallScope } from "./scope.ts";
import { type NoVerdict, toNoVerdict } from "./verdict.ts";

/** One attempt at a hook. */
export interface Step<P extends object, V, H extends ChainHook<P>> {
  readonly hook: H;
  /** 1 for the first. */
  readonly attempt: number;
  /** When it began. */
  readonly startedAtMs: number;
  readonly current: Current<P>;
  readonly rules: ChainRules<P, V, H>;
  readonly deadline: Deadline;
  readonly scope: CallScope;
}

/** What a call came to. */
export type Judged<P extends object, V> = Judgement<P, V> | NoVerdict;

/** Calls a hook and reads its reply; it neither throws nor rejects. */
export function callHook<P extends object, V, H extends ChainHook<P>>(
  step: Step<P, V, H>,
): Judged<P, V> | Promise<Judged<P, V>> {
  const { hook, current, deadline, scope, startedAtMs } = step;
  // By the clock that was just read: reading it once more would cost each hook more than it could tell.
  if (scope.deadlineAtMs <= startedAtMs) return toNoVerdict(new HookCallError("timeout", "no time was left for it"));
  try {
    const reply = hook.call(current, scope);
    if (!isPromiseLike(reply)) return judge(reply, step);
    // A native promise is taken as it is; of any other thenable this makes one that settles once and with a plain value.
    return deadline.settle<Judged<P, V>>(Promise.resolve(reply), scope, {
      reply: (value) => judge(value, step),
      error: (error) => toFailure(error, scope),
    });
  } catch (error) {
    return toFailure(error, scope);
  }
}

/** What came after the deadline is late, whatever it is: a hook may have kept the timer from firing. */
function isLate(scope: CallScope): boolean {
  return scope.remainingMs <= 0;
}

function toFailure(error: unknown, scope: CallScope): NoVerdict {
  const failure = toNoVerdict(error);
  if (failure.kind === "timeout" || failure.kind === "budget" || failure.kind === "aborted" || !isLate(scope))
    return failure;
  return toNoVerdict(scope.toLateError(error));
}

function judge<P extends object, V, H extends ChainHook<P>>(reply: unknown, step: Step<P, V, H>): Judged<P, V> {
  try {
    if (isLate(step.scope)) return toNoVerdict(step.scope.toLateError());
    const judgement = step.rules.judge(reply, step.current.value, step.hook);
    if (step.hook.readOnly !== true || judgement.next === undefined) return judgement;
    throw new HookCallError("bad_result", "a hook that is declared read-only changed the payload");
  } catch (error) {
    return toNoVerdict(error);
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
