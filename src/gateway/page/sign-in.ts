import { isRefusal, type Principal } from "../auth.ts";
import type { Refusal } from "../answer.ts";
import { RateLimit } from "../limit.ts";
import type { PeerInfo } from "../origin.ts";
import type { Log } from "../../log.ts";
import { readForm } from "./form.ts";
import { answerPage, answerRedirect, NOBODY, PAGE_PATHS, type Visitor } from "./layout.ts";
import { html, type Markup } from "./markup.ts";
import { isOwnForm, isSecure } from "./origin.ts";
import type { PageSessions } from "./sessions.ts";

/** Finds out whom an `authorization` header stands for. */
export type Admit = (authorization: string, request: Request, info: PeerInfo) => Promise<Principal | Refusal>;

/** Parts of a {@link SignIn}. */
export interface SignInParts {
  readonly sessions: PageSessions;
  readonly admit: Admit;
  /** What a token needs to be let in, such as `scope observe or admin`. */
  readonly wanted: string;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** The longest form that is read, in bytes: a token, and where to go on. */
const MAX_FORM_BYTES = 16_384;
/** How often a minute one address may come with a token that is not good. */
const TRIES_PER_MINUTE = 20;

/** Lets people in with a token, and out again. The token is in no answer, address or log. */
export class SignIn {
  readonly #parts: SignInParts;
  readonly #tries: RateLimit;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.#tries = new RateLimit(TRIES_PER_MINUTE, parts.now);
  }

  /** The form, in the place of a page that may not be seen without. */
  ask(request: Request): Response {
    const { pathname, search } = new URL(request.url);
    const next = `${pathname}${search}`;
    return isFromElsewhere(request.headers) ? answerAgain(next) : this.#answerForm({ next });
  }

  /** Answers the form. */
  async enter(request: Request, info: PeerInfo): Promise<Response> {
    if (!isOwnForm(request)) return answerNotice(403, "This form was not sent by a page of this gateway.");
    const form = await readForm(request, { info, maxBytes: MAX_FORM_BYTES });
    if (form === undefined) return answerNotice(400, "This is not the form of this page.");
    const next = toOwnPath(form.get("next") ?? "/", request.url);
    const who = info.remoteAddress ?? "";
    const waitMs = this.#tries.take(who);
    if (waitMs > 0) {
      const headers = { "retry-after": String(Math.ceil(waitMs / 1000)) };
      return this.#answerForm({
        next,
        problem: "Too many tries. Wait a minute, then try again.",
        status: 429,
        headers,
      });
    }
    const authorization = `Bearer ${(form.get("token") ?? "").trim()}`;
    const found = await this.#admit(authorization, request, info);
    const { sessions, log } = this.#parts;
    if (isRefusal(found)) {
      log.warn("somebody could not sign in", { code: found.code });
      return this.#answerForm({ next, ...toProblem(found) });
    }
    // Only what failed counts.
    this.#tries.charge(who, -1);
    log.info("signed in", { caller: found.name });
    sessions.close(request.headers);
    return answerRedirect(next, [sessions.open(authorization, { isSecure: isSecure(request) })]);
  }

  /** Ends a session. */
  leave(request: Request): Response {
    if (!isOwnForm(request)) return answerNotice(403, "This form was not sent by a page of this gateway.");
    return answerRedirect("/", this.#parts.sessions.close(request.headers));
  }

  #answerForm(options: Omit<FormOptions, "wanted">): Response {
    return answerForm({ ...options, wanted: this.#parts.wanted });
  }

  /** What no header can hold is no token. */
  #admit(authorization: string, request: Request, info: PeerInfo): Promise<Principal | Refusal> {
    if (/^Bearer [\x21-\x7e]+$/.test(authorization)) return this.#parts.admit(authorization, request, info);
    return Promise.resolve({ code: "ERR_UNAUTHORIZED", message: "not a token" });
  }
}

/**
 * Whether somebody followed a link of another site: a browser then keeps the cookie of one who has signed in to itself.
 * Programs and scripts that fetch a page are not meant.
 */
function isFromElsewhere(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site");
  return (site === "cross-site" || site === "same-site") && headers.get("sec-fetch-mode") === "navigate";
}

/** Has a browser ask again by itself: this time the page comes from here, and the cookie with it. It changes nothing. */
function answerAgain(next: string): Response {
  const body = html`<header><h1>One moment</h1></header>
    <p><a href="${next}">Go on</a></p>`;
  return answerPage({ title: "One moment", visitor: NOBODY, body, status: 401, headers: CHALLENGE, refreshes: true });
}

const CHALLENGE = { "www-authenticate": 'Bearer realm="hookgate"' };

/** Where to go on: a path of this gateway, whatever the form says. */
function toOwnPath(next: string, base: string): string {
  const own = new URL(base);
  if (!next.startsWith("/") || !URL.canParse(next, own)) return "/";
  const { origin, pathname, search } = new URL(next, own);
  const isPage = origin === own.origin && !pathname.startsWith("//") && !pathname.startsWith("/page/");
  return isPage ? `${pathname}${search}` : "/";
}

interface Problem {
  readonly problem: string;
  readonly status: number;
}

function toProblem({ code, message }: Refusal): Problem {
  if (code === "ERR_FORBIDDEN") return { problem: `This token may not see this: ${message}.`, status: 403 };
  if (code === "ERR_INTERNAL") return { problem: "It could not be checked just now; the log says why.", status: 500 };
  return { problem: "This token is not known here, or is no longer good.", status: 401 };
}

interface FormOptions extends Partial<Problem> {
  readonly next: string;
  readonly wanted: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function answerForm({ next, wanted, problem, status = 401, headers = {} }: FormOptions): Response {
  const said = problem !== undefined && html`<p class="note bad" role="alert" id="problem">${problem}</p>`;
  const described = problem === undefined ? "hint" : "problem hint";
  const body = html`<div class="sign-in">
    <h1>Sign in</h1>
    ${said}
    <form class="sheet" method="post" action="${PAGE_PATHS.signIn}">
      <input type="hidden" name="next" value="${next}" />
      <div>
        <label for="token">Token</label
        ><input
          id="token"
          name="token"
          type="password"
          required
          autofocus
          autocomplete="current-password"
          spellcheck="false"
          maxlength="8192"
          aria-describedby="${described}"
        />
      </div>
      <p class="quiet" id="hint">One with ${wanted}. You stay signed in for 8 hours at most.</p>
      <div><button class="first">Sign in</button></div>
    </form>
  </div>`;
  const challenge = status === 401 ? CHALLENGE : {};
  const title = problem === undefined ? "Sign in" : "Not signed in";
  return answerPage({ title, visitor: NOBODY, body, status, headers: { ...challenge, ...headers } });
}

/** Options of {@link answerNotice}. */
export interface NoticeOptions {
  /** @default somebody who is not known */
  readonly visitor?: Visitor | undefined;
  /** Where to go on; nowhere when it is false. @default the status page */
  readonly back?: { readonly path: string; readonly name: string } | false | undefined;
  /** @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const STATUS_PAGE = { path: "/", name: "To the status page" };

/** A page that says one thing. */
export function answerNotice(
  status: number,
  text: string | Markup,
  { visitor = NOBODY, back = STATUS_PAGE, headers }: NoticeOptions = {},
): Response {
  const title = status === 404 ? "Not found" : "Not done";
  const body = html`<header><h1>${title}</h1></header>
    <div class="note">${text}</div>
    ${back !== false && html`<p><a href="${back.path}">${back.name}</a></p>`}`;
  return answerPage({ title, visitor, body, status, headers });
}
