import { HookgateError } from "../errors.ts";
import type { Refusal } from "./answer.ts";

/** What the server knows of a request that the request does not say. */
export interface PeerInfo {
  /** The address of the other end of the connection. */
  readonly remoteAddress?: string | undefined;
  /** The host name or address the server is bound to. */
  readonly boundHost?: string | undefined;
  /**
   * Reads the body where the server has a faster way than the request's own: once, undefined when it is larger than
   * `maxBytes`, rejecting when it ends early. @default the request's own stream
   */
  readonly readBody?: ((maxBytes: number) => Promise<Uint8Array | undefined>) | undefined;
}

/** Whether a host name or address can only be reached from this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|\[?::ffff:127(?:\.\d{1,3}){3}\]?)$/i.test(hostname);
}

/**
 * Refuses to serve without authentication where others can connect: whoever reaches the gateway can answer for hooks
 * and read what agents say.
 * @throws {HookgateError} `ERR_CONFIG` when `hostname` is not a loopback name or address and `hasAuth` is false
 */
export function assertBindable(hostname: string, { hasAuth }: { readonly hasAuth: boolean }): void {
  if (hasAuth || isLoopback(hostname)) return;
  throw new HookgateError(
    "ERR_CONFIG",
    `refusing to listen on "${hostname}" without authentication: configure gateway.auth.tokens, or listen on 127.0.0.1`,
  );
}

/**
 * Reads the list of origins whose pages may call the gateway.
 * @throws {TypeError} when an entry is not an origin, such as `*` or one with a path
 */
export function parseOrigins(origins: readonly string[]): ReadonlySet<string> {
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new TypeError(`allowedOrigins: expected an origin such as "https://example.com", got "${origin}"`);
    }
  }
  return new Set(origins);
}

/** Options of {@link OriginGuard}. */
export interface OriginGuardOptions {
  readonly hasAuth: boolean;
  readonly allowedOrigins: ReadonlySet<string>;
}

/**
 * Keeps pages in a browser away. A page cannot lie about `Origin`; and a page whose name was made to point at this
 * machine (DNS rebinding) still says that name in `Host`.
 */
export class OriginGuard {
  readonly #hasAuth: boolean;
  readonly #allowedOrigins: ReadonlySet<string>;
  // A client says the same on every request; what was last found good is not looked at again.
  #goodHost: string | undefined;
  #goodPeer: string | undefined;
  #goodBound: string | undefined;

  constructor({ hasAuth, allowedOrigins }: OriginGuardOptions) {
    this.#hasAuth = hasAuth;
    this.#allowedOrigins = allowedOrigins;
  }

  /** Why a request is refused; undefined when it is not. */
  check(request: Request, info: PeerInfo): Refusal | undefined {
    const origin = request.headers.get("origin");
    if (this.#hasAuth && origin === null) return undefined;
    const host = request.headers.get("host") ?? new URL(request.url).host;
    if (!this.#hasAuth) {
      if (host !== this.#goodHost) {
        if (!isLoopback(host.replace(/:\d{1,5}$/, ""))) {
          return forbidden("Host must be a loopback name, since no authentication is configured");
        }
        this.#goodHost = host;
      }
      if (!this.#isLocal(info)) return forbidden("no authentication is configured, so only this machine may call");
    }
    if (origin === null || this.allows(origin)) return undefined;
    if (origin === `http://${host}` || origin === `https://${host}`) return undefined;
    return forbidden("calls from this Origin are not allowed; allowedOrigins names those that are");
  }

  /** Whether an origin is one of those configured. */
  allows(origin: string): boolean {
    return this.#allowedOrigins.has(origin);
  }

  #isLocal({ remoteAddress, boundHost }: PeerInfo): boolean {
    if (remoteAddress !== this.#goodPeer) {
      if (remoteAddress !== undefined && !isLoopback(remoteAddress)) return false;
      this.#goodPeer = remoteAddress;
    }
    if (boundHost !== this.#goodBound) {
      if (boundHost !== undefined && !isLoopback(boundHost)) return false;
      this.#goodBound = boundHost;
    }
    return true;
  }
}

function forbidden(message: string): Refusal {
  return { code: "ERR_FORBIDDEN", message };
}
