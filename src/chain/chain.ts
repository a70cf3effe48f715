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
  { rules, signal, now = monotonic }: ChainOptions & { readonly rules: ChainRules<P, V> },
): Promise<ChainOutcome<P, V>> {
  const deadline = new Deadline(now, signal);
  const records: HookRecord[] = [];
  let current = input;
  const end = (aborted: boolean): ChainOutcome<P, V> => ({
    current,
    changed: current !== input,
    aborted,
    records,
  });
  try {
    let startedAtMs = now();
    for (const hook of hooks) {
      if (deadline.aborted) return end(true);
      const step = { hook, current, rules, deadline, startedAtMs, now };
      // A synchronous hook is settled without a promise of its own.
      let judged = callHook(step);
      if (judged instanceof Promise) judged = await judged;
      const endedAtMs = now();
      const ms = endedAtMs - startedAtMs;
      startedAtMs = endedAtMs;
      const base = { hook: hook.name, source: hook.source, point: rules.point };
      if ("kind" in judged) {
        const effect = deadline.aborted ? "abort_turn" : hook.policy.effectOf(judged);
        const failed = { ...base, outcome: "no_verdict", kind: judged.kind, error: judged.message, ms, attempt: 1 };
        records.push(effect === "continue" ? { ...failed, failed_open: true } : failed);
        if (deadline.aborted) return end(true);
        if (effect !== "continue") return { ...end(false), failure: { hook: hook.name, noVerdict: judged, effect } };
        continue;
      }
      records.push({ ...base, outcome: judged.outcome, ms, attempt: 1 });
      // A verdict that came with the host's giving up, as from a hook that caused it, is not given either.
      if (deadline.aborted) return end(true);
      if (judged.next !== undefined) current = new Current(judged.next);
      if (judged.halt !== undefined) return { ...end(false), halt: { hook: hook.name, verdict: judged.halt } };
    }
    return end(deadline.aborted);
  } finally {
    deadline.dispose();
  }
}

interface Step<P extends object, V> {
  readonly hook: ChainHook<P>;
  readonly current: Current<P>;
  readonly rules: ChainRules<P, V>;
  readonly deadline: Deadline;
  readonly startedAtMs: number;
  readonly now: () => number;
}

type Judged<P extends object, V> = Judgement<P, V> | NoVerdict;

function callHook<P extends object, V>(step: Step<P, V>): Judged<P, V> | Promise<Judged<P, V>> {
  const { hook, current, startedAtMs, now, deadline } = step;
  const scope = new CallScope(startedAtMs + hook.timeoutMs, now);
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
function isLate<P extends object, V>({ hook, startedAtMs, now }: Step<P, V>): boolean {
  return now() - startedAtMs >= hook.timeoutMs;
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
