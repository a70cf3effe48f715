import { HookgateError, type HookgateErrorCode, toHttpStatus, toRpcCode } from "../errors.ts";
import { isVerificationError } from "../signing/verification-error.ts";

/** The id of a call; null where it is not known. */
export type RpcId = string | number | null;

/** A JSON-RPC 2.0 error. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: object;
}

/** What is answered, before it is signed. */
export interface Answer {
  readonly status: number;
  /** JSON text; empty where there is nothing to say. */
  readonly text: string;
}

/** A request that is refused for another reason than its signature. Its message is a constant and is sent. */
export class RefusedError extends HookgateError {}

const HEADERS: Readonly<Record<string, string>> = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const JSON_HEADERS: Readonly<Record<string, string>> = { ...HEADERS, "content-type": "application/json" };

/** The answer to notifications. */
export const ACCEPTED: Answer = Object.freeze({ status: 202, text: "" });

/** The answer to a message that is not one this endpoint takes: its id is not known. */
export function toRefusal(code: HookgateErrorCode, message: string): Answer {
  return { status: toHttpStatus(code), text: toErrorText(null, { code: toRpcCode(code), message }) };
}

/** A JSON-RPC 2.0 reply with an error, as JSON text. */
export function toErrorText(id: RpcId, error: RpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

/**
 * A JSON-RPC 2.0 reply with a result, as JSON text.
 * @throws {TypeError} when JSON cannot hold the result
 */
export function toResultText(id: RpcId, result: unknown): string {
  // What JSON has no form for, undefined among it, is sent as null; a cycle or a bigint throws.
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result) ?? "null"}}`;
}

/** Makes the response of an answer from the very text that was signed. */
export function toResponse({ status, text }: Answer, headers: Readonly<Record<string, string>>): Response {
  if (text === "") return new Response(null, { status, headers: { ...HEADERS, ...headers } });
  return new Response(text, { status, headers: { ...JSON_HEADERS, ...headers } });
}

/** Answers a request that cannot be trusted: a code, and nothing of the message or of what went wrong underneath. */
export function answerRefusal(error: unknown): Response {
  const reason = isVerificationError(error) ? error.reason : undefined;
  const isKnown = reason !== undefined || error instanceof RefusedError;
  const { code, message }: { code: HookgateErrorCode; message: string } =
    isKnown && error instanceof HookgateError ? error : { code: "ERR_INTERNAL", message: "internal error" };
  const data = reason === undefined ? {} : { data: { reason } };
  const headers: Record<string, string> = { ...JSON_HEADERS };
  if (code === "ERR_UNAUTHORIZED") headers["www-authenticate"] = "Hook-Signature";
  if (code === "ERR_OVERLOADED") headers["retry-after"] = "1";
  if (reason === "not_post") headers["allow"] = "POST";
  const status = reason === "not_post" ? 405 : toHttpStatus(code);
  return new Response(toErrorText(null, { code: toRpcCode(code), message, ...data }), { status, headers });
}

/** Answers a `GET` of the key set. Gateways keep it for as long as it says. */
export function answerJwks(jwks: object): Response {
  const headers = { ...JSON_HEADERS, "cache-control": "public, max-age=300" };
  return new Response(JSON.stringify(jwks), { status: 200, headers });
}
