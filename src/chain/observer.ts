import type { CallScope } from "./scope.ts";
import type { HookRecord } from "./verdict.ts";

/** One call as an observer sees its end. */
export interface ObservedCall<P extends object> {
  readonly scope: CallScope;
  readonly before: P;
  /** The payload the hook put in the place of `before`; absent when it changed nothing. */
  readonly next: P | undefined;
}

/** Told of each call of a chain, for traces and records. What it is given is never changed later. */
export interface ChainObserver<P extends object> {
  /** A hook is about to be called; what is set on the scope goes with the call. */
  onCall(hook: { readonly name: string; readonly source: string }, scope: CallScope): void;
  /** The call has ended. */
  onRecord(record: HookRecord, call: ObservedCall<P>): void;
}

/** What one hook changed. */
export interface ObservedChange {
  /** Which of the records it belongs to. */
  readonly index: number;
  readonly before: object;
  readonly after: object;
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
