import type { Approval } from "../../approvals/index.ts";
import { renderCall, renderRequester, renderRisk, toCallText } from "./approval-call.ts";
import { type ApprovalFormOptions, renderApprovalForm } from "./approval-form.ts";
import { renderHistory, renderOutcome, renderStatus, renderTimeLeft, renderVotes } from "./approval-state.ts";
import { toTime } from "./format.ts";
import { html, type Markup, shown } from "./markup.ts";

/** Options of {@link renderApproval}. */
export interface ApprovalPageOptions {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** The form; undefined when there is nothing to decide. */
  readonly form?: ApprovalFormOptions | undefined;
  /** What stands above everything. @default nothing */
  readonly note?: Markup | undefined;
  /** What stands beside the state. @default nothing */
  readonly beside?: Markup | undefined;
}

/** Arguments longer than this, in characters, put the form out of sight. */
const LONG_CHARS = 2500;

/** One approval, whole. */
export function renderApproval(approval: Approval, { nowMs, form, note, beside }: ApprovalPageOptions): Markup {
  const { tool, reason, status } = approval;
  const isPending = status === "pending";
  const text = toCallText(approval, { isWhole: true });
  const jump = html`<p><a href="#decide">To the decision, below the arguments</a></p>`;
  return html`<header>
      <h1>
        ${isPending ? html`May <span class="code">${shown(tool)}</span> run?` : html`<span class="code">${shown(tool)}</span>`}
      </h1>
      <span class="states" id="state" data-part
        >${renderStatus(approval)} ${renderRisk(approval)} ${renderTimeLeft(approval, nowMs)}</span
      >${beside}
    </header>
    ${note}
    <section aria-labelledby="call-title" class="stack">
      <h2 id="call-title">What ${isPending ? "will run" : "was asked"}</h2>
      <p>${renderRequester(approval)}</p>
      <p class="reason"><span class="quiet">Why it is asked:</span> ${shown(reason)}</p>
      <p>The tool <strong class="code">${shown(tool)}</strong> with these arguments, all of them:</p>
      ${text.text.length > LONG_CHARS && form !== undefined && jump} ${renderCall(approval, text)}
    </section>
    <section aria-labelledby="decide" id="decision" class="stack" data-part>
      <h2 id="decide">${isPending ? "Your decision" : "What came of it"}</h2>
      ${!isPending && html`<p>${renderOutcome(approval)}</p>`} ${isPending && renderVotes(approval)}
      ${isPending && form !== undefined && renderApprovalForm(approval, form)}
    </section>
    ${renderHistory(approval)} ${renderFacts(approval)}`;
}

function renderFacts(approval: Approval): Markup {
  const { id, call, requester, expires, status, approvers, created } = approval;
  const facts: readonly (readonly [name: string, value: Markup | undefined])[] = [
    ["Asked", html`${toTime(created)} UTC`],
    ["To be decided until", status === "pending" ? html`${toTime(expires)} UTC` : undefined],
    ["Can be used until", status === "approved" ? html`${toTime(expires)} UTC` : undefined],
    ["May decide", approvers.length === 0 ? html`everyone with scope approve` : html`${shown(approvers.join(", "))}`],
    ["Turn", requester.turn === undefined ? undefined : shown(requester.turn)],
    ["Chat", requester.chat_id === undefined ? undefined : shown(requester.chat_id)],
    ["Id", html`<span class="code">${id}</span>`],
    ["SHA-256 of the call", html`<span class="code">${call}</span>`],
  ];
  const given = facts.flatMap(([name, value]) =>
    value === undefined
      ? []
      : [
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
        ],
  );
  return html`<section aria-labelledby="facts-title">
    <h2 id="facts-title">Details</h2>
    <dl class="list">${given}</dl>
  </section>`;
}
