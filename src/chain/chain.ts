import { HookCallError, type NoVerdictKind } from "../errors.ts";
import { Current } from "./current.ts";
import { Deadline } from "./deadline.ts";
import type { ChainObserver } from "./observer.ts";
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
   * What all calls of the chain may take together, in milliseconds: the one under way is cut when it is used up, and no
   * other is made. @default no bound
   */
  readonly budgetMs?: number | undefined;
  /**
   * What the caller waits, in milliseconds. A hook gets no more than is left of it; one for which nothing is left is not
   * called, and gives no verdict. @default no bound
   */
  readonly timeoutMs?: number | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
  /** What the run is called; it comes back in the outcome. @default none */
  readonly id?: string | undefined;
  /** The W3C traceparent that calls to remote hooks carry, where the observer sets no other. @default each its own */
  readonly traceparent?: string | undefined;
}

/** Options of {@link runChain}. */
export interface RunOptions<P extends object, V, H extends ChainHook<P> = ChainHook<P>> extends ChainOptions {
  readonly rules: ChainRules<P, V, H>;
  /** Told of each call. It must not throw. @default nobody */
  readonly observer?: ChainObserver<P> | undefined;
}

/** How a chain ended. */
export interface ChainOutcome<P extends object, V> {
  /** As it was given. */
  readonly id?: string | undefined;
  /** As it was given. */
  readonly traceparent?: string | undefined;
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
export async function runChain<P extends object, V, H extends ChainHook<P>>(
  hooks: readonly H[],
  input: Current<P>,
  options: RunOptions<P, V, H>,
): Promise<ChainOutcome<P, V>> {
  const run = new ChainRun<P, V, H>(input, options);
  try {
    for (const hook of hooks) {
      let next = run.admit(hook);
      for (let attempt = 1; next === "call"; attempt += 1) {
        const step = run.toStep(hook, attempt);
        // A synchronous hook is settled without a promise of its own.
        let judged = callHook(step);
        if (judged instanceof Promise) judged = await judged;
        next = run.apply(judged, step);
      }
      if (next !== "next_hook") return next;
    }
    return run.end();
  } finally {
    run.deadline.dispose();
  }
}

/** What follows a look at a hook or one of its attempts: a call, the next hook, or the end of the chain. */
type Next<P extends object, V> = "call" | "next_hook" | ChainOutcome<P, V>;

class ChainRun<P extends object, V, H extends ChainHook<P>> {
  readonly deadline: Deadline;
  readonly #input: Current<P>;
  readonly #rules: ChainRules<P, V, H>;
  readonly #now: () => number;
  readonly #endsAtMs: number;
  readonly #timeoutAtMs: number;
  readonly #records: HookRecord[] = [];
  readonly #id: string | undefined;
  readonly #traceparent: string | undefined;
  readonly #observer: ChainObserver<P> | undefined;
  #current: Current<P>;
  /** When the attempt that runs, or the next one, began: the end of the one before. */
  #startedAtMs: number;

  constructor(input: Current<P>, options: RunOptions<P, V, H>) {
    const { rules, signal, now = monotonic, budgetMs = Infinity, timeoutMs = Infinity } = options;
    this.deadline = new Deadline(now, signal);
    this.#input = input;
    this.#current = input;
    this.#rules = rules;
    this.#id = options.id;
    this.#traceparent = options.traceparent;
    this.#observer = options.observer;
    this.#now = now;
    this.#startedAtMs = now();
    this.#endsAtMs = this.#startedAtMs + budgetMs;
    this.#timeoutAtMs = this.#startedAtMs + timeoutMs;
  }

  /** Whether a hook is called at all. */
  admit(hook: H): Next<P, V> {
    if (this.deadline.aborted) return this.end();
    const isExhausted = this.#startedAtMs >= this.#endsAtMs;
    if (!isExhausted && hook.appliesTo?.(this.#current.value) !== false) return "call";
    const { name, source } = hook;
    const outcome = isExhausted ? "out_of_budget" : "filtered";
    this.#records.push({ hook: name, source, point: this.#rules.point, outcome, ms: 0, attempt: 0 });
    return isExhausted ? this.end({ exhausted: true }) : "next_hook";
  }

  toStep(hook: H, attempt: number): Step<P, V, H> {
    const deadlineAtMs = Math.min(this.#startedAtMs + hook.timeoutMs, this.#endsAtMs, this.#timeoutAtMs);
    const scope = new CallScope(deadlineAtMs, this.#now);
    if (this.#traceparent !== undefined) scope.traceparent = this.#traceparent;
    this.#observer?.onCall(hook, scope);
    return { hook, attempt, scope, current: this.#current, rules: this.#rules, deadline: this.deadline };
  }

  /** Records an attempt and does what its verdict, or its hook's failure policy, says. */
  apply(judged: Judged<P, V>, { hook, attempt, scope }: Step<P, V, H>): Next<P, V> {
    const endedAtMs = this.#now();
    const ms = endedAtMs - this.#startedAtMs;
    this.#startedAtMs = endedAtMs;
    const { name, source } = hook;
    // A transport may have tried again on its own.
    const base = { hook: name, source, point: this.#rules.point, ms, attempt: attempt + scope.attempt - 1 };
    if ("kind" in judged) {
      const failed = { ...base, outcome: "no_verdict", kind: judged.kind, error: judged.message };
      const mayRetry = attempt <= (hook.retryCount ?? 0) && endedAtMs < this.#endsAtMs && !this.deadline.aborted;
      const effect = this.deadline.aborted ? "abort_turn" : mayRetry ? undefined : hook.policy.effectOf(judged);
      this.#record({ ...failed, ...(effect === "continue" && { failed_open: true }), ...scope.noted }, scope);
      if (effect === undefined) return "call";
      if (effect === "continue") return "next_hook";
      return this.deadline.aborted ? this.end() : this.end({ failure: { hook: name, noVerdict: judged, effect } });
    }
    const { outcome, withheld, next, halt } = judged;
    const partly = withheld && { kind: withheld.kind, error: withheld.message };
    this.#record({ ...base, outcome, ...partly, ...scope.noted }, scope, next);
    // A verdict that came with the host's giving up, as from a hook that caused it, is not given either.
    if (this.deadline.aborted) return this.end();
    if (next !== undefined) this.#current = new Current(next);
    return halt === undefined ? "next_hook" : this.end({ halt: { hook: name, verdict: halt } });
  }

  #record(record: HookRecord, scope: CallScope, next?: P): void {
    this.#records.push(record);
    this.#observer?.onRecord(record, { scope, before: this.#current.value, next });
  }

  end(ending: Partial<ChainOutcome<P, V>> = {}): ChainOutcome<P, V> {
    const changed = this.#current !== this.#input;
    const { aborted } = this.deadline;
    const base = { id: this.#id, traceparent: this.#traceparent, current: this.#current, records: this.#records };
    return { ...base, changed, exhausted: false, aborted, ...ending };
  }
}

interface Step<P extends object, V, H extends ChainHook<P>> {
  readonly hook: H;
  /** 1 for the first. */
  readonly attempt: number;
  readonly current: Current<P>;
  readonly rules: ChainRules<P, V, H>;
  readonly deadline: Deadline;
  readonly scope: CallScope;
}

type Judged<P extends object, V> = Judgement<P, V> | NoVerdict;

function callHook<P extends object, V, H extends ChainHook<P>>(
  step: Step<P, V, H>,
): Judged<P, V> | Promise<Judged<P, V>> {
  const { hook, current, deadline, scope } = step;
  if (isLate(scope)) return toNoVerdict(new HookCallError("timeout", "no time was left for it"));
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
  if (failure.kind === "timeout" || failure.kind === "aborted" || !isLate(scope)) return failure;
  return toNoVerdict(new HookCallError("timeout", "no reply within the deadline", { cause: error }));
}

function judge<P extends object, V, H extends ChainHook<P>>(reply: unknown, step: Step<P, V, H>): Judged<P, V> {
  try {
    if (isLate(step.scope)) return toNoVerdict(new HookCallError("timeout", "no reply within the deadline"));
    return step.rules.judge(reply, step.current.value, step.hook);
  } catch (error) {
    return toNoVerdict(error);
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
