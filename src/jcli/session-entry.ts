import { HookgateError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import { assertEvent } from "./context.ts";
import { HookCounters } from "./counters.ts";
import {
  checkDefinition,
  type DefinitionFinding,
  fromDefinition,
  HOOK_TYPES,
  type HookDefinition,
  type HookType,
} from "./definition.ts";
import type { LifecycleEvent } from "./event.ts";
import { labelOf, LifecycleHook } from "./hook.ts";
import { createCall, type LifecycleCall, type LifecyclePorts } from "./port.ts";

/** What the hooks of sessions may be, and how they are reached. */
export interface SessionHookRules {
  readonly ports: LifecyclePorts;
  /**
   * The types that may be registered. Registering a bash hook is running code on the host, so a gateway leaves it out
   * unless its config allows it.
   */
  readonly types: readonly HookType[];
}

/** A session hook as it is kept: what it was registered with, defaults filled in. */
export type SavedHook = Readonly<Record<string, unknown>>;

/** A session hook that was checked. */
export interface CheckedSessionHook {
  readonly event: LifecycleEvent;
  readonly definition: HookDefinition;
}

/** A session hook that can be called. */
export interface SessionEntry extends CheckedSessionHook {
  readonly counters: HookCounters;
  readonly call: LifecycleCall;
}

/**
 * Checks what a session hook is registered with.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` when the request does not fit
 */
export function checkSessionHook(
  request: unknown,
  { checkHttp }: Pick<LifecyclePorts, "checkHttp">,
): CheckedSessionHook {
  if (!isObject(request)) throw new HookgateError("ERR_INVALID_PARAMS", "expected an object with an event");
  const { event, ...given } = request;
  if (typeof event !== "string") throw new HookgateError("ERR_INVALID_PARAMS", "event: expected text");
  assertEvent(event);
  const { definition, findings } = checkDefinition(given, { event, types: HOOK_TYPES, checkHttp });
  if (definition === undefined) throw new HookgateError("ERR_INVALID_PARAMS", findings.map(toSentence).join("; "));
  return { event, definition };
}

/**
 * Makes a checked session hook callable.
 * @throws {HookgateError} `ERR_FORBIDDEN` for a type that may not be registered
 */
export function openSessionHook({ event, definition }: CheckedSessionHook, rules: SessionHookRules): SessionEntry {
  assertAllowed(definition, rules);
  return { event, definition, counters: new HookCounters(), call: createCall(definition, rules.ports) };
}

/**
 * Checks that a session may have a hook of this type.
 * @throws {HookgateError} `ERR_FORBIDDEN` when it may not
 */
export function assertAllowed({ type }: HookDefinition, { types }: Pick<SessionHookRules, "types">): void {
  if (!types.includes(type)) throw new HookgateError("ERR_FORBIDDEN", `${type} hooks may not be registered here`);
}

/** A session hook as JSON values; {@link checkSessionHook} reads it back. */
export function toSavedHook({ event, definition }: CheckedSessionHook): SavedHook {
  return { event, ...fromDefinition(definition) };
}

/** A session hook as the chain calls it. @param position - Its index in the session's list. */
export function toSessionHook({ event, definition, call, counters }: SessionEntry, position: number): LifecycleHook {
  const place = { event, level: "session", position } as const;
  return new LifecycleHook({ ...definition, ...place, label: labelOf(definition), call, counters });
}

function toSentence({ field, message, value, nearest }: DefinitionFinding): string {
  const at = field === undefined ? "" : `${field}: `;
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  return `${at}${message}${value === undefined ? "" : `, got ${value}`}${hint}`;
}

const MAX_ID_CHARS = 256;

/** Whether a session of this id can have hooks. */
export function isSessionId(sessionId: unknown): sessionId is string {
  return typeof sessionId === "string" && sessionId !== "" && sessionId.length <= MAX_ID_CHARS;
}

/**
 * Checks the id of a session.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` when it is none
 */
export function assertSessionId(sessionId: string): string {
  if (isSessionId(sessionId)) return sessionId;
  throw new HookgateError("ERR_INVALID_PARAMS", `session id: expected 1 to ${MAX_ID_CHARS} characters`);
}
