import { type Approval, type ApprovalManager, decideApproval } from "../../approvals/index.ts";
import type { Log } from "../../log.ts";
import type { ApprovalLink, ApprovalLinks } from "../../signing/approval-link.ts";
import type { PeerInfo } from "../origin.ts";
import { type ApprovalInput, MAX_APPROVAL_FORM_BYTES, parseApprovalForm } from "./approval-form.ts";
import { renderApproval } from "./approval-page.ts";
import { renderRefusal, toPageRefusal } from "./approval-refusal.ts";
import { renderOutcome } from "./approval-state.ts";
import { readForm } from "./form.ts";
import { answerPage, type Visitor } from "./layout.ts";
import { html, shown } from "./markup.ts";
import { isOwnLinkForm } from "./origin.ts";
import { answerNotice } from "./sign-in.ts";

/** Parts of {@link ApprovalLinkPages}. */
export interface ApprovalLinkParts {
  readonly approvals: ApprovalManager;
  readonly links: ApprovalLinks;
  readonly log: Log;
}

/** Nobody signs in here, and the pages of the gateway are none of theirs. */
const HOLDER: Visitor = { isSignedIn: false, pages: [] };

/** The address is a secret: it is told to nobody, not even to this gateway. */
const HEADERS = { "referrer-policy": "no-referrer", "x-robots-tag": "noindex" };

interface Opened {
  readonly link: ApprovalLink;
  readonly approval: Approval;
  readonly token: string;
}

interface Refused {
  /** The link, as far as it was good. */
  readonly opened: Opened | undefined;
  readonly isSent: boolean;
}

/**
 * The pages that signed links lead to. Looking at one decides nothing and uses nothing up, however often and by whomever it
 * is looked at; only its form decides, once, as the person whom the link names.
 */
export class ApprovalLinkPages {
  readonly #parts: ApprovalLinkParts;

  constructor(parts: ApprovalLinkParts) {
    this.#parts = parts;
  }

  /** What a link is about, and the form. */
  async show(token: string): Promise<Response> {
    let opened: Opened | undefined;
    try {
      opened = await this.#open(token);
      this.#assertDecidable(opened);
      return this.#answer(opened);
    } catch (error) {
      return this.#refuse(error, { opened, isSent: false });
    }
  }

  /** Takes the decision of a link's form. */
  async decide(token: string, request: Request, info: PeerInfo): Promise<Response> {
    if (!isOwnLinkForm(request)) {
      return this.#notice(403, "This form was not sent by a page of this gateway. Open the link, and decide there.");
    }
    let opened: Opened | undefined;
    try {
      opened = await this.#open(token);
      const form = await readForm(request, { info, maxBytes: MAX_APPROVAL_FORM_BYTES });
      const input = form === undefined ? "This is not the form of this page." : parseApprovalForm(form);
      // The link is used up last: nothing that is refused may cost the person their decision.
      this.#assertDecidable(opened, typeof input === "string" ? undefined : input);
      if (typeof input === "string") return this.#answer(opened, input);
      return await this.#take(opened, input);
    } catch (error) {
      return this.#refuse(error, { opened, isSent: true });
    }
  }

  async #take({ link, approval }: Opened, input: ApprovalInput): Promise<Response> {
    const { approvals, links } = this.#parts;
    await links.use(link);
    const decided = await approvals.decide(approval.id, { ...input, by: link.approver, how: "link" });
    const title = input.decision === "approve" ? "Approved" : "Denied";
    const body = html`<header><h1>${title}</h1></header>
      <div class="note">
        <p><span class="code">${shown(approval.tool)}</span>: ${renderOutcome(decided)}</p>
      </div>
      <p>You have decided as <strong>${shown(link.approver)}</strong>. You can close this page.</p>`;
    return answerPage({ title, visitor: HOLDER, body, headers: HEADERS });
  }

  async #open(token: string): Promise<Opened> {
    const { approvals, links } = this.#parts;
    const link = await links.verify(token);
    return { link, approval: await approvals.get(link.approval), token };
  }

  /** Throws what deciding would, and changes nothing. */
  #assertDecidable({ link, approval }: Opened, input?: ApprovalInput): void {
    const given = input ?? { decision: "approve", call: approval.call };
    decideApproval(approval, { ...given, by: link.approver, how: "link", nowMs: this.#parts.approvals.now() });
  }

  #answer({ link, approval, token }: Opened, problem?: string): Response {
    const body = renderApproval(approval, {
      nowMs: this.#parts.approvals.now(),
      form: { action: `/approvals/link/${token}`, decider: { name: link.approver }, problem },
      note: html`<p class="note">
        This link decides once, as <strong>${shown(link.approver)}</strong>. If you are somebody else, close this page.
      </p>`,
    });
    const status = problem === undefined ? 200 : 400;
    return answerPage({ title: "Approve a call", visitor: HOLDER, body, status, headers: HEADERS });
  }

  async #refuse(error: unknown, { opened, isSent }: Refused): Promise<Response> {
    const refusal = toPageRefusal(error);
    if (refusal === undefined) throw error;
    const { status } = refusal;
    if (status === 503) this.#parts.log.error("approvals could not be reached", { error: String(error).slice(0, 300) });
    // It may have changed since: another has decided.
    const now = opened && (await this.#parts.approvals.get(opened.approval.id).catch(() => undefined));
    return this.#notice(status, renderRefusal(refusal, { now, by: opened?.link.approver, isSent }));
  }

  #notice(status: number, text: Parameters<typeof answerNotice>[1]): Response {
    return answerNotice(status, text, { visitor: HOLDER, back: false, headers: HEADERS });
  }
}
