export { type ChainOptions, type ChainOutcome, type DetachedCall, runChain, type RunOptions } from "./chain.ts";
export { Current, type Encode } from "./current.ts";
export { assertDepth, createDraft, releaseDraft } from "./draft.ts";
export { exceedsDepth, isSameJson, MAX_DEPTH } from "./json.ts";
export { LatencyHistogram, type LatencyQuantiles } from "./latency.ts";
export type { ChainHook, ChainRules, Judgement } from "./hook.ts";
export { compareRank, IN_PROCESS, type Ranked } from "./order.ts";
export type { ChainObserver, ObservedChange, ObservedDecision, OnDecision } from "./observer.ts";
export {
  causeOf,
  createFailurePolicy,
  FAILURE_EFFECTS,
  FAILURE_RULES,
  type FailureCause,
  type FailureRules,
  NO_VERDICT_KINDS,
} from "./policy.ts";
export { CallScope } from "./scope.ts";
export {
  failClosed,
  type FailureEffect,
  type FailurePolicy,
  failOpen,
  type HookRecord,
  type NoVerdict,
  toNoVerdict,
  type Trace,
} from "./verdict.ts";
