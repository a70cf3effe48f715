import type { StartedHook } from "../config/index.ts";
import { formatHookProblem, type LifecycleHookStatus, type LoadedHookFile } from "../jcli/index.ts";
import { formatMs, formatTable, type Paint, toLine } from "./text.ts";

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

/** A line for each hook file, and one for each problem in it. */
export function formatFiles(files: readonly LoadedHookFile[], paint: Paint): string {
  if (files.length === 0) return "no hooks.yaml was found\n";
  const lines = files.flatMap(({ path, hooks, problems, isUntrusted }) => {
    const count = `${hooks.length} hook${hooks.length === 1 ? "" : "s"}`;
    return [
      `${toLine(path)}: ${isUntrusted ? paint("warn", "not trusted") : count}`,
      ...problems.map((problem) =>
        paint(problem.severity === "error" ? "bad" : "warn", `  ${toLine(formatHookProblem(problem, path))}`),
      ),
    ];
  });
  return `${lines.join("\n")}\n`;
}

/** A table of the hooks of `hooks.yaml`: event, level, type, what it runs, its counts and its last error. */
export function formatLifecycleHooks(hooks: readonly LifecycleHookStatus[], paint: Paint): string {
  const rows = hooks.map(({ event, level, type, label, metrics, last_error = "" }) => [
    event,
    level,
    type,
    label,
    String(metrics.executions),
    { text: String(metrics.failures), tone: metrics.failures > 0 ? ("bad" as const) : ("dim" as const) },
    String(metrics.skipped),
    formatMs(metrics.total_ms),
    last_error,
  ]);
  return formatTable(["EVENT", "LEVEL", "TYPE", "HOOK", "RUNS", "FAILED", "SKIPPED", "MS", "LAST ERROR"], rows, paint);
}
