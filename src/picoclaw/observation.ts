import type { CallScope, ChainObserver, ChainOutcome, HookRecord, ObservedChange, OnDecision } from "../chain/index.ts";
import type { HostCallOptions } from "./host.ts";
import type { ManagerCallOptions } from "./manager-options.ts";
import { createTimeId, toUuid } from "./time-id.ts";
import type { Origin } from "./payload.ts";

/** A hook call in a trace. */
export interface HookSpan {
  /** The W3C traceparent that goes with the call. */
  readonly traceparent: string;
  end(record: HookRecord): void;
}

/** A hook point in a trace. */
export interface PointSpan {
  readonly traceparent: string;
  startHook(hook: { readonly name: string; readonly source: string }): HookSpan;
  end(verdict: ObservedVerdict): void;
}

/** What a trace is told of a point when it begins. */
export interface PointStart {
  readonly payload: Origin;
  /** The trace the host's call belongs to. */
  readonly traceparent: string | undefined;
}

/** Traces hook points and the calls at them. */
export interface HookTracer {
  /** Begins the span of a point; undefined when nobody traces, which must cost next to nothing. */
  start(point: string, call: PointStart): PointSpan | undefined;
}

/** How a point ended, in a word and a reason. */
export interface ObservedVerdict {
  readonly action: string;
  readonly reason: string;
}

/** Options of {@link startObservation}. */
export interface ObservationOptions {
  readonly onDecision: OnDecision | undefined;
  readonly tracer: HookTracer | undefined;
}

const NONE: readonly ObservedChange[] = [];
const TRACEPARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** A W3C traceparent as it came, when it is one. */
export function checkTraceparent(traceparent: string | undefined): string | undefined {
  return readTraceId(traceparent) === undefined ? undefined : traceparent;
}

/** The trace id of a W3C traceparent; undefined when it is not one. */
export function readTraceId(traceparent: string | undefined): string | undefined {
  return traceparent === undefined ? undefined : TRACEPARENT.exec(traceparent)?.[1];
}

/** A call of a point as it is followed. */
interface ObservedCall<P extends Origin> extends ManagerCallOptions {
  readonly payload: P;
}

/** Follows one call of a point for whoever records or traces; undefined when nobody does. */
export function startObservation<P extends Origin>(
  point: string,
  { payload, caller, traceparent, onDecision: own }: ObservedCall<P>,
  { onDecision, tracer }: ObservationOptions,
): Observation<P> | undefined {
  const span = tracer?.start(point, { payload, traceparent });
  const tell = own ?? onDecision;
  if (tell === undefined && span === undefined) return undefined;
  const parts = { caller, traceparent: span?.traceparent ?? traceparent, onDecision: tell, span };
  return new Observation(point, payload, parts);
}

interface Parts extends Pick<HostCallOptions, "caller" | "traceparent"> {
  readonly onDecision: OnDecision | undefined;
  readonly span: PointSpan | undefined;
}

/** One call of a point as it is followed. */
export class Observation<P extends Origin> implements ChainObserver<P> {
  readonly id: string;
  readonly #point: string;
  readonly #input: P;
  readonly #parts: Parts;
  readonly #spans: Map<CallScope, HookSpan> | undefined;
  readonly #traceId: string;
  readonly #startedAtMs = performance.now();
  #changes: ObservedChange[] | undefined;

  constructor(point: string, input: P, parts: Parts) {
    this.#point = point;
    this.#input = input;
    this.#parts = parts;
    if (parts.span !== undefined) this.#spans = new Map();
    const hex = createTimeId();
    this.id = toUuid(hex);
    this.#traceId = readTraceId(parts.traceparent) ?? hex;
  }

  /** The W3C traceparent that hooks are called with where the call has no span of its own. */
  get traceparent(): string {
    return this.#parts.traceparent ?? `00-${this.#traceId}-${this.#traceId.slice(16)}-00`;
  }

  onCall(hook: { readonly name: string; readonly source: string }, scope: CallScope): void {
    const span = this.#parts.span?.startHook(hook);
    if (span === undefined) return;
    this.#spans?.set(scope, span);
    scope.traceparent = span.traceparent;
  }

  onReturn(record: HookRecord, scope: CallScope): void {
    this.#spans?.get(scope)?.end(record);
  }

  onChange(change: ObservedChange): void {
    this.#changes ??= [];
    this.#changes.push(change);
  }

  /** Tells those who want to know how it ended. */
  end(outcome: ChainOutcome<P, ObservedHalt>): void {
    const verdict = outcome.aborted ? { action: "aborted", reason: "" } : describeOutcome(this.#point, outcome);
    this.#parts.span?.end(verdict);
    this.#parts.onDecision?.({
      id: this.id,
      point: this.#point,
      atMs: Date.now(),
      ms: performance.now() - this.#startedAtMs,
      traceId: this.#traceId,
      caller: this.#parts.caller,
      input: this.#input,
      action: verdict.action,
      reason: verdict.reason,
      records: outcome.records,
      changes: this.#changes ?? NONE,
    });
  }
}

/** What is read of a verdict that ended a chain. */
export interface ObservedHalt {
  readonly reason: string;
  readonly action?: unknown;
}

/** What a chain came to, in the words of its point. */
function describeOutcome(
  point: string,
  { changed, halt, failure }: ChainOutcome<Origin, ObservedHalt>,
): ObservedVerdict {
  const isApproval = point === "approve_tool";
  if (halt !== undefined) {
    const { action, reason } = halt.verdict;
    return { action: isApproval || typeof action !== "string" ? "denied" : action, reason };
  }
  if (failure !== undefined) {
    const { hook, noVerdict, effect } = failure;
    const reason = `hook "${hook}" ${noVerdict.kind === "timeout" || noVerdict.kind === "budget" ? "timed out" : "failed"}`;
    if (isApproval) return { action: effect === "deny" ? "denied" : "abort_turn", reason: `tool approval ${reason}` };
    return { action: effect === "deny" && point === "before_tool" ? "deny_tool" : "abort_turn", reason };
  }
  if (isApproval) return { action: "approved", reason: "" };
  return { action: changed ? "modify" : "continue", reason: "" };
}
