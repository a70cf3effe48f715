/** What decides a hook's place in a chain. */
export interface Ranked {
  readonly name: string;
  readonly source: string;
  /** Lower runs first; negative is allowed. */
  readonly priority: number;
}

/** The source of hooks that run in the host's own process. */
export const IN_PROCESS = "in-process";

/**
 * Orders hooks: in-process ones first, then all others as one group; inside a group by priority, then by name in
 * code-unit order. Priority never crosses the group border.
 */
export function compareRank(a: Ranked, b: Ranked): number {
  const group = Number(a.source !== IN_PROCESS) - Number(b.source !== IN_PROCESS);
  if (group !== 0) return group;
  if (a.priority !== b.priority) return a.priority - b.priority;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
