// What the two sides of a wire need to send contexts and to read results.
export { parseContext } from "./context.ts";
export { isLifecycleEvent, LIFECYCLE, LIFECYCLE_EVENTS } from "./event.ts";
export { parseResult } from "./result.ts";

/** The JSON-RPC method that runs the hooks of one event: its params are the context, its result is theirs. */
export const RUN_METHOD = "hook.run";
