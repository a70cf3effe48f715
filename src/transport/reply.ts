import { HookCallError } from "../errors.ts";

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

/** A reply with an id that may be one of ours. */
export interface Reply {
  /** A positive integer. */
  readonly id: number;
  /** The result as it came; `undefined` when there was none. */
  readonly result: unknown;
  /** Set when the reply is not a result. */
  readonly error: HookCallError | undefined;
}

/**
 * Reads one line as a JSON-RPC reply. The `jsonrpc` member is not looked at: hooks leave it out or write "1.0".
 * @returns the reply, or why the line is none
 * @see PicoClaw hook protocol, "Wire, stdio"
 */
export function parseReply(line: string): Reply | DropReason {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return line.trim() === "" ? "blank_line" : "not_json";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "not_object";
  const { id, result, error, method }: { id?: unknown; result?: unknown; error?: unknown; method?: unknown } = value;
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 1) return method === undefined ? "bad_id" : "request";
  return { id, result, error: error === undefined || error === null ? undefined : toCallError(error) };
}

function toCallError(error: unknown): HookCallError {
  if (typeof error !== "object" || error === null || Array.isArray(error)) {
    return new HookCallError("bad_envelope", "the reply's error is not an object");
  }
  const { message }: { message?: unknown } = error;
  const text = typeof message === "string" && message !== "" ? message : "the hook answered with an error";
  return new HookCallError("rpc_error", text);
}
