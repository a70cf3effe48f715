import type { Hono } from "hono";
import type { ApprovalManager, NotificationStatus } from "../../approvals/index.ts";
import type { ListedHook } from "../../jcli/index.ts";
import type { Log } from "../../log.ts";
import type { Refusal } from "../answer.ts";
import type { ApprovalLinks } from "../../signing/approval-link.ts";
import { mayAny } from "../auth.ts";
import type { PeerInfo } from "../origin.ts";
import type { GatewayHook, Readiness } from "../pages.ts";
import { READER_SCOPES, type Readers } from "../readers.ts";
import type { RecordPages } from "../records.ts";
import { addApprovalPages } from "./approval-routes.ts";
import { APPROVALS_PATH } from "./approvals.ts";
import { renderDecision } from "./decision.ts";
import {
  type DecisionList,
  type DecisionQuery,
  findDecisions,
  readDecisionQuery,
  renderDecisions,
  toDecisionsPath,
} from "./decisions.ts";
import { toTime } from "./format.ts";
import { APPROVAL_READER_SCOPES, PageGuard } from "./guard.ts";
import { renderHooks, renderYamlHooks } from "./hooks.ts";
import { answerFile, answerPage, answerRedirect, PAGE_PATHS, type Visitor } from "./layout.ts";
import { html, type Markup } from "./markup.ts";
import { parseRecord } from "./record-view.ts";
import type { PageSessions } from "./sessions.ts";
import { answerNotice, SignIn } from "./sign-in.ts";
import { renderReadiness, renderState } from "./state.ts";

/** What pages show, and who may see them. */
export interface PageParts extends Pick<RecordPages, "recording" | "records" | "absent"> {
  /** Whether anyone needs a token. */
  readonly hasAuth: boolean;
  readonly sessions: PageSessions;
  readonly readers: Readers;
  /** Asks people; absent where nobody is asked. */
  readonly approvals?: ApprovalManager | undefined;
  /** Signs links that decide; absent where there are none. */
  readonly links?: ApprovalLinks | undefined;
  /** How those who are told of approvals fare; absent where nobody is told. */
  readonly notifications?: (() => readonly NotificationStatus[] | Promise<readonly NotificationStatus[]>) | undefined;
  /** Why nobody may come to this gateway with a request; undefined when they may. */
  readonly refuse: (request: Request, info: PeerInfo) => Refusal | undefined;
  readonly readiness: () => Promise<Readiness>;
  readonly hooks: () => readonly GatewayHook[];
  /** Undefined where there is no `hooks.yaml`. */
  readonly yamlHooks: () => readonly ListedHook[] | undefined;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** The paths of pages, and how each may be asked. */
export const PAGE_ROUTES: readonly (readonly [path: string, allow: string])[] = [
  ["/", "GET, HEAD"],
  [PAGE_PATHS.style, "GET, HEAD"],
  [PAGE_PATHS.script, "GET, HEAD"],
  [PAGE_PATHS.signIn, "POST"],
  [PAGE_PATHS.signOut, "POST"],
];

/** Adds the pages that people look at in a browser: the status of the gateway at `/`, one decision, and signing in. */
export function addPages(app: Hono<{ Bindings: PeerInfo }>, parts: PageParts): void {
  const { hasAuth, readers, approvals } = parts;
  const scopes = approvals === undefined ? READER_SCOPES : APPROVAL_READER_SCOPES;
  const signIn = new SignIn({
    ...parts,
    wanted: `scope ${approvals === undefined ? "" : "approve, "}observe or admin`,
    admit: (authorization, request, info) => readers.admit(authorization, { request, info, scopes }),
  });
  const guard = new PageGuard({ ...parts, signIn });
  const pages = new StatusPages(parts);
  app.get(
    "/",
    guard.reading(scopes, async ({ principal, visitor }, { req }) =>
      // Who may only decide is at home elsewhere.
      mayAny(principal, READER_SCOPES) ? pages.status(req.raw, visitor) : answerRedirect(APPROVALS_PATH),
    ),
  );
  app.get(
    "/decisions/:id",
    guard.reading(READER_SCOPES, ({ visitor }, { req }) => pages.decision(req.param("id") ?? "", visitor)),
  );
  if (approvals !== undefined) addApprovalPages(app, { ...parts, approvals, guard });
  app.get(PAGE_PATHS.style, () => answerFile(PAGE_PATHS.style));
  app.get(PAGE_PATHS.script, () => answerFile(PAGE_PATHS.script));
  app.post(PAGE_PATHS.signIn, ({ req, env }) => (hasAuth ? signIn.enter(req.raw, env) : answerRedirect("/")));
  app.post(PAGE_PATHS.signOut, ({ req }) => signIn.leave(req.raw));
}

class StatusPages {
  readonly #parts: PageParts;

  constructor(parts: PageParts) {
    this.#parts = parts;
  }

  async status(request: Request, visitor: Visitor): Promise<Response> {
    const query = readDecisionQuery(new URL(request.url));
    const list = await this.#list(query);
    const readiness = await this.#parts.readiness();
    const hooks = this.#parts.hooks();
    const body = html`<header>
        <h1>Status</h1>
        ${renderReadiness(readiness)}
        <span class="quiet">as of <span id="as-of" data-part>${toTime(new Date().toISOString())}</span> UTC</span
        >${this.#renderLive(query)}
      </header>
      ${renderState(readiness, hooks)} ${renderHooks(hooks)} ${renderYamlHooks(this.#parts.yamlHooks())}
      ${renderDecisions(list, query)}
      <footer>${this.#links().map(([path, name]) => html`<a href="${path}">${name}</a>`)}</footer>`;
    return answerPage({ title: "Status", current: "/", visitor, body });
  }

  async decision(id: string, visitor: Visitor): Promise<Response> {
    const { records, log } = this.#parts;
    if (records === undefined) return answerNotice(404, "Decisions are not kept where they can be looked up.");
    let text: string | undefined;
    try {
      text = await records.get(id);
    } catch (error) {
      log.error("a record could not be read", { error: String(error).slice(0, 300) });
      return answerNotice(500, "The records cannot be read just now; the log says why.");
    }
    if (text === undefined)
      return answerNotice(404, "There is no record of this id. It may have been too old to keep.");
    const record = parseRecord(text);
    if (record === undefined)
      return answerNotice(500, "The record is there and cannot be read; records verify may say more.");
    return answerPage({ title: `Decision ${record.id}`, visitor, body: renderDecision(record) });
  }

  async #list(query: DecisionQuery): Promise<DecisionList> {
    const { records, recording, absent, log } = this.#parts;
    if (records === undefined) {
      return { kind: recording === undefined ? "off" : "elsewhere", why: absent?.["/v1/records"] };
    }
    try {
      return await findDecisions(records, query);
    } catch (error) {
      log.error("records could not be read", { error: String(error).slice(0, 300) });
      return { kind: "failed" };
    }
  }

  /** Only the newest decisions change by themselves. */
  #renderLive(query: DecisionQuery): Markup {
    const isLive = this.#parts.recording?.hub !== undefined && query.cursor === undefined;
    if (!isLive) return html``;
    return html` <button type="button" data-live="${toDecisionsPath("/v1/events", query)}" hidden>Live</button>`;
  }

  #links(): readonly (readonly [path: string, name: string])[] {
    const { records } = this.#parts;
    return [
      ["/v1/hooks", "Hooks as JSON"],
      ...(records === undefined ? [] : [["/v1/records", "Records as JSON"] as const]),
      ["/readyz", "Readiness as JSON"],
    ];
  }
}
