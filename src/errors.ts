/**
 * Every error hookgate raises, and what each becomes on the wire.
 * @module
 */

const BRAND: symbol = Symbol.for("hookgate.error");

interface WireForm {
  readonly rpc: number;
  readonly status: number;
}

/** The literal code of a {@link HookgateError}. */
export type HookgateErrorCode =
  | "ERR_PARSE"
  | "ERR_INVALID_REQUEST"
  | "ERR_METHOD_NOT_FOUND"
  | "ERR_INVALID_PARAMS"
  | "ERR_INTERNAL"
  | "ERR_UNAUTHORIZED"
  | "ERR_FORBIDDEN"
  | "ERR_NOT_FOUND"
  | "ERR_CONFLICT"
  | "ERR_GONE"
  | "ERR_BODY_TOO_LARGE"
  | "ERR_UNSUPPORTED_MEDIA_TYPE"
  | "ERR_RATE_LIMITED"
  | "ERR_OVERLOADED"
  | "ERR_STORE_UNAVAILABLE"
  | "ERR_ABORTED"
  | "ERR_CLOSED"
  | "ERR_CONFIG"
  | "ERR_HOOK_CALL"
  | "ERR_GATEWAY"
  | "ERR_TURN_ABORTED";

/** One row per code: its JSON-RPC 2.0 error code and, where it is answered before JSON-RPC is reached, its HTTP status. */
const WIRE: Readonly<Record<HookgateErrorCode, WireForm>> = {
  ERR_PARSE: { rpc: -32700, status: 400 },
  ERR_INVALID_REQUEST: { rpc: -32600, status: 400 },
  ERR_METHOD_NOT_FOUND: { rpc: -32601, status: 404 },
  ERR_INVALID_PARAMS: { rpc: -32602, status: 400 },
  ERR_INTERNAL: { rpc: -32603, status: 500 },
  ERR_UNAUTHORIZED: { rpc: -32001, status: 401 },
  ERR_FORBIDDEN: { rpc: -32001, status: 403 },
  ERR_NOT_FOUND: { rpc: -32003, status: 404 },
  ERR_CONFLICT: { rpc: -32003, status: 409 },
  ERR_GONE: { rpc: -32003, status: 410 },
  ERR_BODY_TOO_LARGE: { rpc: -32600, status: 413 },
  ERR_UNSUPPORTED_MEDIA_TYPE: { rpc: -32600, status: 415 },
  ERR_RATE_LIMITED: { rpc: -32002, status: 429 },
  ERR_OVERLOADED: { rpc: -32002, status: 503 },
  ERR_STORE_UNAVAILABLE: { rpc: -32002, status: 503 },
  ERR_ABORTED: { rpc: -32603, status: 499 },
  ERR_CLOSED: { rpc: -32603, status: 503 },
  ERR_CONFIG: { rpc: -32603, status: 500 },
  ERR_HOOK_CALL: { rpc: -32603, status: 502 },
  ERR_GATEWAY: { rpc: -32603, status: 502 },
  ERR_TURN_ABORTED: { rpc: -32603, status: 500 },
};

/** Options of {@link HookgateError}. */
export interface HookgateErrorOptions {
  /** The error underneath. It is for logs; it is never sent to a peer. */
  readonly cause?: unknown;
}

/** The base of every error hookgate raises on purpose; misuse by a caller is a `TypeError` or `RangeError` instead. */
export class HookgateError extends Error {
  readonly code: HookgateErrorCode;

  constructor(code: HookgateErrorCode, message: string, options?: HookgateErrorOptions) {
    super(message, options);
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  override get name(): string {
    return "HookgateError";
  }
}

/** Whether a value is a {@link HookgateError}, also one made by another copy of this package. */
export function isHookgateError(value: unknown): value is HookgateError {
  return typeof value === "object" && value !== null && BRAND in value;
}

/**
 * The JSON-RPC 2.0 error code of a hookgate error code.
 * @see {@link https://www.jsonrpc.org/specification#error_object}
 */
export function toRpcCode(code: HookgateErrorCode): number {
  return WIRE[code].rpc;
}

/** The HTTP status of a hookgate error code that is answered before JSON-RPC is reached. */
export function toHttpStatus(code: HookgateErrorCode): number {
  return WIRE[code].status;
}

/**
 * Why a hook call yielded no verdict. A no-verdict is not "no": the hook's failure policy decides what follows.
 * @see docs/protocol.md, "No-verdict kinds"
 */
export type NoVerdictKind =
  | "timeout"
  | "budget"
  | "aborted"
  | "unreachable"
  | "redirect"
  | "http_status"
  | "content_type"
  | "too_large"
  | "bad_json"
  | "bad_envelope"
  | "wrong_id"
  | "rpc_error"
  | "bad_result"
  | "unsupported_action"
  | "unsigned_reply"
  | "bad_signature"
  | "replayed_reply"
  | "not_granted"
  | "circuit_open"
  | "overloaded"
  | "unsupported_runtime"
  | "unencodable"
  | "hook_error"
  | "not_running"
  | "exited"
  | "store_unavailable";

/** A hook call that ended without a verdict, as a transport or a codec raises it. */
export class HookCallError extends HookgateError {
  readonly kind: NoVerdictKind;

  constructor(kind: NoVerdictKind, message: string, options?: HookgateErrorOptions) {
    super("ERR_HOOK_CALL", message, options);
    this.kind = kind;
  }
}

/** Whether a value is a {@link HookCallError}, also one made by another copy of this package. */
export function isHookCallError(value: unknown): value is HookCallError {
  return isHookgateError(value) && value.code === "ERR_HOOK_CALL" && "kind" in value;
}
