import type { HookContext } from "./context.ts";
import { type EventField, LIFECYCLE, type LifecycleEvent } from "./event.ts";

/** Which calls a hook is made for. Every field that is set must match; letter case counts. */
export interface HookFilter {
  /** The tool's name. */
  readonly tool_name?: string;
  /** Names of tools with `|` between them; not looked at when `tool_name` is set. */
  readonly tool_matcher?: string;
  /** What the model's name begins with. */
  readonly model_prefix?: string;
}

/** Whether a filter matches. A field that is set does not match what the context does not carry. */
export function matchesFilter(filter: HookFilter, { tool_name, model }: HookContext): boolean {
  if (filter.tool_name !== undefined) {
    if (tool_name !== filter.tool_name) return false;
  } else if (filter.tool_matcher !== undefined) {
    if (tool_name === undefined || !toolNames(filter.tool_matcher).includes(tool_name)) return false;
  }
  return filter.model_prefix === undefined || model?.startsWith(filter.model_prefix) === true;
}

const NEEDS: Readonly<Record<keyof HookFilter, EventField>> = {
  tool_name: "tool_name",
  tool_matcher: "tool_name",
  model_prefix: "model",
};

/** The first field because of which a filter can never match at an event; undefined when it can. */
export function impossibleField(filter: HookFilter, event: LifecycleEvent): keyof HookFilter | undefined {
  const { carries } = LIFECYCLE[event];
  for (const field of ["tool_name", "tool_matcher", "model_prefix"] as const) {
    const value = filter[field];
    if (value === undefined || (field === "tool_matcher" && filter.tool_name !== undefined)) continue;
    if (!carries.has(NEEDS[field])) return field;
    if (field === "tool_matcher" && toolNames(value).every((name) => name === "")) return field;
  }
  return undefined;
}

function toolNames(matcher: string): readonly string[] {
  return matcher.split("|").map((name) => name.trim());
}
