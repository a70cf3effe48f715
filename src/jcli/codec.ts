import { LIFECYCLE, type LifecycleAction, type LifecycleEvent } from "./event.ts";

// What the two sides of a wire need to send contexts and to read results.
export { encodeContext, parseContext } from "./context.ts";
export { isLifecycleEvent, LIFECYCLE_EVENTS } from "./event.ts";
export { parseResult } from "./result.ts";

/** The JSON-RPC method that runs the hooks of one event: its params are the context, its result is theirs. */
export const RUN_METHOD = "hook.run";

/** Whether an action has an effect at an event. */
export function isActionOf(event: LifecycleEvent, action: LifecycleAction): boolean {
  return LIFECYCLE[event].actions.has(action);
}
