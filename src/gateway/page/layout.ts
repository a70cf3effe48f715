import { SECURITY_HEADERS } from "../answer.ts";
import { LIVE_SCRIPT } from "./live.ts";
import { html, type Markup, shown } from "./markup.ts";
import { STYLE } from "./style.ts";

/** Who looks at a page. */
export interface Visitor {
  /** The name of their token; undefined where nobody needs one, or when they are not known yet. */
  readonly name?: string | undefined;
  /** Whether they came with the cookie of one who signed in. */
  readonly isSignedIn: boolean;
  /** The pages they may go to. @default the status page */
  readonly pages?: readonly PageLink[] | undefined;
}

/** A page as the navigation has it. */
export interface PageLink {
  readonly path: string;
  readonly name: string;
  /** How much there is to do on it. @default nothing is said */
  readonly count?: string | undefined;
}

/** Somebody who is not known. */
export const NOBODY: Visitor = { isSignedIn: false };

/** Options of {@link answerPage}. */
export interface PageOptions {
  /** What the page is, before the name of the program. */
  readonly title: string;
  /** The path of the page that the navigation shows as this one. @default none */
  readonly current?: string | undefined;
  readonly visitor: Visitor;
  /** What is in `main`; its first part has the `h1`. */
  readonly body: Markup;
  /** The HTTP status. @default 200 */
  readonly status?: number | undefined;
  /** @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether the browser asks for the page again at once. @default false */
  readonly refreshes?: boolean | undefined;
  /** The cookies to set. @default none */
  readonly cookies?: readonly string[] | undefined;
}

/** The page that is always there. */
export const STATUS_LINK: PageLink = { path: "/", name: "Status" };

/** Where everything is that pages are made of. */
export const PAGE_PATHS = {
  style: "/page/style.css",
  script: "/page/live.js",
  signIn: "/page/sign-in",
  signOut: "/page/sign-out",
} as const;

/** Nothing from elsewhere, nothing inline, and no form that leads elsewhere: a text that got through would still be idle. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...SECURITY_HEADERS,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  // With no referrer at all a browser would not say either where a form comes from.
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY",
};

/** Answers with a page. */
export function answerPage(options: PageOptions): Response {
  const headers = new Headers({ ...PAGE_HEADERS, ...options.headers });
  for (const cookie of options.cookies ?? []) headers.append("set-cookie", cookie);
  return new Response(String(renderPage(options)), { status: options.status ?? 200, headers });
}

/** Sends a browser to another page of this gateway. */
export function answerRedirect(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ ...SECURITY_HEADERS, location: path });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

function renderPage({ title, current, visitor, body, refreshes }: PageOptions): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${refreshes === true && html`<meta http-equiv="refresh" content="0" />`}
        <title>${title} · hookgate</title>
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="${versioned(PAGE_PATHS.style, STYLE)}" />
        <script src="${versioned(PAGE_PATHS.script, LIVE_SCRIPT)}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <div class="bar">
          <div>
            <span class="brand">hookgate</span>
            ${renderNavigation(visitor, current)} ${renderVisitor(visitor)}
          </div>
        </div>
        <main id="main" tabindex="-1">${body}</main>
      </body>
    </html> `;
}

function renderNavigation({ pages = [STATUS_LINK] }: Visitor, current: string | undefined): Markup {
  if (pages.length === 0) return html``;
  return html`<nav aria-label="Pages">${pages.map((page) => renderLink(page, current))}</nav>`;
}

function renderLink({ path, name, count }: PageLink, current: string | undefined): Markup {
  const text = html`${name}${
    count !== undefined && html` <span class="count" id="pending-count" data-part>${count}</span>`
  }`;
  return path === current
    ? html`<a href="${path}" aria-current="page">${text}</a>`
    : html`<a href="${path}">${text}</a>`;
}

function renderVisitor({ name, isSignedIn }: Visitor): Markup {
  if (name === undefined) return html``;
  const out = html`<form method="post" action="${PAGE_PATHS.signOut}"><button>Sign out</button></form>`;
  return html`<div class="who"><span class="quiet">Signed in as ${shown(name)}</span>${isSignedIn && out}</div>`;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M3 2v12M13 2v12M3 7h10' stroke='%231f5fbf' stroke-width='2.5' fill='none'/%3E%3C/svg%3E";

/** Files of pages: their text and type by path. They hold nothing that is secret. */
const FILES: ReadonlyMap<string, readonly [text: string, type: string]> = new Map([
  [PAGE_PATHS.style, [STYLE, "text/css; charset=utf-8"]],
  [PAGE_PATHS.script, [LIVE_SCRIPT, "text/javascript; charset=utf-8"]],
]);

/** Answers with the style sheet or the script, which a browser may keep: another version has another address. */
export function answerFile(path: (typeof PAGE_PATHS)["style" | "script"]): Response {
  const [text = "", type = ""] = FILES.get(path) ?? [];
  return new Response(text, {
    headers: { ...SECURITY_HEADERS, "content-type": type, "cache-control": "public, max-age=31536000, immutable" },
  });
}

function versioned(path: string, text: string): string {
  return `${path}?v=${toVersion(text)}`;
}

const versions = new Map<string, string>();

/** FNV-1a of a text: it tells versions apart, and nothing depends on it. */
function toVersion(text: string): string {
  let version = versions.get(text);
  if (version === undefined) {
    let sum = 0x811c9dc5;
    for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
    version = (sum >>> 0).toString(36);
    versions.set(text, version);
  }
  return version;
}
