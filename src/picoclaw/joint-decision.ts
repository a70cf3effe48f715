import type { HookRecord, ObservedDecision, OnDecision } from "../chain/index.ts";
import type { HostCallOptions, HostContext, LifecycleOutcome } from "./host.ts";
import { readTraceId } from "./observation.ts";

/** What both systems came to at a point. */
export interface JointVerdict {
  readonly action: string;
  readonly reason: string;
  readonly changed: boolean;
  readonly trace: { readonly records: readonly HookRecord[] };
}

/** The decision of a point's own hooks, held until those of the event that belongs to it have decided too. */
export class JointDecision {
  readonly #tell: OnDecision;
  readonly #startedAtMs = performance.now();
  #held: ObservedDecision | undefined;

  constructor(tell: OnDecision) {
    this.#tell = tell;
  }

  /** Takes what the point's own hooks have decided. */
  readonly hold: OnDecision = (decision) => {
    this.#held = decision;
  };

  /** Tells that the host has given up, unless it was told of before. */
  abort(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#tell({ ...held, action: "aborted", reason: "" });
  }

  /** Tells of it, once. Without a verdict of both it is told as it was held. */
  end(verdict?: JointVerdict): void {
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    if (verdict === undefined) {
      this.#tell(held);
      return;
    }
    const { action, reason, changed, trace } = verdict;
    const word = action === "continue" && changed ? "modify" : action;
    const ms = performance.now() - this.#startedAtMs;
    this.#tell({ ...held, ms, action: word, reason, records: trace.records });
  }
}

/** The decision of an event that a host has told of by itself. */
export function toRunDecision(
  context: HostContext,
  { result, halted, trace: { id, records } }: LifecycleOutcome,
  { ms, reason, caller, traceparent }: HostCallOptions & { readonly ms: number; readonly reason: string },
): ObservedDecision {
  const isChanged = Object.keys(result).length > 0;
  return {
    id,
    point: context.event,
    atMs: Date.now(),
    ms,
    traceId: readTraceId(traceparent) ?? id.replaceAll("-", ""),
    caller,
    input: { ...context },
    action: result.action ?? (isChanged ? "modify" : "continue"),
    reason: halted ? reason : "",
    records,
    changes: [],
  };
}
