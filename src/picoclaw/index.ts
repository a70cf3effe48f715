export {
  type BuiltinContext,
  type BuiltinFactory,
  type BuiltinOptions,
  BuiltinRegistry,
  createBuiltinRegistry,
  createDenyToolsHook,
  createLogHook,
  type DenyToolsConfig,
  type LogConfig,
} from "./builtin.ts";
export {
  acceptHello,
  encodeHello,
  EVENT_METHODS,
  type EventMethod,
  HELLO_METHOD,
  type HookMode,
  PROTOCOL_VERSION,
  toMethod,
  toModes,
} from "./codec.ts";
export {
  createGreeting,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
  type GreetingOptions,
  type HookGreeting,
} from "./dialect.ts";
export {
  createEventFilter,
  EVENT_KINDS,
  type EventFilter,
  type HookEvent,
  type HostEvent,
  OBSERVE_ALL,
} from "./event.ts";
export { type CompositeHostParts, createCompositeHost } from "./composite.ts";
export { createHookHandler, type HandlerContext, type HookHandler, type HookHandlerOptions } from "./handler.ts";
export {
  type AbortReply,
  type AfterLlmChange,
  type AfterToolChange,
  type ApprovalReply,
  type BeforeLlmChange,
  type BeforeToolChange,
  defineHook,
  type DenyReply,
  HANDLERS,
  type Hook,
  type HookContext,
  type RespondReply,
} from "./hook.ts";
export type {
  ApprovalDecision,
  ApprovalNotice,
  HookHost,
  HostCallOptions,
  HostContext,
  LifecycleOutcome,
  LlmRequestDecision,
  LlmResponseDecision,
  ToolCallDecision,
  ToolCheckDecision,
  ToolOutcomeDecision,
  Trace,
} from "./host.ts";
export { createLocalPort, type LocalPortOptions } from "./local.ts";
export { FAILURE_EFFECTS, FAILURE_RULES, type FailureEffect, type FailureRules } from "../chain/index.ts";
export { type CacheHint, type CacheOptions } from "./cache.ts";
export {
  APPROVAL_BUDGET_MS,
  type HookBudgets,
  type HookPolicies,
  type HookTimeouts,
  INTERCEPTOR_BUDGET_MS,
} from "./limits.ts";
export type { CheckToolOptions, HookManagerOptions, ManagerCallOptions, MountOptions } from "./manager-options.ts";
export { HookManager } from "./manager.ts";
export { matchSchema } from "./match-schema.ts";
export { type HookMatch, MATCH_FIELDS, type MatchField, uncarriedField } from "./match.ts";
export type { FailOpenCount, LastNoVerdict, MountedHookStatus } from "./mounted.ts";
export {
  assertOperable,
  EXECUTION_MODES,
  findContradictions,
  type HookExecutionMode,
  type OperationOptions,
  type OperationProblem,
} from "./operation.ts";
export type {
  HostPayload,
  LlmRequest,
  LlmResponse,
  Message,
  Meta,
  ModelResponse,
  ModelToolCall,
  Open,
  Origin,
  ToolApproval,
  ToolCall,
  ToolDefinition,
  ToolOutcome,
  ToolResult,
} from "./payload.ts";
export { HOOK_POINTS, type HookAction, type HookPoint, isHookPoint } from "./point.ts";
export type { HookPort, PortStatus } from "./port.ts";
export { answerHost, HOST_METHODS, type HostMethod, type HostRequest, type WireDecision } from "./rpc.ts";
export { ReloadableHost, type RetirableHost } from "./reloadable.ts";
export { type ChannelMessage, createRemotePort, type HookChannel, type RemotePortOptions } from "./remote.ts";
export { HOOK_GRANTS, type HookGrant, type TrustOptions } from "./trust.ts";
export type { HookSpan, HookTracer, ObservedVerdict, PointSpan, PointStart } from "./observation.ts";
export { createTurn, type ResumeOptions, resumeTurn, runTurn, Turn } from "./turn.ts";
export {
  type CompactKind,
  type CompactOptions,
  type CompactStep,
  type ConversationOptions,
  endSession,
  type SessionOptions,
  startSession,
  type StopStep,
  type UserStep,
  withContext,
} from "./turn-message.ts";
export { TurnAbortedError, type TurnOptions, type TurnStage, type TurnStatus } from "./turn-state.ts";
export type {
  CallModel,
  ExecuteTool,
  LlmStep,
  PendingToolStep,
  SettledToolStep,
  ToolInvocation,
  ToolStep,
  TurnRequest,
} from "./turn-step.ts";
export { MAX_SUSPENDED, type SuspendedCall, type SuspendedTurn } from "./turn-suspend.ts";
