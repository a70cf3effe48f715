import type { Log } from "../log.ts";
import { ANONYMOUS, type Authenticator, type AuthRequest, isRefusal, type Principal } from "./auth.ts";
import type { Refusal } from "./answer.ts";
import type { RequestBody } from "./body.ts";
import { refusedCredentials, unauthorized } from "./refusals.ts";

type Found = Principal | Refusal;

/** Finds out who asks: the first way that knows the caller decides. Where there are no ways, everyone is anonymous. */
export class Callers {
  readonly #authenticators: readonly Authenticator[] | undefined;

  readonly #log: Log;

  constructor(authenticators: readonly Authenticator[] | undefined, log: Log) {
    this.#authenticators = authenticators;
    this.#log = log;
  }

  /** Who asks, or why that is not known. No promise is made where no way of knowing needs one. */
  identify(request: Omit<AuthRequest, "readBody">, body: RequestBody): Found | Promise<Found> {
    if (this.#authenticators === undefined) return ANONYMOUS;
    const { method, url, headers } = request;
    const asked = { method, url, headers, readBody: () => body.bytes() };
    try {
      for (const [index, authenticate] of this.#authenticators.entries()) {
        const found = authenticate(asked);
        if (found instanceof Promise) return this.#identifyLater(found, asked, index + 1);
        if (found !== undefined) return toFound(found);
      }
    } catch (error) {
      return this.#fail(error);
    }
    return unauthorized(request);
  }

  async #identifyLater(first: Promise<Found | undefined>, asked: AuthRequest, next: number): Promise<Found> {
    try {
      let found = await first;
      for (const authenticate of this.#authenticators?.slice(next) ?? []) found ??= await authenticate(asked);
      return found === undefined ? unauthorized(asked) : toFound(found);
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** A way of knowing callers that breaks lets nobody in. */
  #fail(error: unknown): Refusal {
    this.#log.error("a caller could not be identified", { error: String(error).slice(0, 300) });
    return { code: "ERR_INTERNAL", message: "internal error" };
  }
}

function toFound(found: Found): Found {
  return isRefusal(found) ? refusedCredentials(found) : found;
}
