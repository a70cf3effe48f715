import { type Approval, APPROVAL_SCOPES, type ApprovalScope } from "../../approvals/index.ts";
import { toVisibleText } from "../../visible-text.ts";
import { SCOPE_TEXTS } from "./approval-state.ts";
import { html, type Markup, shown } from "./markup.ts";

/** Who would decide. */
export interface Decider {
  readonly name: string;
  /** Why they may decide nothing at all; undefined when they may. */
  readonly refused?: string | undefined;
}

/** What a form says. */
export interface ApprovalInput {
  readonly decision: "approve" | "deny";
  readonly scope: ApprovalScope;
  readonly comment: string;
  /** The hash of the call that was shown with the form. */
  readonly call: string;
}

/** The longest comment, in characters. */
export const MAX_COMMENT_CHARS = 2000;
/** The longest form, in bytes: a comment takes up to nine for a character. */
export const MAX_APPROVAL_FORM_BYTES = 32_768;

/** Why somebody cannot decide an approval that is pending; undefined when they can. */
export function toObstacle({ approvers, votes }: Approval, { name, refused }: Decider): Markup | undefined {
  if (refused !== undefined) return html`${refused}`;
  if (approvers.length > 0 && !approvers.includes(name)) {
    const names = approvers.map((who, index) => html`${index > 0 && ", "}<strong>${shown(who)}</strong>`);
    return html`Only ${names} may decide this, and you are <strong>${shown(name)}</strong>.`;
  }
  const own = votes.find(({ by }) => by === name);
  if (own !== undefined) return html`You have approved this. Another person has to approve it too.`;
  return undefined;
}

/** Options of {@link renderApprovalForm}. */
export interface ApprovalFormOptions {
  /** Where the form is sent. */
  readonly action: string;
  readonly decider: Decider;
  /** What was wrong with the form before. @default nothing */
  readonly problem?: string | undefined;
  /** Whether one comes back to the list. @default false */
  readonly isListed?: boolean | undefined;
}

/** The form with which a person decides, or why they cannot. */
export function renderApprovalForm(
  approval: Approval,
  { action, decider, problem, isListed = false }: ApprovalFormOptions,
): Markup {
  const { id, tool, call } = approval;
  const obstacle = toObstacle(approval, decider);
  if (obstacle !== undefined) return html`<p class="note">${obstacle}</p>`;
  const options = APPROVAL_SCOPES.map((scope) => html`<option value="${scope}">${SCOPE_TEXTS[scope]}</option>`);
  const what = toVisibleText(tool);
  // No field sends the form with the Enter key: nothing is approved by the way.
  return html`<form class="decide" method="post" action="${action}" autocomplete="off">
    ${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
    <input type="hidden" name="call" value="${call}" />
    ${isListed && html`<input type="hidden" name="from" value="list" />`}
    <div class="say">
      <label for="comment-${id}">Comment, if you like</label>
      <textarea id="comment-${id}" name="comment" rows="1" maxlength="${MAX_COMMENT_CHARS}"></textarea>
    </div>
    <div>
      <label for="scope-${id}">If approved, it holds</label>
      <select id="scope-${id}" name="scope">
        ${options}
      </select>
    </div>
    <div class="choose">
      <button class="first" name="decision" value="approve" aria-label="Approve ${what}">Approve</button>
      <button class="no" name="decision" value="deny" aria-label="Deny ${what}">Deny</button>
    </div>
  </form>`;
}

const FIELDS = ["decision", "scope", "comment", "call"];

/** Reads a form. @returns what is wrong with it, when something is */
export function parseApprovalForm(form: URLSearchParams): ApprovalInput | string {
  const twice = FIELDS.find((name) => form.getAll(name).length > 1);
  if (twice !== undefined) return `It has ${twice} twice.`;
  const decision = form.get("decision");
  if (decision !== "approve" && decision !== "deny") return "It did not say whether to approve or to deny.";
  const given = form.get("scope") ?? "once";
  const scope = APPROVAL_SCOPES.find((known) => known === given);
  if (scope === undefined) return `It did not say for how long: once, hour or session.`;
  // A browser ends lines with two characters.
  const comment = (form.get("comment") ?? "").replaceAll("\r\n", "\n").trim();
  if (comment.length > MAX_COMMENT_CHARS) return `The comment is longer than ${MAX_COMMENT_CHARS} characters.`;
  const call = form.get("call") ?? "";
  if (!/^[\da-f]{64}$/.test(call)) return "It did not say which call it is about. Load the page again.";
  return { decision, scope, comment, call };
}
