import type * as z from "zod";
import { isObject, type JsonObject } from "../is-object.ts";
import { assertDepth, type ChainRules, IN_PROCESS, isSameJson, type Judgement, releaseDraft } from "../chain/index.ts";
import { HookCallError } from "../errors.ts";
import { toChangedField, toToolResult } from "./normalize.ts";
import { fieldSchemas, type Origin, type ToolApproval, type ToolResult, toolResultSchema } from "./payload.ts";
import type { ChangeableField, HookAction, InterceptorSpec } from "./point.ts";
import { type TrustedHook, withholdUngranted } from "./trust.ts";

/** The verdict of an interceptor that ended the chain. */
export interface InterceptorHalt {
  readonly action: Exclude<HookAction, "continue" | "modify">;
  readonly reason: string;
  readonly result?: ToolResult;
}

/** The verdict of an approver that refused, with whatever else its reply held. */
export interface ApprovalHalt {
  readonly approved: false;
  readonly reason: string;
  readonly [key: string]: unknown;
}

/** Told of replies that look like another dialect or another letter case: those keys are never read. */
export type OnForeignKeys = (hook: string, keys: readonly string[]) => void;

/** How interceptors' replies are read at one point, whatever its payload. */
export interface InterceptorRules {
  readonly point: string;
  judge<P extends Origin>(reply: unknown, current: P, hook: TrustedHook<P>): Judgement<P, InterceptorHalt>;
}

/** Builds the {@link InterceptorRules} of a point. */
export function createInterceptorRules(spec: InterceptorSpec, onForeignKeys: OnForeignKeys): InterceptorRules {
  return {
    point: spec.point,
    judge<P extends Origin>(reply: unknown, current: P, hook: TrustedHook<P>): Judgement<P, InterceptorHalt> {
      if (reply === undefined || reply === null) return { outcome: "continue" };
      const fields = toFields(reply, "the result");
      const action = readString(fields["action"], "action") || "continue";
      const foreign = foreignKeys(fields, EXPECTED);
      if (foreign !== undefined) onForeignKeys(hook.name, foreign);
      if (!isAllowed(action, spec)) {
        throw new HookCallError("unsupported_action", `unsupported action "${action.slice(0, 40)}" at ${spec.point}`);
      }
      const reason = readString(fields["reason"], "reason");
      if (action === "respond") return respond(fields, reason, { spec, current, hook });
      if (action !== "continue" && action !== "modify") {
        hook.cache?.commit(reply);
        return { outcome: action, reason, halt: { action, reason } };
      }
      const payload = unwrap(fields[spec.payloadKey], spec);
      if (payload !== undefined && hook.source !== IN_PROCESS) {
        const inside = foreignKeys(payload, spec.changeable)?.map((key) => `${spec.payloadKey}.${key}`);
        if (inside !== undefined) onForeignKeys(hook.name, inside);
      }
      const next = merge(payload, { spec, current, hook });
      if (next === current) hook.cache?.commit(reply);
      // What is put back for want of a grant was a change all the same.
      if (hook.readOnly === true) return toChange(next, current);
      return spec.point === "before_llm" ? judgeRequest(next, current, hook) : toChange(next, current);
    },
  };
}

/** How approvers' replies are read. */
export function createApprovalRules(
  onForeignKeys: OnForeignKeys,
): ChainRules<ToolApproval, ApprovalHalt, TrustedHook<ToolApproval>> {
  return {
    point: "approve_tool",
    judge(reply, _current, hook): Judgement<ToolApproval, ApprovalHalt> {
      const fields = reply === undefined || reply === null ? {} : toFields(reply, "the result");
      const approved = fields["approved"];
      if (typeof approved !== "boolean" && approved !== undefined && approved !== null) {
        throw new HookCallError("bad_result", `approved: expected a boolean, got ${typeof approved}`);
      }
      const reason = readString(fields["reason"], "reason");
      if (approved === true) {
        hook.cache?.commit(reply);
        return { outcome: "approved", ...toSaid(own(fields["approval"], hook)) };
      }
      const foreign = foreignKeys(fields, EXPECTED);
      if (foreign !== undefined) onForeignKeys(hook.name, foreign);
      hook.cache?.commit(reply);
      // How long this gateway may use the reply again is not for its own caller.
      const { cache: _, ...said } = fields;
      const extra = own(said, hook);
      return { outcome: "denied", reason, halt: { ...(isObject(extra) && extra), approved: false, reason } };
    },
  };
}

/** What an approver says of a question to people goes on to the host, also when they approved. */
function toSaid(approval: unknown): Pick<Judgement<ToolApproval, ApprovalHalt>, "said"> {
  return isObject(approval) ? { said: { approval } } : {};
}

interface Site<P extends Origin> {
  readonly spec: InterceptorSpec;
  readonly current: P;
  readonly hook: TrustedHook<P>;
}

function toChange<P extends Origin>(next: P, current: P): Judgement<P, InterceptorHalt> {
  return next === current ? { outcome: "continue" } : { outcome: "modify", next };
}

/** A model request loses only what was not granted; the rest of the reply counts. */
function judgeRequest<P extends Origin>(changed: P, current: P, hook: TrustedHook<P>): Judgement<P, InterceptorHalt> {
  if (changed === current) return { outcome: "continue" };
  const { next, missing } = withholdUngranted(changed, current, hook.trust.grants);
  if (missing.length === 0) return toChange(next, current);
  const message = `put back, for the hook has no grant for it: ${missing.join(", ")}`;
  return { ...toChange(next, current), withheld: { kind: "not_granted", message } };
}

function respond<P extends Origin>(fields: JsonObject, reason: string, site: Site<P>): Judgement<P, InterceptorHalt> {
  if (site.hook.readOnly === true) {
    throw new HookCallError("bad_result", "a hook that is declared read-only responded in the tool's place");
  }
  if (!site.hook.trust.grants.has("respond")) {
    throw new HookCallError("not_granted", "the hook has no grant to respond in a tool's place");
  }
  const call = unwrap(fields["call"], site.spec);
  const given = fields["result"] ?? call?.["hook_result"];
  if (given === undefined || given === null) {
    throw new HookCallError("bad_result", "respond without a result; the tool runs as if the hook were absent");
  }
  const result = own(given, site.hook);
  assertToolResult(result);
  const next = merge(call, site);
  const halt: InterceptorHalt = { action: "respond", reason, result: toToolResult(result) };
  const verdict = { outcome: "respond", reason, halt };
  return next === site.current ? verdict : { ...verdict, next };
}

/** The point's payload out of a reply: null is none, and the two payloads with a wrapper are accepted without it too. */
function unwrap(payload: unknown, { point, payloadKey }: InterceptorSpec): JsonObject | undefined {
  if (payload === undefined || payload === null) return undefined;
  const fields = toFields(payload, payloadKey);
  if (point === "after_llm" && !("response" in fields) && ("content" in fields || "tool_calls" in fields)) {
    return { response: fields };
  }
  if (point === "after_tool" && !("result" in fields) && "for_llm" in fields) return { result: fields };
  return fields;
}

/** Applies the changeable fields that a returned payload has; the host's own fields are never taken from it. */
function merge<P extends Origin>(payload: JsonObject | undefined, { spec, current, hook }: Site<P>): P {
  if (payload === undefined) return current;
  const changes: Record<string, unknown> = {};
  let isChanged = false;
  for (const field of spec.changeable) {
    const given = payload[field];
    if (given === undefined) continue;
    const value = own(given === null ? emptyOf(field) : given, hook);
    // An after_tool hook may rename the tool, and leaves the name alone with an empty one.
    if (field === "tool" && value === "" && spec.point === "after_tool") continue;
    const before = current[field];
    if (value === before) continue;
    check(fieldSchemas[field], value, `${spec.payloadKey}.${field}`);
    const normalized = toChangedField(field, value);
    if (isSameJson(normalized, before)) continue;
    changes[field] = normalized;
    isChanged = true;
  }
  return isChanged ? { ...current, ...changes } : current;
}

function emptyOf(field: ChangeableField): unknown {
  if (field === "messages" || field === "tools") return [];
  return field === "model" || field === "tool" ? "" : {};
}

/** What a hook returned, shared with nobody and not nested too deep. */
function own(value: unknown, hook: { readonly source: string }): unknown {
  if (hook.source === IN_PROCESS) return releaseDraft(value);
  assertDepth(value);
  return value;
}

function toFields(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  const got = Array.isArray(value) ? "an array" : typeof value;
  throw new HookCallError("bad_result", `${path}: expected an object, got ${got}`);
}

function readString(value: unknown, path: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string")
    throw new HookCallError("bad_result", `${path}: expected a string, got ${typeof value}`);
  return value;
}

function check(schema: z.ZodType, value: unknown, path: string): void {
  const { error } = schema.safeParse(value);
  if (error === undefined) return;
  const [issue] = error.issues;
  const at = [path, ...(issue?.path ?? []).map(String)].join(".");
  throw new HookCallError("bad_result", `${at}: ${issue?.message ?? "not valid"}`);
}

function assertToolResult(value: unknown): asserts value is ToolResult {
  check(toolResultSchema, value, "result");
}

function isAllowed(action: string, { actions }: InterceptorSpec): action is HookAction {
  return actions.has(action);
}

/** Keys that other dialects use where this one has `action` or `approved`; docs/protocol.md, "Over stdio". */
const FOREIGN = ["allow", "decision", "hook_result", "args"];
const EXPECTED = ["action", "approved", "reason", "request", "response", "call", "result"];

/** The keys that are those of another dialect, or the expected ones in another letter case. */
function foreignKeys(fields: JsonObject, expected: readonly string[]): readonly string[] | undefined {
  let foreign: string[] | undefined;
  for (const key in fields) {
    if (expected.includes(key) || (!FOREIGN.includes(key) && !expected.includes(key.toLowerCase()))) continue;
    foreign ??= [];
    foreign.push(key);
  }
  return foreign;
}
