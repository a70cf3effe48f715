import * as z from "zod";
import { HookCallError, type NoVerdictKind } from "../errors.ts";
import { fieldSchemas, type INTERCEPTORS, toolResultSchema } from "../picoclaw/codec.ts";
import { parseResult } from "../jcli/codec.ts";
import type { LifecycleOutcome } from "../jcli/index.ts";
import type { ApprovalDecision, Open, Origin, ToolResult, Trace } from "../picoclaw/index.ts";

/** The deepest nesting of a reply; the platform's own JSON writer recurses. */
const MAX_DEPTH = 512;

type InterceptorSpec = (typeof INTERCEPTORS)[keyof typeof INTERCEPTORS];

// A newer gateway may know more kinds; they are only shown.
const kindSchema = z.custom<NoVerdictKind>((value) => typeof value === "string");

const traceSchema = z.looseObject({
  id: z.string(),
  records: z.array(
    z.looseObject({
      hook: z.string(),
      source: z.string(),
      point: z.string(),
      outcome: z.string(),
      kind: kindSchema.exactOptional(),
      error: z.string().exactOptional(),
      ms: z.number(),
      attempt: z.int(),
      failed_open: z.literal(true).exactOptional(),
    }),
  ),
});

const payload = z.looseObject({}).exactOptional();

const said = { system_message: z.string().exactOptional(), retry_feedback: z.string().exactOptional() };

const base = { ...said, reason: z.string().default(""), trace: traceSchema, request: payload, response: payload };

const flowSchema = z.looseObject({
  ...base,
  action: z.enum(["continue", "modify", "abort_turn", "hard_abort"]),
  result: payload,
});

const toolResult = z.custom<ToolResult>((value) => toolResultSchema.safeParse(value).success).exactOptional();

const toolSchema = z.looseObject({
  ...base,
  action: z.enum(["continue", "modify", "respond", "deny_tool", "abort_turn", "hard_abort"]),
  call: payload,
  result: toolResult,
});

const approvalSchema = z.looseObject({ approved: z.boolean(), reason: z.string().default(""), trace: traceSchema });

const checkSchema = z.looseObject({ ...toolSchema.shape, approved: z.boolean(), call: z.looseObject({}) });

/** How a reply is read: against what was sent, at a point. */
export interface Sent<P extends Origin> {
  readonly spec: InterceptorSpec;
  /** What was sent, as the gateway's hooks see it. */
  readonly payload: P;
}

interface Common<P extends Origin> {
  readonly reason: string;
  readonly changed: boolean;
  readonly trace: Trace;
  readonly payload: P;
  readonly system_message?: string;
  readonly retry_feedback?: string;
}

/** The decision at a point without tools' actions. */
export interface FlowDecision<P extends Origin> extends Common<P> {
  readonly action: "continue" | "abort_turn" | "hard_abort";
}

/** The decision on a tool call. */
export interface ToolDecision<P extends Origin> extends Common<P> {
  readonly action: FlowDecision<P>["action"] | "respond" | "deny_tool";
  readonly result?: ToolResult;
}

/**
 * Reads a decision on what a model is asked or answered, or on a tool's outcome.
 * @throws {HookCallError} `bad_result` when it is not one
 */
export function parseFlowDecision<P extends Origin>(reply: unknown, sent: Sent<P>): FlowDecision<P> {
  const { action, reason, trace, ...rest } = parse(flowSchema, reply);
  const changed = rest[keyOf(sent)];
  return { action: action === "modify" ? "continue" : action, reason, trace, ...toSaid(rest), ...apply(changed, sent) };
}

/**
 * Reads `before_tool`'s decision.
 * @throws {HookCallError} `bad_result` when it is not one
 */
export function parseToolDecision<P extends Origin>(reply: unknown, sent: Sent<P>): ToolDecision<P> {
  const { action, reason, trace, call, result, ...rest } = parse(toolSchema, reply);
  if (action !== "respond") {
    return { action: action === "modify" ? "continue" : action, reason, trace, ...toSaid(rest), ...apply(call, sent) };
  }
  // A responder's call always comes along, changed or not.
  return { action, reason, trace, result: required(result), ...apply(call, sent, isDifferent(call, sent)) };
}

function toSaid({ system_message, retry_feedback }: Pick<FlowDecision<Origin>, "system_message" | "retry_feedback">): {
  readonly system_message?: string;
  readonly retry_feedback?: string;
} {
  return {
    ...(system_message !== undefined && { system_message }),
    ...(retry_feedback !== undefined && { retry_feedback }),
  };
}

const outcomeSchema = z.looseObject({ halted: z.boolean().default(false), trace: traceSchema });

/**
 * Reads what an event's hooks came to.
 * @throws {HookCallError} `bad_result` or `unsupported_action` when it is not one
 */
export function parseLifecycleOutcome(reply: unknown): LifecycleOutcome {
  const { halted, trace, ...fields } = parse(outcomeSchema, reply);
  return { result: parseResult(fields), halted, trace };
}

/**
 * Reads `approve_tool`'s decision, with whatever else the approver has said.
 * @throws {HookCallError} `bad_result` when it is not one
 */
export function parseApprovalDecision(reply: unknown): ApprovalDecision {
  return parse(approvalSchema, reply);
}

/** The decision of both in one, with whatever else the approver has said. */
export interface CheckDecision<P extends Origin> extends ToolDecision<P> {
  readonly approved: boolean;
  readonly extra: Open;
}

/**
 * Reads `check_tool`'s decision.
 * @throws {HookCallError} `bad_result` when it is not one
 */
export function parseCheckDecision<P extends Origin>(reply: unknown, sent: Sent<P>): CheckDecision<P> {
  const { action, reason, trace, call, result, approved, ...extra } = parse(checkSchema, reply);
  // The call to run always comes along; only a call that goes on says whether it was changed.
  const changed = action === "modify" || isDifferent(call, sent);
  return {
    reason,
    trace,
    approved,
    extra,
    action: action === "modify" ? "continue" : action,
    ...(action === "respond" ? { result: required(result) } : {}),
    ...apply(call, sent, changed),
  };
}

function keyOf<P extends Origin>({ spec }: Sent<P>): "request" | "response" | "result" {
  if (spec.payloadKey === "call") throw new TypeError("a tool call is read by parseToolDecision");
  return spec.payloadKey;
}

function required(result: ToolResult | undefined): ToolResult {
  if (result === undefined) throw new HookCallError("bad_result", "respond without a result");
  return result;
}

/**
 * The payload that was sent with the changeable fields of the one that came back. The whole payload comes back, in the
 * wire's form: a field that is not there is empty.
 */
function apply<P extends Origin>(
  changed: Open | undefined,
  { spec, payload: sent }: Sent<P>,
  isChanged = changed !== undefined,
): { readonly payload: P; readonly changed: boolean } {
  if (changed === undefined || !isChanged) return { payload: sent, changed: false };
  const fields: Record<string, unknown> = {};
  for (const field of spec.changeable) {
    const value = changed[field];
    if (value === undefined) {
      if (!isEmpty(sent[field])) fields[field] = emptyOf(field);
    } else if (fieldSchemas[field].safeParse(value).success) {
      fields[field] = value;
    } else {
      throw new HookCallError("bad_result", `${spec.payloadKey}.${field} is not valid`);
    }
  }
  return { payload: { ...sent, ...fields }, changed: true };
}

/** Whether what came back is not what was sent. Key order tells: both sides keep what nobody changed as it was. */
function isDifferent<P extends Origin>(call: Open | undefined, { spec, payload: sent }: Sent<P>): boolean {
  if (call === undefined) return false;
  return spec.changeable.some((field) => JSON.stringify(call[field]) !== JSON.stringify(sent[field]));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function emptyOf(field: string): unknown {
  if (field === "messages" || field === "tools") return [];
  return field === "model" || field === "tool" ? "" : {};
}

function parse<S extends z.ZodType>(schema: S, reply: unknown): z.infer<S> {
  if (isTooDeep(reply, MAX_DEPTH)) throw new HookCallError("bad_result", `nested deeper than ${MAX_DEPTH} levels`);
  const { data, error } = schema.safeParse(reply);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const at = ["result", ...(issue?.path ?? []).map(String)].join(".");
  throw new HookCallError("bad_result", `${at}: ${issue?.message ?? "not valid"}`);
}

function isTooDeep(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return limit === 0 || Object.values(value).some((part) => isTooDeep(part, limit - 1));
}
