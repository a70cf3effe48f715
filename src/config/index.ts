export {
  type ApprovalsFromConfigOptions,
  createApprovalsFromConfig,
  type GatewayStore,
  keepApprovalsMs,
  type OpenApprovalStore,
  toApprovalSettings,
} from "./approvals.ts";
export { type ApprovalsConfig, type ApprovalStoreKind, type StoreAddress } from "./approvals-schema.ts";
export {
  createLinksFromConfig,
  createNotifierFromConfig,
  createTargetsFromConfig,
  type NotifierFromConfigOptions,
  type TargetsFromConfigOptions,
  toRunNotification,
} from "./notify.ts";
export type { NotifyConfig } from "./notify-schema.ts";
export { createBuiltins } from "./builtins.ts";
export { type CaseExpectation, type CaseFile, type HookCase, parseCases } from "./cases.ts";
export { formatPath, type JsonPath, valueAt } from "./path.ts";
export { parseRedisAddress, type RedisAddress } from "./redis-address.ts";
export type { Environment } from "./interpolate.ts";
export { createHostFromConfig, type HostFromConfigOptions, type StartedHost } from "./host.ts";
export {
  createLifecycleFromConfig,
  type LifecycleFromConfigOptions,
  type StartedLifecycle,
  type YamlPorts,
  listHookFiles,
} from "./lifecycle.ts";
export type { LlmConfig, YamlConfig } from "./yaml-schema.ts";
export { createLifecycleHttp, type LifecycleHttpOptions } from "./lifecycle-http.ts";
export {
  createManagerFromConfig,
  type ManagerFromConfigOptions,
  type StartedHook,
  type StartedManager,
} from "./manager.ts";
export { createRemoteHook, openRemote, type OpenRemoteOptions, type RemoteHook } from "./open-remote.ts";
export { nearestName } from "../nearest.ts";
export { type Config, MAX_CONFIG_CHARS, parseConfig, type ParseConfigOptions } from "./parse.ts";
export { type PortLease, PortPool } from "./port-pool.ts";
export type { ConnectOptions, CreateSpawn, HookCommand, HookConnection, HookPorts } from "./ports.ts";
export { collectProblems, ConfigError, type ConfigProblem, formatProblem } from "./problem.ts";
export {
  type GatewayConfig,
  type HostConfig,
  type JwtAlgorithm,
  type JwtConfig,
  type Scope,
  type TokenConfig,
} from "./gateway-schema.ts";
export { keepsDatabase, type MetricsConfig, type RecordPlace, type RecordsConfig } from "./records-schema.ts";
export {
  type AlgorithmName,
  type HttpConfig,
  type ProcessConfig,
  type RemoteConfig,
  type SchemeName,
  type ServiceConfig,
  type StdioConfig,
} from "./process-schema.ts";
export { createGatewayKeys, createHookSignature, type SignatureContext } from "./signature.ts";
export {
  type BuiltinConfig,
  type ConfigFile,
  type HookDefaults,
  type HooksConfig,
  toConfigJsonSchema,
} from "./schema.ts";
