import type { ManagerCallOptions } from "./manager-options.ts";

/**
 * The options of a call one by one: those of a host may be an object of a class, and a spread would lose what such an
 * object has by accessors, its signal for one.
 */
export function toCallOptions(options: ManagerCallOptions | undefined): ManagerCallOptions {
  return {
    signal: options?.signal,
    timeoutMs: options?.timeoutMs,
    caller: options?.caller,
    traceparent: options?.traceparent,
    onDecision: options?.onDecision,
  };
}
