import { type Encode } from "../chain/index.ts";
import { isObject } from "../is-object.ts";
import { HookCallError } from "../errors.ts";
import { type HookEvent, toRuntimeKind } from "./event.ts";
import { toWirePayload } from "./normalize.ts";
import type { Origin } from "./payload.ts";
import { type HookPoint, isHookPoint } from "./point.ts";

// What a host's side of the wire needs to send payloads as the manager sees them and to read what comes back.
export { toLlmRequest, toLlmResponse, toMeta, toToolApproval, toToolCall, toToolOutcome } from "./normalize.ts";
export { fieldSchemas, toolResultSchema } from "./payload.ts";
export { INTERCEPTORS } from "./point.ts";

/** The version of the hook protocol that `hook.hello` carries. */
export const PROTOCOL_VERSION = 1;

/** The JSON-RPC method of the greeting. */
export const HELLO_METHOD = "hook.hello";

/** Which form of events a hook is sent; the value is the JSON-RPC method. */
export type EventMethod = "hook.event" | "hook.runtime_event";

/** Every {@link EventMethod}. */
export const EVENT_METHODS: readonly [EventMethod, EventMethod] = ["hook.event", "hook.runtime_event"];

/** Whether a method carries an event. */
export function isEventMethod(method: unknown): method is EventMethod {
  return EVENT_METHODS.some((known) => known === method);
}

/** What a hook was configured for, as the greeting says it. */
export type HookMode = "observe" | "llm" | "tool" | "approve";

/** The JSON-RPC method of a hook point. */
export function toMethod(point: HookPoint): `hook.${HookPoint}` {
  return `hook.${point}`;
}

/** The hook point of a JSON-RPC method; undefined when it names none. */
export function toHookPoint(method: string): HookPoint | undefined {
  const point = method.startsWith("hook.") ? method.slice("hook.".length) : "";
  return isHookPoint(point) ? point : undefined;
}

/** The params of `hook.hello`, as JSON text; with the transport's name where the hook is told of it. */
export function encodeHello(name: string, modes: readonly HookMode[], transport?: string): string {
  return JSON.stringify({ name, version: PROTOCOL_VERSION, modes, transport });
}

/**
 * Reads the reply to `hook.hello`: any object, null or nothing accepts.
 * @throws {HookCallError} `bad_result` for anything else
 */
export function acceptHello(result: unknown): void {
  if (result === undefined || result === null) return;
  if (typeof result !== "object" || Array.isArray(result)) {
    throw new HookCallError("bad_result", "hook.hello: expected an object or null as the result");
  }
}

/** The modes of a hook, in the order in which the greeting lists them. */
export function toModes(points: ReadonlySet<HookPoint>, observes: boolean): readonly HookMode[] {
  const modes: HookMode[] = [];
  if (observes) modes.push("observe");
  if (points.has("before_llm") || points.has("after_llm")) modes.push("llm");
  if (points.has("before_tool") || points.has("after_tool")) modes.push("tool");
  if (points.has("approve_tool")) modes.push("approve");
  return modes;
}

/**
 * Encodes a payload as the params of a hook call.
 * @throws {HookCallError} `unencodable` when JSON cannot hold it
 */
export const encodePayload: Encode<Origin> = (payload) => encodeJson(toWirePayload(payload));

const encodeEvent: Encode<HookEvent> = (event) => encodeJson(event);

const encodeRuntimeEvent: Encode<HookEvent> = ({ Kind, Time, Meta, Payload }) =>
  encodeJson({
    id: crypto.randomUUID(),
    kind: toRuntimeKind(Kind),
    time: Time,
    source: { component: "agent", name: Meta.AgentID || undefined },
    scope: { agent_id: Meta.AgentID, session_key: Meta.SessionKey, turn_id: Meta.TurnID, ...originOf(Payload) },
    correlation: { trace_id: Meta.TracePath || undefined, parent_turn_id: Meta.ParentTurnID || undefined },
    severity: Kind === "error" ? "error" : "info",
    payload: Payload,
  });

/** The encoders of the two forms of events. */
export const EVENT_ENCODERS: Readonly<Record<EventMethod, Encode<HookEvent>>> = {
  "hook.event": encodeEvent,
  "hook.runtime_event": encodeRuntimeEvent,
};

function originOf(payload: unknown): { readonly channel?: unknown; readonly chat_id?: unknown } {
  if (!isObject(payload)) return {};
  return { channel: payload["Channel"], chat_id: payload["ChatID"] };
}

/**
 * Writes a value as JSON text.
 * @throws {HookCallError} `unencodable` when JSON cannot hold it
 */
export function encodeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new HookCallError("unencodable", "the payload cannot be written as JSON", { cause });
  }
}
