import type { CallScope } from "./scope.ts";
import type { HookRecord } from "./verdict.ts";

/** Told of each call of a chain, for traces and records. What it is given is never changed later. */
export interface ChainObserver<P extends object> {
  /** A hook is about to be called; what is set on the scope goes with the call. */
  onCall(hook: { readonly name: string; readonly source: string }, scope: CallScope): void;
  /** The call has ended. Hooks that are called together return in any order. */
  onReturn(record: HookRecord, scope: CallScope): void;
  /** The hook that returned last has put another payload in the place of the one it was given. */
  onChange(change: ObservedChange<P>): void;
}

/** What one hook changed. */
export interface ObservedChange<P extends object = object> {
  /** Which of the records it belongs to. */
  readonly index: number;
  readonly before: P;
  readonly after: P;
}

/**
 * One decision of a hook manager, as it is handed to whoever keeps or counts decisions. The payloads are those the chain
 * held: they are not copies, and nobody may change them.
 */
export interface ObservedDecision {
  /** The id of the trace in the host's answer. */
  readonly id: string;
  readonly point: string;
  /** Milliseconds since the epoch when the decision was made. */
  readonly atMs: number;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** 32 hex digits: the trace of the host's call, or one named after `id`. */
  readonly traceId: string;
  /** Who asked, such as the name of the host's token. */
  readonly caller: string | undefined;
  /** The payload as the first hook saw it. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The verdict as the host is told it, or `aborted` where the host gave up. */
  readonly action: string;
  readonly reason: string;
  readonly records: readonly HookRecord[];
  /** What hooks changed, in the order of their calls. */
  readonly changes: readonly ObservedChange[];
}

/** Told of each decision, after it was made. It must not throw and must not take long: the host still waits. */
export type OnDecision = (decision: ObservedDecision) => void;
