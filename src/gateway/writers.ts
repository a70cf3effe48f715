import { isRefusal, mayAny, type Principal, type Scope } from "./auth.ts";
import type { Refusal } from "./answer.ts";
import { refuseMediaType, RequestBody } from "./body.ts";
import type { Callers } from "./callers.ts";
import type { OriginGuard, PeerInfo } from "./origin.ts";
import { forbidden } from "./refusals.ts";

/** A request that would change something. */
export interface Writing {
  readonly request: Request;
  readonly info: PeerInfo;
  /** Any of them will do. */
  readonly scopes: readonly Scope[];
  /** The largest body, in bytes. */
  readonly maxBodyBytes: number;
}

/** A request that may change something. */
export interface Admitted {
  readonly principal: Principal;
  /** Empty unless it is a POST. */
  readonly body: Uint8Array;
}

const EMPTY = new Uint8Array();

/**
 * Finds out who asks and with what body, or why they may not. Credentials come with the request itself: a cookie, which a
 * page of another site can make a browser send, is none.
 */
export async function admitWriter(
  { request, info, scopes, maxBodyBytes }: Writing,
  { guard, callers }: { readonly guard: OriginGuard; readonly callers: Callers },
): Promise<Admitted | Refusal> {
  const body = new RequestBody(request, info, maxBodyBytes);
  const isPost = request.method === "POST";
  const refusal = guard.check(request, info) ?? (isPost ? refuseMediaType(request.headers) : undefined);
  if (refusal !== undefined) return refusal;
  const principal = await callers.identify(request, body);
  if (isRefusal(principal)) return principal;
  if (!mayAny(principal, scopes)) return forbidden(scopes);
  const bytes = isPost ? await body.bytes() : EMPTY;
  return bytes instanceof Uint8Array ? { principal, body: bytes } : bytes;
}
