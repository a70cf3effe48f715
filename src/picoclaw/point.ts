/** A place in a turn where hooks are asked. */
export type HookPoint = InterceptorPoint | "approve_tool";

/** A point whose hooks may change what passes through. */
export type InterceptorPoint = "before_llm" | "after_llm" | "before_tool" | "after_tool";

/** What an interceptor may answer. `continue` and `modify` are the same: a payload that comes along replaces. */
export type HookAction = "continue" | "modify" | "respond" | "deny_tool" | "abort_turn" | "hard_abort";

/** A field of a payload that some point's hooks may change. */
export type ChangeableField = "model" | "messages" | "tools" | "options" | "response" | "tool" | "arguments" | "result";

/** The key under which a reply carries the point's payload. */
export type PayloadKey = "request" | "response" | "call" | "result";

/** Every hook point, in the order of a turn. */
export const HOOK_POINTS: readonly HookPoint[] = [
  "before_llm",
  "after_llm",
  "before_tool",
  "approve_tool",
  "after_tool",
];

/** What an interceptor point allows. */
export interface InterceptorSpec {
  readonly point: InterceptorPoint;
  readonly payloadKey: PayloadKey;
  readonly changeable: readonly ChangeableField[];
  readonly actions: ReadonlySet<string>;
}

const always = ["continue", "modify", "abort_turn", "hard_abort"];

/** The interceptor points: what each may change and answer. */
export const INTERCEPTORS: Readonly<Record<InterceptorPoint, InterceptorSpec>> = {
  before_llm: {
    point: "before_llm",
    payloadKey: "request",
    changeable: ["model", "messages", "tools", "options"],
    actions: new Set(always),
  },
  after_llm: {
    point: "after_llm",
    payloadKey: "response",
    changeable: ["response"],
    actions: new Set(always),
  },
  before_tool: {
    point: "before_tool",
    payloadKey: "call",
    changeable: ["tool", "arguments"],
    actions: new Set([...always, "respond", "deny_tool"]),
  },
  after_tool: {
    point: "after_tool",
    payloadKey: "result",
    changeable: ["tool", "result"],
    actions: new Set(always),
  },
};

/** Whether a string names a hook point. */
export function isHookPoint(value: string): value is HookPoint {
  return (HOOK_POINTS as readonly string[]).includes(value);
}
