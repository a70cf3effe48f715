import { type HookgateErrorCode, toHttpStatus, toRpcCode } from "../errors.ts";
import type { Jwks } from "../signing/jwk.ts";

/** The id of a JSON-RPC request. */
export type RpcId = string | number | null;

/** A JSON-RPC 2.0 reply. */
export type RpcReply =
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly result: unknown }
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly error: RpcError };

/** The error of a JSON-RPC 2.0 reply. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Sent with every answer: nothing here is a document, a script or worth caching, and nobody may frame it. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

// One object for all good answers: adapters read it and never write to it.
const JSON_HEADERS = { "content-type": "application/json", ...SECURITY_HEADERS };
const OK_INIT = { status: 200, headers: JSON_HEADERS };

/** Answers with JSON text. */
export function answerText(json: string, status = 200, headers?: Readonly<Record<string, string>>): Response {
  if (status === 200 && headers === undefined) return new Response(json, OK_INIT);
  return new Response(json, { status, headers: { ...JSON_HEADERS, ...headers } });
}

/** Options of {@link answerJson}. */
export interface AnswerOptions {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Answers with a JSON value. */
export function answerJson(value: unknown, { status, headers }: AnswerOptions): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...JSON_HEADERS, ...headers } });
}

/** Peers keep keys for a while, and must see a new one before it signs. */
const JWKS_HEADERS = { "cache-control": "public, max-age=300" };

/** Answers with the gateway's public keys. */
export function answerJwks(jwks: Jwks): Response {
  return answerJson(jwks, { status: 200, headers: JWKS_HEADERS });
}

/** Answers with no body. */
export function answerEmpty({ status, headers }: AnswerOptions): Response {
  return new Response(null, { status, headers: { ...SECURITY_HEADERS, ...headers } });
}

/** A request that is answered before JSON-RPC is reached. */
export interface Refusal {
  readonly code: HookgateErrorCode;
  readonly message: string;
  /** @default the status of `code` */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The rule that is broken, by the code protocol.md has for it; sent as `reason`. */
  readonly reason?: string;
  /** When to come back; sent as `retry_after_ms` and, in whole seconds, as `Retry-After`. */
  readonly retryAfterMs?: number;
}

/** Answers a refused request: a JSON-RPC error with a null id, whatever the path, so that a client reads one format. */
export function answerRefusal({
  code,
  message,
  status = toHttpStatus(code),
  headers,
  reason,
  retryAfterMs,
}: Refusal): Response {
  const base = { code: toRpcCode(code), message };
  const data = {
    ...(reason === undefined ? {} : { reason }),
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
  };
  const error: RpcError = Object.keys(data).length === 0 ? base : { ...base, data };
  const reply: RpcReply = { jsonrpc: "2.0", id: null, error };
  const wait = retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
  return answerJson(reply, { status, headers: { ...headers, ...wait } });
}
