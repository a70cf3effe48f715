import { type Approval, ApprovalError, type ApprovalRefusal } from "../../approvals/index.ts";
import { isHookgateError, toHttpStatus } from "../../errors.ts";
import { isVerificationError } from "../../signing/verification-error.ts";
import { renderOutcome } from "./approval-state.ts";
import { html, type Markup, shown } from "./markup.ts";

/** Why something was not done, as a page says it. */
export interface PageRefusal {
  readonly status: number;
  readonly text: string;
}

const TEXTS: Readonly<Record<ApprovalRefusal, string>> = {
  not_found: "There is no approval of this id. It may have been too old to keep.",
  already_decided: "It is decided already.",
  already_consumed: "It is decided already, and the call went on.",
  cancelled: "It was taken back: it is not asked any more.",
  decided_twice: "You have decided this already. Each person counts once.",
  not_approved: "It is not decided yet.",
  expired: "Its time is over.",
  not_an_approver: "This is not yours to decide: its rule names who may.",
  unreadable: "It is kept as something that cannot be read: it approves nothing, and nobody can decide it.",
  other_call: "The form was about another call than this approval is. Load the page again and look at it anew.",
};

const STORE_DOWN =
  "The approvals cannot be reached just now. Nothing is approved meanwhile, and what is pending is there when they are back.";

/** What a page says of an error; undefined when it is none that people can do something about. */
export function toPageRefusal(error: unknown): PageRefusal | undefined {
  if (error instanceof ApprovalError) return { status: toHttpStatus(error.code), text: TEXTS[error.refusal] };
  if (isVerificationError(error)) return toLinkRefusal(error.reason);
  if (!isHookgateError(error)) return undefined;
  if (error.code === "ERR_STORE_UNAVAILABLE") return { status: 503, text: STORE_DOWN };
  if (error.code === "ERR_CONFLICT") {
    return { status: 409, text: "Others changed it at the same time: try again." };
  }
  return undefined;
}

function toLinkRefusal(reason: string): PageRefusal {
  if (reason === "expired") return { status: 410, text: "This link is too old: its time is over." };
  if (reason === "replayed") {
    return { status: 409, text: "This link has been used. A link decides once." };
  }
  if (reason === "replay_store_unavailable") return { status: 503, text: STORE_DOWN };
  return {
    status: 403,
    text: "This link is not good here: a part of it is missing or was changed, or another gateway made it.",
  };
}

/** Options of {@link renderRefusal}. */
export interface RefusalOptions {
  /** The approval as it is now, where it could be read. */
  readonly now: Approval | undefined;
  /** Who wanted to decide. */
  readonly by?: string | undefined;
  /** Whether a form was sent. */
  readonly isSent: boolean;
}

/** Why something was not done, and the state it is in now. */
export function renderRefusal({ status, text }: PageRefusal, { now, by, isSent }: RefusalOptions): Markup {
  const isOwn = now?.votes.some((vote) => vote.by === by) === true;
  const state = now && html`<p><span class="code">${shown(now.tool)}</span>: ${renderOutcome(now)}</p>`;
  const isLost = isSent && !isOwn && status !== 503;
  return html`<p>${isOwn ? TEXTS.decided_twice : text}</p>
    ${state} ${isLost && html`<p>Your decision was not taken.</p>`}`;
}
