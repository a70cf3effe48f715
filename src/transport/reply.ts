import { HookCallError } from "../errors.ts";

const OPENING_BRACE = 0x7b;

/** Why a line from a hook was not taken as a reply. */
export type DropReason =
  | "blank_line"
  | "not_json"
  | "not_object"
  | "bad_id"
  | "request"
  | "unknown_id"
  | "late_or_duplicate"
  | "too_long"
  | "not_utf8"
  | "partial_line";

/** A reply with an id that may be one of ours, as it came. */
export interface Reply {
  /** A positive integer. */
  readonly id: number;
  readonly result?: unknown;
  /** Absent or null when the reply is a result. */
  readonly error?: unknown;
}

/**
 * Reads one line as a JSON-RPC reply. The `jsonrpc` member is not looked at: hooks leave it out or write "1.0".
 * @returns the reply, or why the line is none
 * @see PicoClaw hook protocol, "Wire, stdio"
 */
export function parseReply(line: string): Reply | DropReason {
  // A parser that fails is slow, and a hook that prints prose may print a lot of it.
  if (line.charCodeAt(0) !== OPENING_BRACE && !line.trimStart().startsWith("{")) {
    return line.trim() === "" ? "blank_line" : "not_object";
  }
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return "not_json";
  }
  if (typeof value !== "object" || value === null) return "not_object";
  if (hasCallId(value)) return value;
  return "method" in value ? "request" : "bad_id";
}

function hasCallId(value: object): value is Reply {
  return "id" in value && Number.isSafeInteger(value.id) && Number(value.id) > 0;
}

/** What an error reply becomes: the `error` of a reply that is neither absent nor null. */
export function toCallError(error: unknown): HookCallError {
  if (typeof error !== "object" || error === null || Array.isArray(error)) {
    return new HookCallError("bad_envelope", "the reply's error is not an object");
  }
  const { message }: { message?: unknown } = error;
  const text = typeof message === "string" && message !== "" ? message : "the hook answered with an error";
  return new HookCallError("rpc_error", text);
}
