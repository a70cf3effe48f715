export { readAnswer, readOutput } from "./answer.ts";
export { RUN_METHOD } from "./codec.ts";
export {
  encodeContext,
  type HookContext,
  type HostContext,
  type Message,
  type MessageToolCall,
  parseContext,
  toHookContext,
} from "./context.ts";
export type { HookMetrics } from "./counters.ts";
export type {
  BashDefinition,
  CheckHttp,
  DefinitionFinding,
  HookDefinition,
  HookType,
  HttpDefinition,
  LlmDefinition,
  OnError,
} from "./definition.ts";
export {
  type EventField,
  type EventSpec,
  isLifecycleEvent,
  LIFECYCLE,
  LIFECYCLE_EVENTS,
  type LifecycleAction,
  type LifecycleEvent,
  type ReplacedField,
  type ResultField,
} from "./event.ts";
export { type FileHook, type HookFile, MAX_FILE_CHARS, readHookFile, type ReadHookFileOptions } from "./file.ts";
export type { ContextOf, LifecycleHandlers, ResultOf } from "./handler.ts";
export { type HookFilter, impossibleField, matchesFilter } from "./filter.ts";
export type { BuiltinHandler, BuiltinScope, HookLevel, LifecycleHookStatus } from "./hook.ts";
export type { LifecycleHost, LifecycleOutcome, LifecycleRunOptions } from "./host.ts";
export { type BuiltinHookOptions, LifecycleManager, type ListedHook } from "./manager.ts";
export type { LifecycleManagerOptions } from "./manager-options.ts";
export {
  type AskModel,
  createBashPort,
  createHttpPort,
  createLlmPort,
  type EndpointMessage,
  type LifecycleCall,
  type LifecycleEndpoint,
  type LifecyclePort,
  type LifecyclePorts,
  type ModelQuestion,
  type RunCommand,
  type ShellCommand,
} from "./port.ts";
export { formatHookProblem, type HookFileProblem } from "./problem.ts";
export { type HookResult, parseResult } from "./result.ts";
export { createMemorySessionStore, type MemorySessionStoreOptions } from "./memory-session-store.ts";
export { createRemoteSessionStore, type RemoteSessionStoreOptions, type SessionPeer } from "./remote-session-store.ts";
export type { SessionHooks } from "./session.ts";
export type { SavedHook } from "./session-entry.ts";
export {
  type KeptSession,
  MAX_SESSION_BYTES,
  MAX_SWEPT_SESSIONS,
  type OnSessionNews,
  readSession,
  SESSION_KEEP_MS,
  SESSION_TOUCH_MS,
  type SessionChange,
  type SessionHookStore,
  type SessionNews,
  type SessionReplacement,
  type SessionRow,
  type SessionRowChange,
  sessionsUnavailable,
  toRowChange,
} from "./session-store.ts";
export { SessionListeners } from "./session-listeners.ts";
export { type SessionStorage, SessionTable, type SessionTableOptions } from "./session-table.ts";
export type { StoredSessionHooks } from "./stored-sessions.ts";
export {
  type HookFiles,
  type LoadedHookFile,
  type LoadedHookFiles,
  loadHookFiles,
  type LoadHookFilesOptions,
  trustHookFile,
  type TrustStore,
} from "./sources.ts";
export { type Placeholder, PLACEHOLDERS, renderPrompt } from "./template.ts";
