import type { StartedHook, StartedHost } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import type { ReloadChange } from "../gateway/index.ts";
import { formatHookProblem } from "../jcli/index.ts";

/**
 * Hooks of a file that ran must not be gone because the file cannot be read any more.
 * @throws {HookgateError} `ERR_CONFIG` when a file has an error that it did not have
 */
export function assertReadable({ yaml: before }: StartedHost, { yaml: now }: StartedHost): void {
  const known = new Set(errorsOf(before));
  const lines = errorsOf(now).filter((line) => !known.has(line));
  if (lines.length > 0) throw new HookgateError("ERR_CONFIG", lines.join("\n"));
}

function errorsOf(yaml: StartedHost["yaml"]): readonly string[] {
  return (yaml?.files ?? []).flatMap(({ path, problems }) =>
    problems.filter(({ severity }) => severity === "error").map((problem) => formatHookProblem(problem, path)),
  );
}

/**
 * A required hook that ran before and is down now would be down under the old configuration too.
 * @throws {HookgateError} `ERR_CONFIG` when a required hook was started and did not come up
 */
export function assertRequired(started: readonly StartedHook[]): void {
  const missing = started.filter(({ required, state, kept }) => required && kept !== true && state !== "ready");
  if (missing.length === 0) return;
  const lines = missing.map(
    ({ name, reason = "it is not up" }) => `required hook "${name}" did not come up: ${reason}`,
  );
  throw new HookgateError("ERR_CONFIG", lines.join("\n"));
}

/** What changes when one configuration takes the place of another. */
export function toChange({ started: before }: StartedHost, { started: now, yaml }: StartedHost): ReloadChange {
  const kept = now.filter((hook) => hook.kept === true).map(({ name }) => name);
  const files = yaml?.files ?? [];
  return {
    kept,
    started: now.filter((hook) => hook.kept !== true).map(({ name }) => name),
    ended: before.map(({ name }) => name).filter((name) => !kept.includes(name)),
    warnings: [
      ...now.filter(({ state }) => state !== "ready").map(toWarning),
      ...files.flatMap(({ path, problems }) => problems.map((problem) => formatHookProblem(problem, path))),
    ],
  };
}

function toWarning({ name, state, reason }: StartedHook): string {
  return `hook "${name}" is ${state}${reason === undefined ? "" : `: ${reason}`}`;
}

/**
 * Lets sessions keep the hooks they registered. Where these stay in the memory of this process nothing waits.
 * @returns what is lost, one sentence each
 */
export async function adoptSessions(
  { yaml: before }: StartedHost,
  { yaml: now }: StartedHost,
): Promise<readonly string[]> {
  // What is in a store is there for whoever comes.
  if (before === undefined || now === undefined || before.lifecycle.storedSessions !== undefined) return [];
  const { storedSessions: stored } = now.lifecycle;
  const lost = await (stored ?? now.lifecycle.sessions).adopt(before.lifecycle.sessions);
  return lost.map((problem) => `a hook of a session is gone: ${problem}`);
}
