import { type ChainRules, type DetachedCall, type HookRecord, type OnDecision, runChain } from "../chain/index.ts";
import type { Log } from "../log.ts";
import type { MountedChainHook } from "./mounted.ts";
import { readTraceId } from "./observation.ts";
import type { Origin } from "./payload.ts";
import { createTimeId, toUuid } from "./time-id.ts";
import type { TrustedHook } from "./trust.ts";

/** Told what a detached hook would have done. */
export type OnDetached = (record: HookRecord, payload: Origin) => void;

/** Options of {@link callLater}. */
export interface CallLaterOptions<P extends Origin, V> {
  readonly rules: ChainRules<P, V, TrustedHook<P>>;
  readonly now: () => number;
  readonly log: Log;
  /** The trace of the call that came to the hook. */
  readonly traceparent: string | undefined;
  readonly onDetached: OnDetached | undefined;
  /** Told of the call as of a decision of its own, with action `detached`. */
  readonly onDecision: OnDecision | undefined;
  /** The id of the decision it comes after. */
  readonly id: string | undefined;
  readonly caller: string | undefined;
}

/** Calls a detached hook once the verdict has been given. */
export function callLater<P extends Origin, V>(
  { hook, current }: DetachedCall<P, MountedChainHook>,
  options: CallLaterOptions<P, V>,
): void {
  const { rules, now, log, traceparent, caller, onDetached } = options;
  const { mounted } = hook;
  const isTaken = mounted.later.push(async () => {
    const attached = { ...hook, detached: false };
    const { records } = await runChain<P, V, MountedChainHook>([attached], current, {
      rules,
      now,
      traceparent,
      caller,
    });
    for (const record of records) {
      mounted.count(record);
      const { point, would } = record;
      log.info("detached hook has answered", { hook: hook.name, point, would });
      onDetached?.(record, current.value);
    }
    tell(records, current.value, options);
  });
  const { droppedCount: dropped } = mounted.later;
  if (isTaken || (dropped !== 1 && dropped % 1000 !== 0)) return;
  log.warn("detached hook is too slow; calls dropped", { hook: hook.name, dropped });
}

function tell<P extends Origin, V>(
  records: readonly HookRecord[],
  input: P,
  { rules, traceparent, onDecision, id = "", caller }: CallLaterOptions<P, V>,
): void {
  const hex = createTimeId();
  onDecision?.({
    id: toUuid(hex),
    point: rules.point,
    atMs: Date.now(),
    ms: records.reduce((sum, { ms }) => sum + ms, 0),
    traceId: readTraceId(traceparent) ?? hex,
    caller,
    input,
    action: "detached",
    reason: `after decision ${id}`,
    records,
    changes: [],
  });
}
