/** Options of {@link PageSessions}. */
export interface PageSessionsOptions {
  /** How long one who signed in stays so, in milliseconds. @default 28800000 (8 hours) */
  readonly lifetimeMs?: number | undefined;
  /** How many may be signed in at once, 1 or more; the oldest is signed out for one more. @default 1000 */
  readonly maxSessions?: number | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/** What is looked at to know who asks. */
export interface AskedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
}

interface Session {
  readonly authorization: string;
  readonly endsAtMs: number;
}

const NAME = "hookgate_session";
/** What a browser accepts only over TLS, for one host, and from that host itself. */
const SECURE_NAME = `__Host-${NAME}`;
const ID_BYTES = 32;

/**
 * Those who signed in to the pages. The cookie holds a random number; the credentials it stands for are kept here, in
 * memory, and looked at anew with each request: a token that is no longer good ends its sessions at once.
 */
export class PageSessions {
  readonly #lifetimeMs: number;
  readonly #maxSessions: number;
  readonly #now: () => number;
  readonly #sessions = new Map<string, Session>();

  constructor({
    lifetimeMs = 28_800_000,
    maxSessions = 1000,
    now = () => performance.now(),
  }: PageSessionsOptions = {}) {
    this.#lifetimeMs = lifetimeMs;
    this.#maxSessions = maxSessions;
    this.#now = now;
  }

  /** Begins a session for an `authorization` header that was found good; its cookie comes back. */
  open(authorization: string, { isSecure }: { readonly isSecure: boolean }): string {
    this.#forget();
    const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
    const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#sessions.set(id, { authorization, endsAtMs: this.#now() + this.#lifetimeMs });
    return toCookie(id, isSecure, Math.floor(this.#lifetimeMs / 1000));
  }

  /** Ends the session of a request; the cookies that take its cookie away come back. */
  close(headers: Headers): readonly string[] {
    for (const id of readIds(headers)) this.#sessions.delete(id);
    return [toCookie("", false, 0), toCookie("", true, 0)];
  }

  /**
   * A request with the credentials of its session. Only what reads is given them: what changes something must come with
   * credentials of its own, which no other site can make a browser send.
   */
  credit(request: AskedRequest): AskedRequest {
    const { method, url, headers } = request;
    if ((method !== "GET" && method !== "HEAD") || headers.has("authorization")) return request;
    const authorization = this.authorizationOf(headers);
    if (authorization === undefined) return request;
    const credited = new Headers(headers);
    credited.set("authorization", authorization);
    return { method, url, headers: credited };
  }

  /** The `authorization` header of a request's session; a form that changes something checks where it came from first. */
  authorizationOf(headers: Headers): string | undefined {
    for (const id of readIds(headers)) {
      const session = this.#sessions.get(id);
      if (session !== undefined && this.#now() < session.endsAtMs) return session.authorization;
    }
    return undefined;
  }

  #forget(): void {
    for (const [id, { endsAtMs }] of this.#sessions) {
      // They are in the order they began in, and so in the order they end in.
      if (this.#now() < endsAtMs && this.#sessions.size < this.#maxSessions) return;
      this.#sessions.delete(id);
    }
  }
}

function toCookie(id: string, isSecure: boolean, maxAgeSeconds: number): string {
  const secure = isSecure ? "; Secure" : "";
  return `${isSecure ? SECURE_NAME : NAME}=${id}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** The ids that a request's cookies hold; that of the secure one is first. */
function readIds(headers: Headers): readonly string[] {
  const cookies = (headers.get("cookie") ?? "").split(";", 100).map((cookie) => cookie.trim());
  return [SECURE_NAME, NAME].flatMap((name) =>
    cookies.flatMap((cookie) => {
      const id = cookie.startsWith(`${name}=`) ? cookie.slice(name.length + 1) : "";
      return /^[\da-f]{64}$/.test(id) ? [id] : [];
    }),
  );
}
