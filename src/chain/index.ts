export {
  type ChainHook,
  type ChainOptions,
  type ChainOutcome,
  type ChainRules,
  type Judgement,
  runChain,
  type RunOptions,
} from "./chain.ts";
export { Current, type Encode } from "./current.ts";
export { MAX_TIMEOUT_MS } from "./deadline.ts";
export { assertDepth, createDraft, releaseDraft } from "./draft.ts";
export { exceedsDepth, isJsonObject, isSameJson, type JsonObject, MAX_DEPTH } from "./json.ts";
export { compareRank, IN_PROCESS, type Ranked } from "./order.ts";
export type { ChainObserver, ObservedCall, ObservedChange, ObservedDecision, OnDecision } from "./observer.ts";
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
