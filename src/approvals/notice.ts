import { toVisibleText } from "../visible-text.ts";
import type { Approval } from "./approval.ts";
import type { ApprovalNews } from "./manager.ts";

/** What people are told of an approval. */
export interface Notice {
  readonly news: ApprovalNews;
  readonly approval: Approval;
  /** Where it can be looked at and decided; absent where the gateway does not know its own address. */
  readonly link?: string | undefined;
}

/** The values a template can name, in the order a message without a template shows them. */
export const NOTICE_FIELDS = [
  "id",
  "tool",
  "agent",
  "session",
  "channel",
  "chat_id",
  "caller",
  "reason",
  "risk",
  "status",
  "by",
  "comment",
  "expires",
  "arguments",
  "link",
] as const;

/** One of {@link NOTICE_FIELDS}. */
export type NoticeField = (typeof NOTICE_FIELDS)[number];

/** Makes a value harmless in a message's own format. */
export type Escape = (text: string) => string;

/** The longest value of arguments in a message, in characters: what is longer is looked at on the page. */
const MAX_ARGUMENTS_CHARS = 1500;
const MAX_VALUE_CHARS = 300;

/**
 * The values of a notice, each as text in which everything can be seen: nothing that hides, turns text around or passes for
 * something else. What is left out is said.
 */
export function toNoticeValues({ news, approval, link }: Notice): Readonly<Record<NoticeField, string>> {
  const { id, tool, requester, reason, risk, status, votes, ending, expires } = approval;
  const last = votes.at(-1);
  const isDecided = news === "decided";
  return {
    id,
    tool: toShown(tool),
    agent: toShown(requester.agent),
    session: toShown(requester.session),
    channel: toShown(requester.channel ?? ""),
    chat_id: toShown(requester.chat_id ?? ""),
    caller: toShown(requester.caller ?? ""),
    reason: toShown(reason),
    risk: risk ?? "",
    status,
    by: isDecided ? toShown(votes.map(({ by }) => by).join(", ")) : "",
    comment: isDecided ? toShown(last?.comment ?? ending?.reason ?? "") : "",
    expires: isDecided ? "" : expires,
    arguments: toShownArguments(approval.arguments),
    link: link ?? "",
  };
}

/** The first line of a message without a template. */
export function toTitle({ news, approval }: Notice): string {
  const tool = toShown(approval.tool);
  return news === "requested" ? `Approval needed: ${tool}` : `Approval ${approval.status}: ${tool}`;
}

const PLACE = /\{\{\s*(\w+)\s*\}\}/g;

/** The names in a template that are no {@link NoticeField}. */
export function findUnknownPlaces(template: string): readonly string[] {
  const names = Array.from(template.matchAll(PLACE), ([, name = ""]) => name);
  return names.filter((name) => !isField(name));
}

/** Fills a template. The template is in the message's format; what is put into it is escaped for it. */
export function fillTemplate(template: string, notice: Notice, escape: Escape): string {
  const values = toNoticeValues(notice);
  return template.replace(PLACE, (place, name: string) => (isField(name) ? escape(values[name]) : place));
}

function isField(name: string): name is NoticeField {
  return NOTICE_FIELDS.some((field) => field === name);
}

function toShown(text: string): string {
  return cut(toVisibleText(text), MAX_VALUE_CHARS);
}

function toShownArguments(value: Approval["arguments"]): string {
  return cut(toVisibleText(JSON.stringify(value, undefined, 2), { keepsLines: true }), MAX_ARGUMENTS_CHARS);
}

/** Cuts at a whole character, and says how much is missing. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const kept = text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "");
  return `${kept} [and ${text.length - kept.length} more characters]`;
}
