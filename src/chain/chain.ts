import { HookCallError } from "../errors.ts";
import { Current } from "./current.ts";
import { Deadline } from "./deadline.ts";
import { CallScope } from "./scope.ts";
import { type FailureEffect, type FailurePolicy, type HookRecord, type NoVerdict, toNoVerdict } from "./verdict.ts";

/** A hook as the engine sees it. */
export interface ChainHook<P extends object> {
  readonly name: string;
  readonly source: string;
  /** Deadline of one call in milliseconds, 1 to {@link MAX_TIMEOUT_MS}. */
  readonly timeoutMs: number;
  readonly policy: FailurePolicy;
  /** How often a call without a verdict is made again, at once, before the policy is asked. @default 0 */
  readonly retryCount?: number | undefined;
  /** Whether the hook is called for a payload. @default always */
  appliesTo?(payload: P): boolean;
  /** Calls the hook; the reply, or a promise of it, is read by {@link ChainRules.judge}. */
  call(current: Current<P>, scope: CallScope): unknown;
}

/** What one reply does to the chain. */
export interface Judgement<P extends object, V> {
  /** The verdict's name in the record. */
  readonly outcome: string;
  /** The new payload; absent when nothing changed. */
  readonly next?: P;
  /** Ends the chain with this verdict. */
  readonly halt?: V;
}

/** The part of a chain that belongs to a hook system: how a reply is read and what it does. */
export interface ChainRules<P extends object, V> {
  readonly point: string;
  /**
   * Reads a reply.
   * @throws {HookCallError} when the reply is not a verdict
   */
  judge(reply: unknown, current: P, hook: ChainHook<P>): Judgement<P, V>;
}

/** Options of {@link runChain}. */
export interface ChainOptions {
  /** The host's own signal; when it aborts the chain ends at once. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What all calls of the chain may take together, in milliseconds: the one under way is cut when it is used up, and no
   * other is made. @default no bound
   */
  readonly budgetMs?: number | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/** How a chain ended. */
export interface ChainOutcome<P extends object, V> {
  /** The payload as the hooks left it; the input itself when none changed it. */
  readonly current: Current<P>;
  readonly changed: boolean;
  /** The verdict that ended the chain early. */
  readonly halt?: { readonly hook: string; readonly verdict: V };
  /** The no-verdict that ended the chain early, by its hook's failure policy. */
  readonly failure?: { readonly hook: string; readonly noVerdict: NoVerdict; readonly effect: FailureEffect };
  /** Whether hooks were left out because the budget was used up. */
  readonly exhausted: boolean;
  /** Whether the host's signal ended the chain. */
  readonly aborted: boolean;
  readonly records: readonly HookRecord[];
}

const monotonic = (): number => performance.now();

/**
 * Calls hooks one after the other, each under its own deadline, and applies their verdicts. It never rejects: what
 * goes wrong in a hook is a record and, by the hook's failure policy, perhaps the end of the chain.
 */
export async function runChain<P extends object, V>(
  hooks: readonly ChainHook<P>[],
  input: Current<P>,
  { rules, signal, now = monotonic, budgetMs = Infinity }: ChainOptions & { readonly rules: ChainRules<P, V> },
): Promise<ChainOutcome<P, V>> {
  const deadline = new Deadline(now, signal);
  const records: HookRecord[] = [];
  let current = input;
  const end = (ending: Partial<ChainOutcome<P, V>>): ChainOutcome<P, V> => {
    return { current, changed: current !== input, exhausted: false, aborted: false, records, ...ending };
  };
  try {
    let startedAtMs = now();
    const endsAtMs = startedAtMs + budgetMs;
    for (const hook of hooks) {
      if (deadline.aborted) return end({ aborted: true });
      const base = { hook: hook.name, source: hook.source, point: rules.point };
      const isExhausted = startedAtMs >= endsAtMs;
      if (isExhausted || hook.appliesTo?.(current.value) === false) {
        records.push({ ...base, outcome: isExhausted ? "out_of_budget" : "filtered", ms: 0, attempt: 0 });
        if (isExhausted) return end({ exhausted: true });
        continue;
      }
      for (let attempt = 1, isDone = false; !isDone; attempt += 1) {
        const scope = new CallScope(Math.min(startedAtMs + hook.timeoutMs, endsAtMs), now);
        // A synchronous hook is settled without a promise of its own.
        let judged = callHook({ hook, current, rules, deadline, scope });
        if (judged instanceof Promise) judged = await judged;
        const endedAtMs = now();
        const ms = endedAtMs - startedAtMs;
        startedAtMs = endedAtMs;
        isDone = !("kind" in judged) || attempt > (hook.retryCount ?? 0) || endedAtMs >= endsAtMs || deadline.aborted;
        if ("kind" in judged) {
          const effect = deadline.aborted ? "abort_turn" : isDone ? hook.policy.effectOf(judged) : undefined;
          const failed = { outcome: "no_verdict", kind: judged.kind, error: judged.message, ms, attempt };
          records.push({ ...base, ...failed, ...(effect === "continue" && { failed_open: true }), ...scope.noted });
          if (deadline.aborted) return end({ aborted: true });
          if (effect === undefined || effect === "continue") continue;
          return end({ failure: { hook: hook.name, noVerdict: judged, effect } });
        }
        records.push({ ...base, outcome: judged.outcome, ms, attempt, ...scope.noted });
        // A verdict that came with the host's giving up, as from a hook that caused it, is not given either.
        if (deadline.aborted) return end({ aborted: true });
        if (judged.next !== undefined) current = new Current(judged.next);
        if (judged.halt !== undefined) return end({ halt: { hook: hook.name, verdict: judged.halt } });
      }
    }
    return end({ aborted: deadline.aborted });
  } finally {
    deadline.dispose();
  }
}

interface Step<P extends object, V> {
  readonly hook: ChainHook<P>;
  readonly current: Current<P>;
  readonly rules: ChainRules<P, V>;
  readonly deadline: Deadline;
  readonly scope: CallScope;
}

type Judged<P extends object, V> = Judgement<P, V> | NoVerdict;

function callHook<P extends object, V>(step: Step<P, V>): Judged<P, V> | Promise<Judged<P, V>> {
  const { hook, current, deadline, scope } = step;
  try {
    const reply = hook.call(current, scope);
    if (!isPromiseLike(reply)) return judge(reply, step);
    // A native promise is taken as it is; of any other thenable this makes one that settles once and with a plain value.
    return deadline.settle<Judged<P, V>>(Promise.resolve(reply), scope, {
      reply: (value) => judge(value, step),
      error: (error) => toFailure(error, step),
    });
  } catch (error) {
    return toFailure(error, step);
  }
}

/** What came after the deadline is late, whatever it is: a hook may have kept the timer from firing. */
function isLate<P extends object, V>({ scope }: Step<P, V>): boolean {
  return scope.remainingMs <= 0;
}

function toFailure<P extends object, V>(error: unknown, step: Step<P, V>): NoVerdict {
  const failure = toNoVerdict(error);
  if (failure.kind === "timeout" || failure.kind === "aborted" || !isLate(step)) return failure;
  return toNoVerdict(new HookCallError("timeout", "no reply within the deadline", { cause: error }));
}

function judge<P extends object, V>(reply: unknown, step: Step<P, V>): Judged<P, V> {
  try {
    if (isLate(step)) return toNoVerdict(new HookCallError("timeout", "no reply within the deadline"));
    return step.rules.judge(reply, step.current.value, step.hook);
  } catch (error) {
    return toNoVerdict(error);
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
