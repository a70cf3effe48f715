import {
  type Approval,
  APPROVAL_ID_PATTERN,
  type ApprovalManager,
  type NotificationStatus,
} from "../../approvals/index.ts";
import type { Log } from "../../log.ts";
import { settlesWithin } from "../../wait.ts";
import { mayAny, type Principal } from "../auth.ts";
import type { PeerInfo } from "../origin.ts";
import { type Decider, MAX_APPROVAL_FORM_BYTES, parseApprovalForm } from "./approval-form.ts";
import {
  renderNotifications,
  renderPending,
  renderSettled,
  renderUnreadable,
  toApprovalPath,
} from "./approval-list.ts";
import { renderApproval } from "./approval-page.ts";
import { renderRefusal, toPageRefusal } from "./approval-refusal.ts";
import { renderOutcome } from "./approval-state.ts";
import { toCount, toTime } from "./format.ts";
import { readForm } from "./form.ts";
import { answerPage, answerRedirect, type PageLink, type Visitor } from "./layout.ts";
import { html, type Markup, shown } from "./markup.ts";
import { answerNotice } from "./sign-in.ts";

/** Where approvals are decided. */
export const APPROVALS_PATH = "/approvals";

/** What the pages of approvals show. */
export interface ApprovalPagesParts {
  readonly approvals: ApprovalManager;
  /** Whether anyone needs a token. */
  readonly hasAuth: boolean;
  /** How those who are told fare; absent when nobody is told. */
  readonly notifications?: (() => readonly NotificationStatus[] | Promise<readonly NotificationStatus[]>) | undefined;
  readonly log: Log;
}

/** Somebody who is known, and how they are shown. */
export interface KnownVisitor {
  readonly principal: Principal;
  readonly visitor: Visitor;
}

/** The most approvals on the page that are pending; arguments can be long. */
const MAX_PENDING = 50;
const MAX_SETTLED = 20;
/** How long a page waits to say how many are pending, in milliseconds. */
const COUNT_TIMEOUT_MS = 1000;
const BACK = { path: APPROVALS_PATH, name: "To all approvals" };

/** The link to the approvals, with how many are pending where that can be told soon. */
export async function toApprovalsLink(approvals: ApprovalManager): Promise<PageLink> {
  let count: string | undefined;
  const counted = approvals.list({ status: "pending", maxApprovals: MAX_PENDING }).then(
    ({ approvals: found, next }) => void (count = `${toCount(found.length)}${next === undefined ? "" : "+"}`),
    // The page of approvals, and the readiness, say what is wrong.
    () => undefined,
  );
  await settlesWithin(counted, COUNT_TIMEOUT_MS);
  return { path: APPROVALS_PATH, name: "Approvals", count: count === "0" ? undefined : count };
}

/** The pages where people who have signed in see and decide approvals. */
export class ApprovalPages {
  readonly #parts: ApprovalPagesParts;

  constructor(parts: ApprovalPagesParts) {
    this.#parts = parts;
  }

  /** The list, the pending ones first. */
  async list(request: Request, who: KnownVisitor): Promise<Response> {
    const { approvals, notifications } = this.#parts;
    const { visitor } = who;
    const done = new URL(request.url).searchParams.get("done") ?? "";
    try {
      const page = await approvals.list({ status: "pending", maxApprovals: MAX_PENDING });
      const last = await approvals.list({ maxApprovals: MAX_PENDING + MAX_SETTLED });
      const list = {
        pending: page.approvals.toReversed(),
        hasMore: page.next !== undefined,
        settled: last.approvals.filter(({ status }) => status !== "pending").slice(0, MAX_SETTLED),
        unreadable: new Set([...(page.unreadable ?? []), ...(last.unreadable ?? [])]).size,
        decider: toDecider(who.principal),
        nowMs: approvals.now(),
      };
      const body = html`<header>
          <h1>Approvals</h1>
          <span class="quiet"
            >as of <span id="as-of" data-part>${toTime(new Date(list.nowMs).toISOString())}</span> UTC</span
          >${LIVE}
        </header>
        ${this.#renderAnonymous()} ${await this.#renderDone(done)} ${renderUnreadable(list)} ${renderPending(list)}
        ${renderSettled(list)} ${renderNotifications(await notifications?.())}`;
      const count = list.pending.length === 0 ? "" : `(${toCount(list.pending.length)}) `;
      return answerPage({ title: `${count}Approvals`, current: APPROVALS_PATH, visitor, body });
    } catch (error) {
      return this.#refuse(error, who);
    }
  }

  /** One approval. */
  async one(id: string, who: KnownVisitor): Promise<Response> {
    try {
      return this.#answer(await this.#get(id), who);
    } catch (error) {
      return this.#refuse(error, who);
    }
  }

  /** Takes a decision; that the form came from a page of this gateway was checked before. */
  async decide(
    id: string,
    request: Request,
    { info, ...who }: KnownVisitor & { readonly info: PeerInfo },
  ): Promise<Response> {
    const nobody = whyNobody(who.principal);
    if (nobody !== undefined) return answerNotice(403, nobody, { visitor: who.visitor, back: BACK });
    const form = await readForm(request, { info, maxBytes: MAX_APPROVAL_FORM_BYTES });
    const input = form === undefined ? "This is not the form of this page." : parseApprovalForm(form);
    try {
      const approval = await this.#get(id);
      if (typeof input === "string") return this.#answer(approval, who, input);
      const { approvals } = this.#parts;
      await approvals.decide(approval.id, { ...input, by: who.principal.name, how: "page" });
      const path = form?.get("from") === "list" ? `${APPROVALS_PATH}?done=${approval.id}` : toApprovalPath(approval.id);
      return answerRedirect(path);
    } catch (error) {
      return this.#refuse(error, { ...who, id });
    }
  }

  async #get(id: string): Promise<Approval> {
    // What is no id is looked for nowhere.
    return this.#parts.approvals.get(APPROVAL_ID_PATTERN.test(id) ? id : "00000000-0000-7000-8000-000000000000");
  }

  #answer(approval: Approval, { principal, visitor }: KnownVisitor, problem?: string): Response {
    const body = renderApproval(approval, {
      nowMs: this.#parts.approvals.now(),
      form: { action: toApprovalPath(approval.id), decider: toDecider(principal), problem },
      note: this.#renderAnonymous(),
      beside: LIVE,
    });
    const title = `${approval.status === "pending" ? "Approve" : "Approval of"} ${approval.tool.slice(0, 60)}`;
    const status = problem === undefined ? 200 : 400;
    return answerPage({ title, current: undefined, visitor, body, status });
  }

  /** Where nobody signs in, whoever reaches the page decides. */
  #renderAnonymous(): Markup {
    if (this.#parts.hasAuth) return html``;
    return html`<p class="note warn">
      Nobody signs in here: every program on this machine, the agent too, can decide. Configure
      <code>gateway.auth</code> to know who does.
    </p>`;
  }

  async #renderDone(id: string): Promise<Markup> {
    if (!APPROVAL_ID_PATTERN.test(id)) return html``;
    const approval = await this.#parts.approvals.get(id).catch(() => undefined);
    if (approval === undefined) return html``;
    const link = html`<a href="${toApprovalPath(id)}"><span class="code">${shown(approval.tool)}</span></a>`;
    return html`<p class="note" role="status">${link}: ${renderOutcome(approval)}</p>`;
  }

  async #refuse(
    error: unknown,
    { visitor, principal, id }: KnownVisitor & { readonly id?: string },
  ): Promise<Response> {
    const refusal = toPageRefusal(error);
    if (refusal === undefined) throw error;
    const { status } = refusal;
    if (status === 503) this.#parts.log.error("approvals could not be reached", { error: String(error).slice(0, 300) });
    const now = id === undefined || status === 503 ? undefined : await this.#get(id).catch(() => undefined);
    const said = renderRefusal(refusal, { now, by: principal.name, isSent: id !== undefined });
    const back = now === undefined ? BACK : { path: toApprovalPath(now.id), name: "Look at it" };
    return answerNotice(status, said, { visitor, back });
  }
}

/** The events that a change of an approval comes with. */
const LIVE = html` <button
  type="button"
  data-live="/v1/approvals/events"
  data-events="approval missed"
  data-delay="150"
  hidden
>
  Live
</button>`;

function toDecider(principal: Principal): Decider {
  return { name: principal.name, refused: whyNobody(principal) };
}

function whyNobody(principal: Principal): string | undefined {
  if (!mayAny(principal, ["approve"])) return "You may look, and not decide: that needs a token with scope approve.";
  if (principal.speaksFor === undefined) return undefined;
  return "This token speaks for other people and is none itself: decide with a token of your own.";
}
