import type { NoVerdictKind } from "../errors.ts";
import type { Current } from "./current.ts";
import type { CallScope } from "./scope.ts";
import type { FailurePolicy } from "./verdict.ts";

/** A hook as the engine sees it. */
export interface ChainHook<P extends object> {
  readonly name: string;
  readonly source: string;
  /** Deadline of one call in milliseconds, 1 to 2^31 - 1. */
  readonly timeoutMs: number;
  readonly policy: FailurePolicy;
  /** How often a call without a verdict is made again, at once, before the policy is asked. @default 0 */
  readonly retryCount?: number | undefined;
  /**
   * Whether the hook is called at the same time as its neighbours that say so too. It takes a hook that is `readOnly`, for
   * there is no order in which changes could be applied. @default false
   */
  readonly parallel?: boolean | undefined;
  /** Whether a reply of the hook that changes the payload is no verdict, of kind `bad_result`. @default false */
  readonly readOnly?: boolean | undefined;
  /** Whether what the hook answers is recorded as `would` and not applied. @default false */
  readonly audit?: boolean | undefined;
  /** Whether the hook is not called but listed in {@link ChainOutcome.detached}, to be called later. @default false */
  readonly detached?: boolean | undefined;
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
  /** Why, for people; shown where the verdict is not applied. */
  readonly reason?: string;
  /** What goes on to the host although the chain goes on; of several the last counts. */
  readonly said?: Readonly<Record<string, unknown>>;
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
