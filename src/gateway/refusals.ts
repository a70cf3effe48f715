import type { HookgateError } from "../errors.ts";
import type { Refusal } from "./answer.ts";
import type { Scope } from "./auth.ts";

/** When to come back to a gateway that is full or leaving, or to a store that cannot be reached. */
const RETRY_AFTER_MS = 1000;

/** Nobody knows the caller. */
export function unauthorized({ headers }: { readonly headers: Headers }): Refusal {
  const isGiven = headers.has("authorization") || headers.has("hook-signature");
  const message = isGiven ? "the credentials are not known here" : "a bearer token is required";
  return { code: "ERR_UNAUTHORIZED", message, headers: challenge(isGiven) };
}

/** The caller is not who the credentials say. */
export function refusedCredentials(refusal: Refusal): Refusal {
  return refusal.code === "ERR_UNAUTHORIZED" ? { ...refusal, headers: challenge(true) } : refusal;
}

function challenge(isGiven: boolean): Readonly<Record<string, string>> {
  return { "www-authenticate": `Bearer realm="hookgate"${isGiven ? ', error="invalid_token"' : ""}` };
}

/** The caller is known and may not do this. */
export function forbidden(scopes: readonly Scope[]): Refusal {
  return { code: "ERR_FORBIDDEN", message: `a token with scope ${scopes.join(" or ")} is required` };
}

/** Nobody may call just now. */
export function overloaded(message: string): Refusal {
  return { code: "ERR_OVERLOADED", message, retryAfterMs: RETRY_AFTER_MS };
}

/** What was asked for is refused, or nobody can tell. */
export function refused({ code, message }: HookgateError): Refusal {
  const isDown = code === "ERR_STORE_UNAVAILABLE";
  return { code, message, ...(isDown && { reason: "store_unavailable", retryAfterMs: RETRY_AFTER_MS }) };
}
