import type { StartedHook } from "../config/index.ts";
import { formatMs, formatTable, type Paint } from "./text.ts";

/** A table of hooks as they came up: name, transport, points, state, time, reason. */
export function formatHooks(hooks: readonly StartedHook[], paint: Paint): string {
  const rows = hooks.map(({ name, transport, points, observe, state, reason = "", ms, required }) => [
    name,
    transport,
    [...points, ...(observe.length > 0 ? ["event"] : [])].join(", "),
    { text: state, tone: state === "ready" ? ("good" as const) : ("bad" as const) },
    formatMs(ms),
    required && state !== "ready" ? `required: ${reason}` : reason,
  ]);
  return formatTable(["HOOK", "TRANSPORT", "POINTS", "STATE", "MS", "REASON"], rows, paint);
}
