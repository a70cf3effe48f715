import { HookCallError, HookgateError } from "../errors.ts";
import { callHook, type Judged, type Step } from "./call.ts";
import { Current } from "./current.ts";
import { Deadline } from "./deadline.ts";
import type { ChainHook, ChainRules, Judgement } from "./hook.ts";
import type { ChainObserver } from "./observer.ts";
import { CallScope } from "./scope.ts";
import { type FailureEffect, type HookRecord, type NoVerdict, toNoVerdict } from "./verdict.ts";

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
  /**
   * What a used-up budget means. `end_chain`: hooks that were not reached are left out. `ask_hooks`: each of them gives no
   * verdict, of kind `budget` as the hook that was cut, and its own failure policy decides: an approver that was not
   * reached has not approved. @default "end_chain"
   */
  readonly whenExhausted?: "end_chain" | "ask_hooks" | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
  /** What the run is called; it comes back in the outcome. @default none */
  readonly id?: string | undefined;
  /** The W3C traceparent that calls to remote hooks carry, where the observer sets no other. @default each its own */
  readonly traceparent?: string | undefined;
  /** Who asks, for hooks in this process alone. @default nobody is named */
  readonly caller?: string | undefined;
}

/** Options of {@link runChain}. */
export interface RunOptions<P extends object, V, H extends ChainHook<P> = ChainHook<P>> extends ChainOptions {
  readonly rules: ChainRules<P, V, H>;
  /** Which hooks are still to be called when a hook has changed the payload. @default those that were */
  readonly reselect?: ((payload: P, after: H) => readonly H[]) | undefined;
  /** Told of each record and whose it is. It must not throw. @default nobody */
  readonly onRecord?: ((record: HookRecord, hook: H) => void) | undefined;
  /** Told of each call and change. It must not throw. @default nobody */
  readonly observer?: ChainObserver<P> | undefined;
}

/** A hook that is to be called after the chain, with the payload as it was at the hook's place. */
export interface DetachedCall<P extends object, H> {
  readonly hook: H;
  readonly current: Current<P>;
}

/** How a chain ended. */
export interface ChainOutcome<P extends object, V, H = ChainHook<P>> {
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
  /** What verdicts that let the chain go on said beside; absent when they said nothing. */
  readonly said?: Readonly<Record<string, unknown>> | undefined;
  /** The detached hooks that were reached; absent when there were none. */
  readonly detached?: readonly DetachedCall<P, H>[] | undefined;
}

const monotonic = (): number => performance.now();

/**
 * Calls hooks one after the other, or neighbours that are `parallel` at once, each under its own deadline, and applies
 * their verdicts in order. It never rejects: what goes wrong in a hook is a record and, by the hook's failure policy,
 * perhaps the end of the chain.
 */
export function runChain<P extends object, V, H extends ChainHook<P>>(
  hooks: readonly H[],
  input: Current<P>,
  options: RunOptions<P, V, H>,
): Promise<ChainOutcome<P, V, H>> {
  return callInOrder(hooks, new ChainRun<P, V, H>(input, options), options.reselect);
}

async function callInOrder<P extends object, V, H extends ChainHook<P>>(
  hooks: readonly H[],
  run: ChainRun<P, V, H>,
  reselect?: (payload: P, after: H) => readonly H[],
): Promise<ChainOutcome<P, V, H>> {
  try {
    let queue = hooks;
    for (let at = 0; at < queue.length;) {
      const hook = queue[at];
      if (hook === undefined) break;
      const seen = run.current;
      const end = hook.parallel === true ? endOfGroup(queue, at) : at + 1;
      let next: Next<P, V, H> = end - at > 1 ? await run.callTogether(queue.slice(at, end)) : run.admit(hook);
      for (let attempt = 1; next === "call"; attempt += 1) {
        const step = run.toStep(hook, attempt);
        // A synchronous hook is settled without a promise of its own.
        let judged = callHook(step);
        if (judged instanceof Promise) judged = await judged;
        next = run.apply(judged, step);
      }
      if (next !== "next_hook") return next;
      at = end;
      if (reselect === undefined || run.current === seen) continue;
      queue = reselect(run.current.value, hook);
      at = 0;
    }
    return run.end();
  } finally {
    run.deadline.dispose();
  }
}

function endOfGroup(hooks: readonly { readonly parallel?: boolean | undefined }[], start: number): number {
  let end = start + 1;
  while (hooks[end]?.parallel === true) end += 1;
  return end;
}

/** What follows a look at a hook or one of its attempts: a call, the next hook, or the end of the chain. */
type Next<P extends object, V, H> = "call" | "next_hook" | ChainOutcome<P, V, H>;

/** Whose record it is; the scope only where it was called in this run. */
interface Called<H> {
  readonly hook: H;
  readonly scope?: CallScope;
}

class ChainRun<P extends object, V, H extends ChainHook<P>> {
  readonly deadline: Deadline;
  current: Current<P>;
  readonly #input: Current<P>;
  readonly #options: RunOptions<P, V, H>;
  readonly #rules: ChainRules<P, V, H>;
  readonly #now: () => number;
  readonly #endsAtMs: number;
  readonly #timeoutAtMs: number;
  readonly #asksHooks: boolean;
  readonly #records: HookRecord[] = [];
  #detached: DetachedCall<P, H>[] | undefined;
  #said: Readonly<Record<string, unknown>> | undefined;
  /** When the attempt that runs, or the next one, began: the end of the one before. */
  #startedAtMs: number;
  #isExhausted = false;
  /** Whether a hook that comes before has ended the chain while this one was called. */
  #isSuperseded = false;
  /** Whether a verdict or a failure policy has ended the run. */
  #isDecided = false;
  #onDecided: (() => void) | undefined;

  constructor(input: Current<P>, options: RunOptions<P, V, H>) {
    const { rules, signal, now = monotonic, budgetMs = Infinity, timeoutMs = Infinity } = options;
    this.deadline = new Deadline(now, signal);
    this.#input = input;
    this.current = input;
    this.#options = options;
    this.#rules = rules;
    this.#now = now;
    this.#startedAtMs = now();
    this.#endsAtMs = this.#startedAtMs + budgetMs;
    this.#timeoutAtMs = this.#startedAtMs + timeoutMs;
    this.#asksHooks = options.whenExhausted === "ask_hooks";
  }

  /** Whether a hook is called at all. */
  admit(hook: H): Next<P, V, H> {
    if (this.deadline.aborted) return this.end();
    const isExhausted = this.#startedAtMs >= this.#endsAtMs;
    if (!isExhausted && hook.detached !== true && hook.appliesTo?.(this.current.value) !== false) return "call";
    const base = { hook: hook.name, source: hook.source, point: this.#rules.point, ms: 0, attempt: 0 };
    if (isExhausted && !this.#asksHooks) {
      this.#record({ ...base, outcome: "out_of_budget" }, { hook });
      return this.end({ exhausted: true });
    }
    if (hook.appliesTo?.(this.current.value) === false) {
      this.#record({ ...base, outcome: "filtered" }, { hook });
      return "next_hook";
    }
    if (hook.detached === true) {
      this.#detached ??= [];
      this.#detached.push({ hook, current: this.current });
      return "next_hook";
    }
    this.#isExhausted = true;
    const unasked = toNoVerdict(new HookCallError("budget", "not called: the point's budget was used up"));
    return this.#fail(unasked, base, { hook });
  }

  toStep(hook: H, attempt: number): Step<P, V, H> {
    const startedAtMs = this.#startedAtMs;
    const ownAtMs = Math.min(startedAtMs + hook.timeoutMs, this.#timeoutAtMs);
    const scope = new CallScope(Math.min(ownAtMs, this.#endsAtMs), this.#now);
    if (this.#asksHooks && this.#endsAtMs < ownAtMs) scope.lateKind = "budget";
    scope.traceparent = this.#options.traceparent;
    scope.caller = this.#options.caller;
    this.#options.observer?.onCall(hook, scope);
    return { hook, attempt, startedAtMs, scope, current: this.current, rules: this.#rules, deadline: this.deadline };
  }

  /** Records an attempt and does what its verdict, or its hook's failure policy, says. */
  apply(judged: Judged<P, V>, step: Step<P, V, H>): Next<P, V, H> {
    const { hook, attempt, scope } = step;
    const endedAtMs = this.#now();
    const ms = endedAtMs - this.#startedAtMs;
    this.#startedAtMs = endedAtMs;
    const { name, source } = hook;
    // A transport may have tried again on its own.
    const base = { hook: name, source, point: this.#rules.point, ms, attempt: attempt + scope.attempt - 1 };
    if ("kind" in judged) {
      if (this.#isSuperseded) {
        this.#record({ ...base, outcome: "superseded", ...scope.noted }, step);
        return this.end();
      }
      const mayRetry = attempt <= (hook.retryCount ?? 0) && endedAtMs < this.#endsAtMs && !this.deadline.aborted;
      if (!mayRetry) return this.#fail(judged, { ...base, ...scope.noted }, step);
      this.#record({ ...base, outcome: "no_verdict", kind: judged.kind, error: judged.message, ...scope.noted }, step);
      return "call";
    }
    const { outcome, withheld, next, halt, said } = judged;
    const partly = withheld && { kind: withheld.kind, error: withheld.message };
    const verdict = hook.audit === true ? { outcome: "audit", would: toWould(judged) } : { outcome };
    this.#record({ ...base, ...verdict, ...partly, ...scope.noted }, step);
    // A verdict that came with the host's giving up, as from a hook that caused it, is not given either.
    if (this.deadline.aborted) return this.end();
    if (hook.audit === true) return "next_hook";
    if (next !== undefined) this.#change(next);
    if (said !== undefined) this.#said = { ...this.#said, ...said };
    return halt === undefined ? "next_hook" : this.end({ halt: { hook: name, verdict: halt } });
  }

  /**
   * Calls hooks at once, each in a run of its own, with what is left of the time. The first in order that ends the chain
   * does so; those after it are cut as soon as that is known, and those before it are waited for.
   */
  async callTogether(group: readonly H[]): Promise<Next<P, V, H>> {
    const { reselect: _, onRecord: __, ...options } = this.#options;
    const budgetMs = this.#endsAtMs - this.#startedAtMs;
    const timeoutMs = this.#timeoutAtMs - this.#startedAtMs;
    const members: ChainRun<P, V, H>[] = [];
    const ends: Promise<ChainOutcome<P, V, H>>[] = [];
    for (const hook of group) {
      const member = new ChainRun<P, V, H>(this.current, { ...options, budgetMs, timeoutMs });
      const index = members.push(member);
      member.#onDecided = (): void => members.slice(index).forEach((later) => later.#supersede());
      ends.push(callInOrder([hook], member));
      if (member.#isDecided) break;
    }
    const outcomes = await Promise.all(ends);
    this.#startedAtMs = this.#now();
    return this.#join(group, outcomes);
  }

  end(ending: Partial<ChainOutcome<P, V, H>> = {}): ChainOutcome<P, V, H> {
    if (ending.halt !== undefined || ending.failure !== undefined) {
      this.#isDecided = true;
      this.#onDecided?.();
    }
    return {
      id: this.#options.id,
      traceparent: this.#options.traceparent,
      current: this.current,
      changed: this.current !== this.#input,
      exhausted: this.#isExhausted,
      aborted: this.deadline.aborted,
      records: this.#records,
      ...(this.#detached && { detached: this.#detached }),
      ...(this.#said && { said: this.#said }),
      ...ending,
    };
  }

  #fail(noVerdict: NoVerdict, base: Omit<HookRecord, "outcome">, called: Called<H>): Next<P, V, H> {
    const { hook } = called;
    const { aborted } = this.deadline;
    const effect = aborted ? "abort_turn" : hook.policy.effectOf(noVerdict);
    const failed = { ...base, outcome: "no_verdict", kind: noVerdict.kind, error: noVerdict.message };
    if (hook.audit === true) {
      this.#record({ ...failed, would: effect }, called);
      return aborted ? this.end() : "next_hook";
    }
    this.#record(effect === "continue" ? { ...failed, failed_open: true } : failed, called);
    if (effect === "continue") return "next_hook";
    return aborted ? this.end() : this.end({ failure: { hook: hook.name, noVerdict, effect } });
  }

  #join(group: readonly H[], outcomes: readonly ChainOutcome<P, V, H>[]): Next<P, V, H> {
    let ending: ChainOutcome<P, V, H> | undefined;
    for (const [index, outcome] of outcomes.entries()) {
      const [hook] = group.slice(index);
      for (const record of outcome.records)
        if (hook !== undefined) this.#record(ending ? asUnused(record) : record, { hook });
      if (outcome.exhausted) this.#isExhausted = true;
      if (outcome.said !== undefined) this.#said = { ...this.#said, ...outcome.said };
      if (outcome.detached !== undefined && ending === undefined) (this.#detached ??= []).push(...outcome.detached);
      if (outcome.halt !== undefined || outcome.failure !== undefined) ending ??= outcome;
    }
    if (this.deadline.aborted) return this.end();
    if (ending?.halt !== undefined) return this.end({ halt: ending.halt });
    if (ending?.failure !== undefined) return this.end({ failure: ending.failure });
    return "next_hook";
  }

  #supersede(): void {
    this.#isSuperseded = true;
    this.deadline.cut(new HookgateError("ERR_ABORTED", "a hook before this one has ended the chain"));
  }

  #change(next: P): void {
    const before = this.current.value;
    this.current = new Current(next);
    this.#options.observer?.onChange({ index: this.#records.length - 1, before, after: next });
  }

  #record(record: HookRecord, { hook, scope }: Called<H>): void {
    this.#records.push(record);
    this.#options.onRecord?.(record, hook);
    if (scope !== undefined) this.#options.observer?.onReturn(record, scope);
  }
}

/** The record of a hook that was called beside the one that ended the chain: nothing went on because of it. */
function asUnused(record: HookRecord): HookRecord {
  const { failed_open: _, ...rest } = record;
  return rest;
}

const WOULD_LIMIT = 300;

function toWould({ outcome, reason = "" }: Judgement<object, unknown>): string {
  return (reason === "" ? outcome : `${outcome}: ${reason}`).slice(0, WOULD_LIMIT);
}
