import type { Approval, ApprovalScope, ApprovalStatus, ApprovalVote } from "../../approvals/index.ts";
import { toCount, toState, toTime, type Tone } from "./format.ts";
import { html, type Markup, shown } from "./markup.ts";

const TONES: Readonly<Record<ApprovalStatus, Tone>> = {
  pending: "warn",
  approved: "good",
  denied: "bad",
  expired: "plain",
  cancelled: "plain",
  consumed: "good",
};

const WORDS: Readonly<Record<ApprovalStatus, string>> = {
  pending: "pending",
  approved: "approved",
  denied: "denied",
  expired: "expired",
  cancelled: "taken back",
  consumed: "approved and used",
};

/** Where an approval stands, in a word. */
export function renderStatus({ status }: Approval): Markup {
  return toState(WORDS[status], TONES[status]);
}

/** A time that is left, to the second when it is short: it is never said to be longer than it is. */
export function toTimeLeft(ms: number): string {
  if (ms <= 0) return "no time left";
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds} s left`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min left`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min left` : `${Math.floor(hours / 24)} days left`;
}

/** How long an approval can be decided; the script counts it down. */
export function renderTimeLeft({ status, expires }: Approval, nowMs: number): Markup {
  if (status !== "pending") return html``;
  const leftMs = Date.parse(expires) - nowMs;
  return html`<span class="left" data-left="${Math.max(0, leftMs)}">${toTimeLeft(leftMs)}</span>`;
}

/** How long an approval holds, by its scope. */
export const SCOPE_TEXTS: Readonly<Record<ApprovalScope, string>> = {
  once: "once",
  hour: "for an hour",
  session: "for this session",
};

/** How many have approved of those it takes, and who. */
export function renderVotes({ require, votes }: Approval): Markup {
  const yes = votes.filter(({ decision }) => decision === "approve");
  if (require === 1 && votes.length === 0) return html``;
  const names = yes.map(({ by }) => html`<span class="tag">${shown(by)}</span> `);
  return html`<p class="votes">
    <strong>${toCount(yes.length)} of ${toCount(require)}</strong> approved ${names.length > 0 && names}
  </p>`;
}

/** What came of an approval, in a sentence. */
export function renderOutcome(approval: Approval): Markup {
  const { status, votes, scope = "once", ending, require, expires } = approval;
  const deny = votes.find(({ decision }) => decision === "deny");
  const people = html`${votes.map(({ by }, index) => html`${index > 0 && ", "}<strong>${shown(by)}</strong>`)}`;
  if (status === "pending") {
    const open = require - votes.length;
    return html`It is still pending: ${toCount(open)} more ${open === 1 ? "person has" : "people have"} to approve.`;
  }
  if (status === "denied") return html`<strong>${shown(deny?.by ?? "somebody")}</strong> denied it. It does not run.`;
  if (status === "expired") {
    return votes.length >= require
      ? html`It was approved by ${people} and was not used in time. It does not run any more.`
      : html`Nobody approved it in time. That is a no: it does not run.`;
  }
  if (status === "cancelled") {
    return html`It was taken
    back${ending?.by !== undefined && html` by <strong>${shown(ending.by)}</strong>`}${
      ending?.reason !== undefined && html`: ${shown(ending.reason)}`
    }.
    It does not run any more.`;
  }
  if (status === "consumed") return html`Approved by ${people}, and used: this call went on, once.`;
  return scope === "once"
    ? html`Approved by ${people}, once. The agent can use it until ${toTime(expires)} UTC.`
    : html`Approved by ${people}, ${SCOPE_TEXTS[scope]}: this same call, as often as it is asked until
      ${toTime(expires)} UTC.`;
}

/** What happened to an approval, in order. */
export function renderHistory(approval: Approval): Markup {
  const { created, changed, status, hook, votes, ending } = approval;
  const isOver = status === "expired" || status === "cancelled" || status === "consumed";
  const end = html`<li>
    <div class="head">
      <h3>${WORDS[status]}</h3>
      <span class="time">${toTime(changed)} UTC</span>
    </div>
    ${ending?.by !== undefined && html`<p>by ${shown(ending.by)}</p>`}
    ${ending?.reason !== undefined && html`<p>${shown(ending.reason)}</p>`}
  </li>`;
  return html`<section aria-labelledby="history-title" id="history" data-part>
    <h2 id="history-title">What happened</h2>
    <ol class="steps">
      <li>
        <div class="head">
          <h3>Asked</h3>
          <span class="quiet">by the hook ${shown(hook)}</span> <span class="time">${toTime(created)} UTC</span>
        </div>
      </li>
      ${votes.map(renderVote)} ${isOver && end}
    </ol>
  </section>`;
}

const WAYS: ReadonlyMap<string, string> = new Map([
  ["page", "on the page"],
  ["link", "with a link"],
  ["token", "with a token"],
  ["jws", "by a signed answer"],
]);

function renderVote({ by, time, how, via, decision, comment, scope }: ApprovalVote): Markup {
  const isYes = decision === "approve";
  return html`<li>
    <div class="head">
      <h3>${shown(by)}</h3>
      ${isYes ? toState("approved", "good") : toState("denied", "bad")}
      ${isYes && html`<span class="tag">${SCOPE_TEXTS[scope ?? "once"]}</span>`}
      <span class="quiet">${WAYS.get(how) ?? shown(how)}${via !== undefined && html`, by way of ${shown(via)}`}</span>
      <span class="time">${toTime(time)} UTC</span>
    </div>
    ${comment !== undefined && html`<p class="comment">${shown(comment, { keepsLines: true })}</p>`}
  </li>`;
}
