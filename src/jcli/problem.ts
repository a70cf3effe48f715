import type { DefinitionFinding } from "./definition.ts";

/** Something about a file of hooks that a person should know. An entry with an error is left out. */
export interface HookFileProblem extends DefinitionFinding {
  /** The event the entry is under, as the file has it; absent for the file as a whole. */
  readonly event?: string;
  /** Where, such as `pre_send_message[0].timeout`; `$` for the file as a whole. */
  readonly path: string;
  /** Counts from 1; absent when the file was not read. */
  readonly line?: number;
  /** Counts from 1, in UTF-16 code units. */
  readonly column?: number;
}

/** A problem as one line: `hooks.yaml:3:5 pre_send_message[0].timeout: expected a number, got "5"`. */
export function formatHookProblem(
  { severity, path, message, value, allowed, nearest, line, column }: HookFileProblem,
  file: string,
): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  const mark = severity === "warning" ? "warning: " : "";
  const got = value === undefined ? "" : `, got ${value}`;
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  const list = allowed === undefined || allowed.length === 0 ? "" : ` (expected one of: ${allowed.join(", ")})`;
  return `${place} ${mark}${path}: ${message}${got}${hint}${list}`;
}
