import type * as z from "zod";
import { isObject } from "../is-object.ts";
import { exceedsDepth, MAX_DEPTH } from "../chain/index.ts";
import { HookgateError } from "../errors.ts";
import { type HookEvent, type HostEvent, hostEventSchema, toDocumentedKind } from "./event.ts";
import { toLlmRequest, toLlmResponse, toMeta, toToolApproval, toToolCall, toToolOutcome } from "./normalize.ts";
import {
  type HostPayload,
  type LlmRequest,
  type LlmResponse,
  type Origin,
  paramsSchemas,
  type ToolApproval,
  type ToolCall,
  type ToolOutcome,
} from "./payload.ts";
import type { HookPoint } from "./point.ts";
import type { EventMethod } from "./codec.ts";
import { type RuntimeEvent, runtimeEventSchema, toHostEvent } from "./runtime-event.ts";

/** A host's payload by hook point. */
export interface HostPayloads {
  readonly before_llm: HostPayload<LlmRequest>;
  readonly after_llm: HostPayload<LlmResponse>;
  readonly before_tool: HostPayload<ToolCall>;
  readonly approve_tool: HostPayload<ToolApproval>;
  readonly after_tool: HostPayload<ToolOutcome>;
}

/**
 * Reads the params of a hook call.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` naming the path of every problem
 */
export function parseHostPayload<K extends HookPoint>(point: K, params: unknown): HostPayloads[K] {
  const present = toPresent(params);
  assertHostPayload(point, present);
  return present;
}

/** Null is what some encoders write for what is absent. */
function toPresent(params: unknown): unknown {
  if (!isObject(params) || !Object.values(params).includes(null)) return params;
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
}

function assertHostPayload<K extends HookPoint>(point: K, params: unknown): asserts params is HostPayloads[K] {
  checkParams(paramsSchemas[point], params);
}

function assertHostEvent(params: unknown): asserts params is HostEvent {
  checkParams(hostEventSchema, params);
}

function assertRuntimeEvent(params: unknown): asserts params is RuntimeEvent {
  checkParams(runtimeEventSchema, params);
}

function checkParams(schema: z.ZodType, params: unknown): void {
  if (exceedsDepth(params, MAX_DEPTH)) {
    throw new HookgateError("ERR_INVALID_PARAMS", `params: nested deeper than ${MAX_DEPTH} levels`);
  }
  const { error } = schema.safeParse(params);
  if (error === undefined) return;
  const problems = error.issues.map(({ path, message }) => `${["params", ...path.map(String)].join(".")}: ${message}`);
  throw new HookgateError("ERR_INVALID_PARAMS", problems.join("; "));
}

/**
 * Reads the params of an event, in either form.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` naming the path of every problem
 */
export function parseHostEvent(method: EventMethod, params: unknown): HostEvent {
  const present = toPresent(params);
  if (method === "hook.runtime_event") {
    assertRuntimeEvent(present);
    return toHostEvent(present);
  }
  assertHostEvent(present);
  return present;
}

const NORMALIZED: Readonly<Record<HookPoint, (params: unknown) => Origin>> = {
  before_llm: (params) => toLlmRequest(parseHostPayload("before_llm", params)),
  after_llm: (params) => toLlmResponse(parseHostPayload("after_llm", params)),
  before_tool: (params) => toToolCall(parseHostPayload("before_tool", params)),
  approve_tool: (params) => toToolApproval(parseHostPayload("approve_tool", params)),
  after_tool: (params) => toToolOutcome(parseHostPayload("after_tool", params)),
};

/**
 * Reads the params of a hook call into the form in which hooks see them.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` naming the path of every problem
 */
export function parseHookPayload(point: HookPoint, params: unknown): Origin {
  return NORMALIZED[point](params);
}

/**
 * Reads the params of an event, in either form, into the form in which observers see them.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` naming the path of every problem
 */
export function parseHookEvent(method: EventMethod, params: unknown): HookEvent {
  const { Kind, Time = new Date().toISOString(), Meta, ...rest } = parseHostEvent(method, params);
  return { ...rest, Kind: toDocumentedKind(Kind), Time, Meta: toMeta(Meta) };
}
