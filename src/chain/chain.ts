import { HookCallError, type NoVerdictKind } from "../errors.ts";
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
  /** A part of the verdict that was not applied; the rest of it counts. */
  readonly withheld?: { readonly kind: NoVerdictKind; readonly message: string };
}

/** The part of a chain that belongs to a hook system: how a reply is read and what it does. */
export interface ChainRules<P extends object, V, H extends ChainHook<P> = ChainHook<P>> {
  readonly point: string;
  /**
   * Reads a reply.
   * @throws {HookCallError} when the reply is not a verdict
   */
  judge(reply: unknown, current: P, hook: H): Judgement<P, V>;
}

/** Options of {@link runChain}. */
export interface ChainOptions {
  /** The host's own signal; when it aborts the chain ends at once. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What the whole chain may take, in milliseconds. A hook gets no more than is left of it; one for which nothing is left
   * is not called, and gives no verdict. @default no bound beside the hooks' own deadlines
   */
  readonly timeoutMs?: number | undefined;
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
export async function runChain<P extends object, V, H extends ChainHook<P>>(
  hooks: readonly H[],
  input: Current<P>,
  { rules, signal, timeoutMs = Infinity, now = monotonic }: ChainOptions & { readonly rules: ChainRules<P, V, H> },
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
    const endAtMs = startedAtMs + timeoutMs;
    for (const hook of hooks) {
      if (deadline.aborted) return end(true);
      const scope = new CallScope(Math.min(startedAtMs + hook.timeoutMs, endAtMs), now);
      const step = { hook, current, rules, deadline, scope, startedAtMs, now };
      // A synchronous hook is settled without a promise of its own.
      let judged = callHook(step);
      if (judged instanceof Promise) judged = await judged;
      const endedAtMs = now();
      const ms = endedAtMs - startedAtMs;
      startedAtMs = endedAtMs;
      const { attempt } = scope;
      const base = { hook: hook.name, source: hook.source, point: rules.point, attempt };
      if ("kind" in judged) {
        const effect = deadline.aborted ? "abort_turn" : hook.policy.effectOf(judged);
        const failed = { ...base, outcome: "no_verdict", kind: judged.kind, error: judged.message, ms };
        records.push(effect === "continue" ? { ...failed, failed_open: true } : failed);
        if (deadline.aborted) return end(true);
        if (effect !== "continue") return { ...end(false), failure: { hook: hook.name, noVerdict: judged, effect } };
        continue;
      }
      const { outcome, withheld } = judged;
      const record = { ...base, outcome, ms };
      records.push(withheld ? { ...record, kind: withheld.kind, error: withheld.message } : record);
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

interface Timing {
  readonly scope: CallScope;
  readonly now: () => number;
}

interface Step<P extends object, V, H extends ChainHook<P>> extends Timing {
  readonly hook: H;
  readonly current: Current<P>;
  readonly rules: ChainRules<P, V, H>;
  readonly deadline: Deadline;
  readonly startedAtMs: number;
}

type Judged<P extends object, V> = Judgement<P, V> | NoVerdict;

function callHook<P extends object, V, H extends ChainHook<P>>(
  step: Step<P, V, H>,
): Judged<P, V> | Promise<Judged<P, V>> {
  const { hook, current, deadline, scope } = step;
  if (scope.deadlineAtMs <= step.startedAtMs)
    return toNoVerdict(new HookCallError("timeout", "no time was left for it"));
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
function isLate({ scope, now }: Timing): boolean {
  return now() >= scope.deadlineAtMs;
}

function toFailure(error: unknown, timing: Timing): NoVerdict {
  const failure = toNoVerdict(error);
  if (failure.kind === "timeout" || failure.kind === "aborted" || !isLate(timing)) return failure;
  return toNoVerdict(new HookCallError("timeout", "no reply within the deadline", { cause: error }));
}

function judge<P extends object, V, H extends ChainHook<P>>(reply: unknown, step: Step<P, V, H>): Judged<P, V> {
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
