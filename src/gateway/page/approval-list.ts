import type { Approval, NotificationStatus } from "../../approvals/index.ts";
import { renderCall, renderRequester, renderRisk, toCallText } from "./approval-call.ts";
import { type Decider, renderApprovalForm } from "./approval-form.ts";
import { renderStatus, renderTimeLeft, renderVotes } from "./approval-state.ts";
import { toCount, toState, toTime } from "./format.ts";
import { html, type Markup, shown, shownShort } from "./markup.ts";

/** What a list of approvals shows. */
export interface ApprovalList {
  /** The oldest first: what is new comes last, and moves nothing that somebody is about to press. */
  readonly pending: readonly Approval[];
  /** Whether there are more that are pending. */
  readonly hasMore: boolean;
  /** What was asked last and is not pending any more. */
  readonly settled: readonly Approval[];
  /** How many are left out because they cannot be read. */
  readonly unreadable: number;
  readonly decider: Decider;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The address of an approval's page. */
export function toApprovalPath(id: string): string {
  return `/approvals/${encodeURIComponent(id)}`;
}

/** What people have to decide, each with its form. */
export function renderPending({ pending, hasMore, ...rest }: ApprovalList): Markup {
  return html`<section aria-labelledby="pending-title" class="pending">
    <h2 id="pending-title">Pending</h2>
    <ul class="asks" id="pending" data-list>
      ${pending.map((approval) => renderCard(approval, rest))}
    </ul>
    ${
      pending.length === 0
        ? html`<p class="empty" id="none" data-part>Nothing waits for a decision.</p>`
        : html`<p class="empty" id="none" data-part hidden></p>`
    }
    ${hasMore && html`<p class="note">There are more, older ones. They come here as these are decided.</p>`}
  </section>`;
}

function renderCard(approval: Approval, { decider, nowMs }: Pick<ApprovalList, "decider" | "nowMs">): Markup {
  const { id, tool, reason } = approval;
  const path = toApprovalPath(id);
  const text = toCallText(approval, { isWhole: false });
  return html`<li class="ask" id="approval-${id}" data-part>
    <div class="head">
      <h3 class="code"><a href="${path}">${shown(tool)}</a></h3>
      ${renderRisk(approval)} ${renderTimeLeft(approval, nowMs)}
    </div>
    <p>${renderRequester(approval)}</p>
    <p class="reason"><span class="quiet">Why it is asked:</span> ${shown(reason)}</p>
    ${renderCall(approval, text)} ${renderVotes(approval)}
    ${
      text.left > 0
        ? html`<p><a class="button" href="${path}">Open to decide</a></p>`
        : renderApprovalForm(approval, { action: path, decider, isListed: true })
    }
  </li>`;
}

/** That something is left out, where it is: a list that says nothing looks complete. */
export function renderUnreadable({ unreadable }: Pick<ApprovalList, "unreadable">): Markup {
  if (unreadable === 0) return html`<p class="note warn" id="unreadable" data-part hidden></p>`;
  return html`<p class="note warn" id="unreadable" data-part>
    ${toCount(unreadable)} left out: what is kept cannot be read, and approves nothing. The log says which.
  </p>`;
}

/** What was decided last. */
export function renderSettled({ settled }: ApprovalList): Markup {
  const table = html`<table class="wide-table">
    <caption class="quiet">
      Those that were asked last first.
    </caption>
    <thead>
      <tr>
        <th scope="col">Asked (UTC)</th>
        <th scope="col">Tool</th>
        <th scope="col">Outcome</th>
        <th scope="col">By</th>
        <th scope="col">Agent</th>
        <th scope="col">Session</th>
      </tr>
    </thead>
    <tbody>
      ${settled.map(renderRow)}
    </tbody>
  </table>`;
  return html`<section aria-labelledby="settled-title" id="settled" data-part>
    <h2 id="settled-title">Decided</h2>
    ${settled.length === 0 ? html`<p class="empty">Nothing was decided yet.</p>` : table}
  </section>`;
}

function renderRow(approval: Approval): Markup {
  const { id, tool, created, requester, votes } = approval;
  const names = votes.map(({ by }, index) => html`${index > 0 && ", "}${shownShort(by, 60)}`);
  return html`<tr>
    <th scope="row" class="time"><a href="${toApprovalPath(id)}">${toTime(created)}</a></th>
    <td data-name="Tool" class="code">${shownShort(tool, 80)}</td>
    <td data-name="Outcome">${renderStatus(approval)}</td>
    <td data-name="By">${names.length > 0 && names}</td>
    <td data-name="Agent">${requester.agent !== "" && shownShort(requester.agent, 60)}</td>
    <td data-name="Session">${requester.session !== "" && shownShort(requester.session, 60)}</td>
  </tr>`;
}

/** How those who are told of approvals were reached. */
export function renderNotifications(targets: readonly NotificationStatus[] | undefined): Markup {
  if (targets === undefined) return html``;
  const rows = targets.map(({ name, delivered, failed, dropped, waiting, last_error: lastError }) => {
    const lost = failed + dropped;
    const error = html`<span class="quiet">${shownShort(lastError ?? "", 300)}</span>`;
    return html`<div>
      <dt>${shown(name)}</dt>
      <dd>
        ${toCount(delivered)} delivered${waiting > 0 && `, ${toCount(waiting)} waiting`}
        ${lost > 0 && toState(`${toCount(lost)} not delivered`, "warn")} ${lastError !== undefined && error}
      </dd>
    </div>`;
  });
  return html`<section aria-labelledby="told-title" id="told" data-part>
    <h2 id="told-title">Notifications</h2>
    <dl class="list">${rows}</dl>
  </section>`;
}
