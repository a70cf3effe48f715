import { type ChainRules, type DetachedCall, type HookRecord, runChain } from "../chain/index.ts";
import type { Log } from "../log.ts";
import type { MountedChainHook } from "./mounted.ts";
import type { Origin } from "./payload.ts";
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
}

/** Calls a detached hook once the verdict has been given. */
export function callLater<P extends Origin, V>(
  { hook, current }: DetachedCall<P, MountedChainHook>,
  { rules, now, log, traceparent, onDetached }: CallLaterOptions<P, V>,
): void {
  const { mounted } = hook;
  const isTaken = mounted.later.push(async () => {
    const attached = { ...hook, detached: false };
    const { records } = await runChain<P, V, MountedChainHook>([attached], current, { rules, now, traceparent });
    for (const record of records) {
      mounted.count(record);
      const { point, would } = record;
      log.info("detached hook has answered", { hook: hook.name, point, would });
      onDetached?.(record, current.value);
    }
  });
  const { droppedCount: dropped } = mounted.later;
  if (isTaken || (dropped !== 1 && dropped % 1000 !== 0)) return;
  log.warn("detached hook is too slow; calls dropped", { hook: hook.name, dropped });
}
