/**
 * The chain as its specification has it, as plainly as it can be written: deep copies and a loop. It shares no code with
 * the implementation, so that the two can be compared.
 * @module
 */

type Json = Record<string, unknown>;

/** How a hook behaves when it is called with its own copy of the payload. */
export type Behaviour =
  /** It returns this, at once or later. */
  | { readonly does: "reply"; readonly make: (payload: Json) => unknown }
  | { readonly does: "throw" }
  /** It never answers. */
  | { readonly does: "hang" }
  /** It answers this, but past its deadline. */
  | { readonly does: "be late"; readonly make: (payload: Json) => unknown }
  /** It makes the host give up, and answers this. */
  | { readonly does: "abort the host"; readonly make: (payload: Json) => unknown };

/** A hook of the model. */
export interface ModelHook {
  readonly name: string;
  readonly priority: number;
  readonly isRemote: boolean;
  readonly behaviour: Behaviour;
}

/** How a chain ends. */
export interface ModelOutcome {
  readonly action: string;
  readonly reason: string;
  readonly call: Json;
  readonly result?: unknown;
  /** `name: outcome` of each hook that was called. */
  readonly trail: readonly string[];
}

const SUPPORTED = ["continue", "modify", "respond", "deny_tool", "abort_turn", "hard_abort"];

/** A deep copy. */
export function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** In-process hooks first; inside a group lower priority first, then lower name. */
function inOrder(hooks: readonly ModelHook[]): readonly ModelHook[] {
  return hooks.toSorted((a, b) => {
    if (a.isRemote !== b.isRemote) return a.isRemote ? 1 : -1;
    if (a.priority !== b.priority) return a.priority - b.priority;
    return a.name < b.name ? -1 : 1;
  });
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

/** before_tool; undefined when the host gave up. */
export function intercept(input: Json, hooks: readonly ModelHook[]): ModelOutcome | undefined {
  let current = copy(input);
  const trail: string[] = [];
  for (const { name, behaviour } of inOrder(hooks)) {
    if (behaviour.does === "abort the host") return undefined;
    const reply = behaviour.does === "reply" ? (copy(behaviour.make(copy(current)) ?? {}) as unknown) : "no verdict";
    const { verdict, call, result } = read(reply, current);
    trail.push(`${name}: ${verdict === "continue" && text(call) !== text(current) ? "modify" : verdict}`);
    if (verdict === "no_verdict") continue;
    const reason = isObject(reply) && typeof reply["reason"] === "string" ? reply["reason"] : "";
    if (verdict === "respond") return { action: verdict, reason, call, result, trail };
    if (verdict !== "continue") return { action: verdict, reason, call: current, trail };
    current = call;
  }
  return { action: "continue", reason: "", call: current, trail };
}

function read(reply: unknown, current: Json): { verdict: string; call: Json; result?: unknown } {
  const none = { verdict: "no_verdict", call: current };
  if (!isObject(reply) || !isText(reply["action"]) || !isText(reply["reason"])) return none;
  const action = (reply["action"] as string | undefined | null) || "continue";
  if (!SUPPORTED.includes(action)) return none;
  if (action === "deny_tool" || action.endsWith("abort") || action === "abort_turn")
    return { verdict: action, call: current };
  const given = reply["call"] ?? {};
  if (!isObject(given)) return none;
  const { tool = current["tool"], arguments: args = current["arguments"] } = given;
  if (!isText(tool) || (args !== null && !isObject(args))) return none;
  const call = { ...current, tool: tool ?? "", arguments: args ?? {} };
  if (action !== "respond") return { verdict: "continue", call };
  const result = reply["result"] ?? given["hook_result"];
  if (!isObject(result) || !isText(result["for_llm"])) return none;
  return { verdict: "respond", call, result: { for_llm: "", silent: false, is_error: false, async: false, ...result } };
}

/** approve_tool; undefined when the host gave up. */
export function approve(
  input: Json,
  hooks: readonly ModelHook[],
): { readonly approved: boolean; readonly reason: string } | undefined {
  for (const { name, behaviour } of inOrder(hooks)) {
    const failed = { approved: false, reason: `tool approval hook "${name}" failed` };
    if (behaviour.does === "abort the host") return undefined;
    if (behaviour.does === "throw") return failed;
    if (behaviour.does !== "reply") return { approved: false, reason: `tool approval hook "${name}" timed out` };
    const reply = copy(behaviour.make(copy(input)) ?? {});
    if (!isObject(reply)) return failed;
    const { approved, reason } = reply;
    if (approved === true) continue;
    if ((approved ?? false) !== false || !isText(reason)) return failed;
    return { approved: false, reason: typeof reason === "string" ? reason : "" };
  }
  return { approved: true, reason: "" };
}

/** The text of a value, whatever the order of its keys; as in JSON, what is undefined in a list is null. */
export function text(value: unknown): string {
  if (Array.isArray(value)) return `[${Array.from(value, text).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys
    .toSorted(byCodeUnit)
    .map((key) => `${JSON.stringify(key)}:${text(value[key])}`)
    .join()}}`;
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : 1;
}
