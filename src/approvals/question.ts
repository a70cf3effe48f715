import { HookgateError } from "../errors.ts";
import { toCanonicalJson } from "../records/canonical.ts";
import { type MaskPath, maskValue } from "../records/mask.ts";
import { MaskedValues } from "../records/secrets.ts";
import type { Approval, ApprovalRisk, Requester } from "./approval.ts";
import type { BoundCall } from "./call-hash.ts";
import { toTime } from "./state.ts";

/** What people are asked, and about which call. */
export interface ApprovalQuestion extends BoundCall {
  /** Who asks, besides agent and session. */
  readonly turn?: string | undefined;
  readonly channel?: string | undefined;
  readonly chatId?: string | undefined;
  readonly caller?: string | undefined;
  /** The name of the hook that asks. */
  readonly hook: string;
  readonly reason: string;
  readonly risk?: ApprovalRisk | undefined;
  /** How many distinct people have to approve, 1 to 100. */
  readonly require: number;
  /** Who may decide, at most 100 names; empty for everyone who is let in to decide. */
  readonly approvers: readonly string[];
  /** For how long it can be decided, in milliseconds. */
  readonly expiresMs: number;
  /** For how long it can be used once it is approved, in milliseconds. */
  readonly useWithinMs: number;
  /** For how long nobody is asked again about a call that a person has denied, in milliseconds. @default 0 */
  readonly denialHoldsMs?: number | undefined;
}

/** What an approval gets besides its question. */
export interface NewApproval {
  readonly id: string;
  /** The hash of the call. */
  readonly call: string;
  readonly nowMs: number;
  /** What of the arguments is not shown; paths begin with `arguments`. */
  readonly masks: readonly MaskPath[];
}

/** The longest arguments people can be asked about, in characters of their JSON. */
export const MAX_ARGUMENTS_CHARS = 262_144;

const MAX_NAME_CHARS = 300;
const MAX_REASON_CHARS = 2000;

/**
 * Makes the approval of a question.
 * @throws {HookgateError} `ERR_BODY_TOO_LARGE` when the arguments are too long to be shown whole
 */
export function toApproval(question: ApprovalQuestion, { id, call, nowMs, masks }: NewApproval): Approval {
  const { tool, hook, reason, risk, require, approvers, expiresMs, useWithinMs } = question;
  const created = toTime(nowMs);
  return {
    id,
    version: 1,
    status: "pending",
    created,
    changed: created,
    expires: toTime(nowMs + expiresMs),
    use_within_ms: useWithinMs,
    requester: toRequester(question),
    tool: tool.slice(0, MAX_NAME_CHARS),
    arguments: toShown(question.arguments ?? {}, masks),
    call,
    hook: hook.slice(0, MAX_NAME_CHARS),
    reason: reason.slice(0, MAX_REASON_CHARS),
    ...(risk !== undefined && { risk }),
    require,
    approvers,
    votes: [],
  };
}

/** Whether an approval that is pending asks the same people for as many of them. */
export function asksTheSame({ require, approvers }: Approval, question: ApprovalQuestion): boolean {
  return require === question.require && approvers.join("\n") === question.approvers.join("\n");
}

/** What a rule demands of what people approved. */
export type ApprovalDemand = Pick<ApprovalQuestion, "require" | "approvers" | "useWithinMs">;

/**
 * Why what people approved does not meet a rule: it may be another than the one they were asked by. Only people who may
 * decide by this one count.
 * @returns undefined when it does
 */
export function findShortfall(
  { votes, scope = "once", changed }: Approval,
  { require, approvers, useWithinMs }: ApprovalDemand,
  nowMs: number,
): string | undefined {
  const mayDecide = (by: string): boolean => approvers.length === 0 || approvers.includes(by);
  const people = new Set(
    votes.filter(({ by, decision }) => decision === "approve" && mayDecide(by)).map(({ by }) => by),
  );
  if (people.size < require) {
    const have =
      people.size === 0
        ? "nobody who may decide has"
        : `${people.size} of those who may decide ${people.size === 1 ? "has" : "have"}`;
    return `the rule now needs ${require === 1 ? "a person" : `${require} people`}, and ${have} approved`;
  }
  const isLate = scope === "once" && Date.parse(changed) + useWithinMs <= nowMs;
  return isLate ? "the rule now gives less time to use what is approved once" : undefined;
}

/**
 * Until when nobody is asked again about a call, by the last approval of it.
 * @returns undefined when nothing stands in the way: only a person's no does, and only for a while
 */
export function toHeldUntilMs(
  { status, changed }: Approval,
  { denialHoldsMs = 0 }: ApprovalQuestion,
): number | undefined {
  return status === "denied" ? Date.parse(changed) + denialHoldsMs : undefined;
}

function toRequester({ agent, session, turn, channel, chatId, caller }: ApprovalQuestion): Requester {
  return {
    agent: agent.slice(0, MAX_NAME_CHARS),
    session: session.slice(0, MAX_NAME_CHARS),
    ...(turn && { turn: turn.slice(0, MAX_NAME_CHARS) }),
    ...(channel && { channel: channel.slice(0, MAX_NAME_CHARS) }),
    ...(chatId && { chat_id: chatId.slice(0, MAX_NAME_CHARS) }),
    ...(caller && { caller: caller.slice(0, MAX_NAME_CHARS) }),
  };
}

function toShown(given: Readonly<Record<string, unknown>>, masks: readonly MaskPath[]): Approval["arguments"] {
  const text = toCanonicalJson({ arguments: given });
  if (text.length > MAX_ARGUMENTS_CHARS) {
    throw new HookgateError(
      "ERR_BODY_TOO_LARGE",
      `the arguments are too long to be shown to people: at most ${MAX_ARGUMENTS_CHARS} characters, got ${text.length}`,
    );
  }
  // A copy: what the hook was given is changed or gone later.
  const values = new MaskedValues();
  const shown = values.scrub(maskValue(JSON.parse(text), masks, values.add));
  const masked: unknown = typeof shown === "object" && shown !== null ? Reflect.get(shown, "arguments") : undefined;
  return typeof masked === "object" && masked !== null ? { ...masked } : { "": masked };
}
