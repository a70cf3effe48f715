import * as z from "zod";
import { isObject } from "../is-object.ts";
import { type Encode, exceedsDepth, MAX_DEPTH } from "../chain/index.ts";
import { HookCallError, HookgateError } from "../errors.ts";
import { nearestName } from "../nearest.ts";
import { type EventField, isLifecycleEvent, LIFECYCLE, LIFECYCLE_EVENTS, type LifecycleEvent } from "./event.ts";

/** A tool call in a message. Keys this version does not know pass through. */
export interface MessageToolCall {
  readonly id?: string | null | undefined;
  readonly name?: string | null | undefined;
  /** JSON text. */
  readonly arguments?: string | null | undefined;
  readonly [key: string]: unknown;
}

/** One message of the conversation. Keys this version does not know pass through. */
export interface Message {
  readonly role: string;
  /** Text, or an array of parts. */
  readonly content?: string | readonly unknown[] | null | undefined;
  readonly tool_calls?: readonly MessageToolCall[] | null | undefined;
  readonly tool_call_id?: string | null | undefined;
  readonly [key: string]: unknown;
}

/** What a hook is given. A field is absent when the event does not carry it or the host left it out. */
export interface HookContext {
  readonly event: LifecycleEvent;
  readonly messages?: readonly Message[];
  readonly system_prompt?: string;
  readonly model?: string;
  readonly user_input?: string;
  readonly assistant_output?: string;
  readonly tool_name?: string;
  /** JSON text. */
  readonly tool_arguments?: string;
  readonly tool_result?: string;
  readonly tool_error?: string;
  readonly session_id?: string;
  /** The directory the agent works in; bash hooks run there. */
  readonly cwd: string;
}

/** A context as a host gives it: the manager fills in `cwd`. */
export type HostContext = Omit<HookContext, "cwd"> & { readonly cwd?: string };

const text = z.string().exactOptional();

const messageSchema: z.ZodType<Message> = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(z.unknown())]).nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string().nullish(), name: z.string().nullish(), arguments: z.string().nullish() }))
    .nullish(),
  tool_call_id: z.string().nullish(),
});

/** The schema of a list of messages. */
export const messagesSchema: z.ZodType<readonly Message[]> = z.array(messageSchema);

const contextSchema: z.ZodType<HostContext> = z.object({
  event: z.string().refine(isLifecycleEvent),
  messages: messagesSchema.exactOptional(),
  system_prompt: text,
  model: text,
  user_input: text,
  assistant_output: text,
  tool_name: text,
  tool_arguments: text,
  tool_result: text,
  tool_error: text,
  session_id: text,
  cwd: text,
});

/**
 * Reads a context that came over a wire or from a file. Null is absent; keys this version does not know are left out.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` naming the path of every problem, and the nearest known name of an event
 */
export function parseContext(value: unknown): HostContext {
  if (!isObject(value)) throw new HookgateError("ERR_INVALID_PARAMS", "params: expected an object");
  if (exceedsDepth(value, MAX_DEPTH)) {
    throw new HookgateError("ERR_INVALID_PARAMS", `params: nested deeper than ${MAX_DEPTH} levels`);
  }
  const { event } = value;
  if (typeof event === "string") assertEvent(event);
  const present = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
  const { data, error } = contextSchema.safeParse(present);
  if (data !== undefined) return data;
  const problems = error.issues.map(({ path, message }) => `${["params", ...path.map(String)].join(".")}: ${message}`);
  throw new HookgateError("ERR_INVALID_PARAMS", problems.join("; "));
}

/**
 * Refuses a name that is no event's.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` with the nearest known name
 */
export function assertEvent(name: string): asserts name is LifecycleEvent {
  if (isLifecycleEvent(name)) return;
  const nearest = nearestName(name, LIFECYCLE_EVENTS);
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  throw new HookgateError("ERR_INVALID_PARAMS", `unknown event "${name.slice(0, 60)}"${hint}`);
}

const FIELDS: readonly EventField[] = [
  "messages",
  "system_prompt",
  "model",
  "user_input",
  "assistant_output",
  "tool_name",
  "tool_arguments",
  "tool_result",
  "tool_error",
];

/** The context as an event's hooks see it: what the event does not carry is left out. Nothing is copied but references. */
export function toHookContext(given: HostContext, cwd: string): HookContext {
  const { carries } = LIFECYCLE[given.event];
  const fields: Record<string, unknown> = {};
  for (const field of FIELDS) if (carries.has(field) && given[field] !== undefined) fields[field] = given[field];
  const session = given.session_id === undefined ? {} : { session_id: given.session_id };
  return { event: given.event, ...fields, ...session, cwd: given.cwd ?? cwd };
}

/**
 * Encodes a context as hooks read it.
 * @throws {HookCallError} `unencodable` when JSON cannot hold it
 */
export const encodeContext: Encode<HostContext> = (context) => {
  try {
    return JSON.stringify(context);
  } catch (cause) {
    throw new HookCallError("unencodable", "the context cannot be written as JSON", { cause });
  }
};
