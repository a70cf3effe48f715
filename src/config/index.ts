export type { Environment } from "./interpolate.ts";
export {
  createManagerFromConfig,
  type CreateSpawn,
  type HookCommand,
  type ManagerFromConfigOptions,
  type StartedHook,
  type StartedManager,
} from "./manager.ts";
export { nearestName } from "../nearest.ts";
export { type Config, parseConfig, type ParseConfigOptions } from "./parse.ts";
export { ConfigError, type ConfigProblem, formatProblem } from "./problem.ts";
export {
  type BuiltinConfig,
  type ConfigFile,
  type GatewayConfig,
  type HookDefaults,
  type HooksConfig,
  type ProcessConfig,
  type Scope,
  toConfigJsonSchema,
  type TokenConfig,
} from "./schema.ts";
