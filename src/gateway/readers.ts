import { ANONYMOUS, isRefusal, mayAny, type Principal, type Scope } from "./auth.ts";
import type { Refusal } from "./answer.ts";
import { RequestBody } from "./body.ts";
import type { Callers } from "./callers.ts";
import type { OriginGuard, PeerInfo } from "./origin.ts";
import type { AskedRequest, PageSessions } from "./page/index.ts";
import { forbidden } from "./refusals.ts";

/** Scopes with which one may read what the gateway shows. */
export const READER_SCOPES: readonly Scope[] = ["admin", "observe"];

/** Parts of {@link Readers}. */
export interface ReadersParts {
  readonly hasAuth: boolean;
  readonly guard: OriginGuard;
  readonly callers: Callers;
  readonly sessions: PageSessions;
  readonly maxBodyBytes: number;
}

/** Who asks with what. */
export interface Asking {
  readonly request: Request;
  readonly info: PeerInfo;
  /** @default {@link READER_SCOPES} */
  readonly scopes?: readonly Scope[] | undefined;
}

/** Finds out who may read what the gateway shows: by credentials, or by the cookie of one who signed in. */
export class Readers {
  readonly #parts: ReadersParts;

  constructor(parts: ReadersParts) {
    this.#parts = parts;
  }

  /** Who reads, or why they may not. */
  async find({ request, info, scopes = READER_SCOPES }: Asking): Promise<Principal | Refusal> {
    const { guard, hasAuth, sessions } = this.#parts;
    const refusal = guard.check(request, info);
    if (refusal !== undefined) return refusal;
    if (!hasAuth) return ANONYMOUS;
    return this.#identify(sessions.credit(request), { request, info, scopes });
  }

  /** Who an `authorization` header stands for, with which somebody wants to sign in. */
  async admit(authorization: string, { request, info, scopes = READER_SCOPES }: Asking): Promise<Principal | Refusal> {
    const refusal = this.#parts.guard.check(request, info);
    if (refusal !== undefined) return refusal;
    const asked = { method: "GET", url: request.url, headers: new Headers({ authorization }) };
    return this.#identify(asked, { request, info, scopes });
  }

  async #identify(
    asked: AskedRequest,
    { request, info, scopes }: Required<Pick<Asking, "request" | "info">> & { readonly scopes: readonly Scope[] },
  ): Promise<Principal | Refusal> {
    const { callers, maxBodyBytes } = this.#parts;
    const principal = await callers.identify(asked, new RequestBody(request, info, maxBodyBytes));
    return isRefusal(principal) || mayAny(principal, scopes) ? principal : forbidden(scopes);
  }
}
