import { HookCallError, type NoVerdictKind } from "../errors.ts";
import { isObject } from "../is-object.ts";
import type { HttpHead } from "./http-exchange.ts";

/** A reply with a status that is not 200. */
export class HttpStatusError extends HookCallError {
  readonly status: number;
  /** What `retry-after` said; undefined when it said nothing that can be read. */
  readonly retryAfter: string | undefined;

  constructor(status: number, retryAfter?: string) {
    const isRedirect = status >= 300 && status < 400;
    const kind: NoVerdictKind = isRedirect ? "redirect" : "http_status";
    super(kind, `the hook answered with HTTP status ${status}${isRedirect ? ", which is not followed" : ""}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const JSON_TYPE = /^\s*application\/(?:json|[\w!#$&^.+-]+\+json)\s*(?:;[^,]*)?$/i;
const MAX_SHOWN = 100;

/**
 * Checks what can be told before the body is read.
 * @returns why the reply is no verdict; undefined when its body is worth reading
 */
export function checkHead(head: HttpHead, maxBodyBytes: number): HookCallError | undefined {
  if (head.status !== 200) return new HttpStatusError(head.status, head.header("retry-after"));
  const type = head.header("content-type");
  if (type === undefined || !JSON_TYPE.test(type)) {
    const got = type === undefined ? "none" : JSON.stringify(type.slice(0, MAX_SHOWN));
    return new HookCallError("content_type", `the reply's content type is not JSON: ${got}`);
  }
  const coding = head.header("content-encoding")?.trim().toLowerCase() ?? "";
  if (coding !== "" && coding !== "identity") {
    return new HookCallError("content_type", "the reply has a content encoding, which was not asked for");
  }
  if (Number(head.header("content-length") ?? 0) > maxBodyBytes) return tooLarge(maxBodyBytes);
  return undefined;
}

function tooLarge(maxBodyBytes: number): HookCallError {
  return new HookCallError("too_large", `the reply is longer than ${maxBodyBytes} bytes`);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a body as the one JSON-RPC 2.0 reply to a request.
 * @returns the result as it came
 * @throws {HookCallError} `bad_json`, `bad_envelope`, `wrong_id`, or `rpc_error` for an error reply
 * @see {@link https://www.jsonrpc.org/specification#response_object}
 */
export function parseHttpReply(body: Uint8Array, id: string): unknown {
  const reply = parseObject(body);
  if (reply["jsonrpc"] !== "2.0") throw envelope('"jsonrpc" must be "2.0"');
  if (reply["id"] !== id) throw new HookCallError("wrong_id", "the reply does not have the id of the request");
  const { error } = reply;
  const hasResult = Object.hasOwn(reply, "result");
  // Null is what libraries of JSON-RPC 1.0 write where there is no error.
  const hasError = error !== undefined && error !== null;
  if (hasResult === hasError) throw envelope('there must be exactly one of "result" and "error"');
  if (!hasError) return reply["result"];
  if (!isObject(error)) throw envelope('"error" must be an object');
  const message = error["message"];
  const hasMessage = typeof message === "string" && message !== "";
  throw new HookCallError("rpc_error", hasMessage ? message : "the hook answered with an error");
}

function parseObject(body: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    // No cause: an engine's message quotes the body.
    throw new HookCallError("bad_json", "the reply is not one JSON value in UTF-8");
  }
  if (isObject(value)) return value;
  throw envelope(`it must be an object, got ${Array.isArray(value) ? "an array" : typeof value}`);
}

function envelope(why: string): HookCallError {
  return new HookCallError("bad_envelope", `the reply is not a JSON-RPC 2.0 reply: ${why}`);
}
