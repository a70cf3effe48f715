export { toCanonicalJson } from "./canonical.ts";
export { type CollectorFetch, createHttpSink, type HttpSinkOptions } from "./http-sink.ts";
export { type Delivery, RecordHub, type SubscribeOptions, type Subscription } from "./hub.ts";
export { IsolateRecorder, type IsolateRecorderOptions } from "./isolate-recorder.ts";
export { RecentLoss } from "./loss.ts";
export { MASKED, type MaskPath, maskValue, parseMaskPath } from "./mask.ts";
export { diffJson, type JsonDiff, type PatchStep } from "./patch.ts";
export { createQueueSink, type RecordQueue } from "./queue-sink.ts";
export { type DecisionRecord, type HashText, type HookEntry, type PayloadMode } from "./record.ts";
export { Recorder, type RecorderOptions, type RecorderStatus, type Recording } from "./recorder.ts";
export { createIdleRecording, ReloadableRecording, type StoredRecording } from "./reloadable.ts";
export { type ChainState, NO_HASH, type Sealed, type SealedRecord } from "./seal.ts";
export { createLineSink, type RecordSink } from "./sink.ts";
export {
  type KeptRecords,
  type ListOptions,
  matchesFilter,
  MAX_PAGE_RECORDS,
  type RecordFilter,
  type RecordPage,
  type RecordStore,
} from "./store.ts";
export { type ChainBounds, type ChainProblem, type ChainReport, ChainVerifier } from "./verify.ts";
export type { SinkStatus } from "./writer.ts";
