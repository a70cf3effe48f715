import { type EventMethod, isEventMethod } from "../picoclaw/codec.ts";
import { RefusedError, type RpcId } from "./answer.ts";

/** What a gateway sends at most in one batch. */
const MAX_BATCH = 64;
const MAX_ID_CHARS = 128;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** One event, in either form. */
export interface EventMessage {
  readonly method: EventMethod;
  readonly params: unknown;
}

/** One JSON-RPC 2.0 call. */
export interface Call {
  readonly id: RpcId;
  readonly method: string;
  readonly params: unknown;
}

/**
 * Reads a body as JSON.
 * @throws {HookgateError} `ERR_PARSE` when it is not JSON in UTF-8
 */
export function parseBody(body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch {
    // No cause: an engine's message quotes the body.
    throw new RefusedError("ERR_PARSE", "the body is not JSON in UTF-8");
  }
}

/**
 * Reads a message as one call, or as the events it carries.
 * @throws {HookgateError} `ERR_INVALID_REQUEST` when it is neither
 * @see {@link https://www.jsonrpc.org/specification#request_object}
 */
export function parseMessage(message: unknown): Call | readonly EventMessage[] {
  if (Array.isArray(message)) {
    if (message.length < 1 || message.length > MAX_BATCH) throw invalid(`a batch holds 1 to ${MAX_BATCH} messages`);
    return message.map(toEvent);
  }
  const { id, method, params } = parseRequest(message);
  if (id === undefined) return [toEvent(message)];
  if (!isId(id)) throw invalid("id must be a string of 1 to 128 characters or an integer");
  return { id, method, params };
}

interface Fields {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: unknown;
}

function parseRequest(message: unknown): Fields {
  if (!isRequest(message)) throw invalid('a message must be an object with "jsonrpc": "2.0" and a method');
  return message;
}

function isRequest(message: unknown): message is Fields {
  if (typeof message !== "object" || message === null) return false;
  return "jsonrpc" in message && message.jsonrpc === "2.0" && "method" in message && typeof message.method === "string";
}

function toEvent(message: unknown): EventMessage {
  const { id, method, params } = parseRequest(message);
  // Only events: an answer to a call in a batch would have to wait for all the others.
  if (id !== undefined || !isEventMethod(method)) throw invalid("only events may come without an id");
  return { method, params };
}

function isId(id: unknown): id is string | number {
  return typeof id === "string" ? id.length > 0 && id.length <= MAX_ID_CHARS : Number.isSafeInteger(id);
}

function invalid(message: string): RefusedError {
  return new RefusedError("ERR_INVALID_REQUEST", message);
}
