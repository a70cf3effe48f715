/**
 * Everything of hookgate that runs on any runtime.
 * @module
 */

export {
  HookCallError,
  HookgateError,
  type HookgateErrorCode,
  type HookgateErrorOptions,
  type NoVerdictKind,
  isHookCallError,
  isHookgateError,
  toHttpStatus,
  toRpcCode,
} from "./errors.ts";
export { type Log, type LogFields, silentLog } from "./log.ts";
