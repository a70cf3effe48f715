import type { Approval, ApprovalList, ApprovalStatus } from "../client/index.ts";
import { toVisibleText } from "../visible-text.ts";
import { formatTable, type Paint, type Tone, toLine } from "./text.ts";

const TONES: Readonly<Record<ApprovalStatus, Tone>> = {
  pending: "warn",
  approved: "good",
  consumed: "good",
  denied: "bad",
  expired: "bad",
  cancelled: "dim",
};

/** Approvals as a table, each in a line. */
export function formatApprovals(approvals: readonly Approval[], paint: Paint, nowMs: number): string {
  if (approvals.length === 0) return "there are none\n";
  const rows = approvals.map((approval) => [
    { text: approval.status, tone: TONES[approval.status] },
    toVisibleText(approval.tool),
    toVisibleText(approval.requester.agent),
    toVisibleText(approval.requester.session),
    toLeft(approval, nowMs),
    `${countYes(approval)}/${approval.require}`,
    approval.id,
  ]);
  return formatTable(["status", "tool", "agent", "session", "left", "votes", "id"], rows, paint);
}

/** That something is left out of a list; empty where nothing is. */
export function formatUnreadable({ unreadable = 0 }: Pick<ApprovalList, "unreadable">): string {
  return unreadable === 0 ? "" : `${unreadable} left out that cannot be read: the gateway's log says which\n`;
}

/** One approval in full. Of what will run nothing is left out; what cannot be seen is shown by its code. */
export function formatApproval(approval: Approval, paint: Paint, nowMs: number): string {
  const { requester, votes, ending } = approval;
  const fields: readonly (readonly [name: string, value: string | undefined])[] = [
    ["agent", requester.agent],
    ["session", requester.session],
    ["channel", [requester.channel, requester.chat_id].filter(Boolean).join(" ")],
    ["host", requester.caller],
    ["why", approval.reason],
    ["risk", approval.risk],
    ["needs", `${approval.require} of ${approval.approvers.length === 0 ? "anybody" : approval.approvers.join(", ")}`],
    ["left", toLeft(approval, nowMs)],
    ["scope", approval.scope],
    ["ended", [ending?.by, ending?.reason].filter(Boolean).join(": ")],
  ];
  const lines = [
    `${paint(TONES[approval.status], approval.status)}  ${paint("strong", toVisibleText(approval.tool))}  ${approval.id}`,
    ...fields.flatMap(([name, value = ""]) => (value === "" ? [] : [toField(name, toVisibleText(value), paint)])),
    ...votes.map(({ by, decision, comment, time, how, via }) => {
      const why = comment === undefined ? "" : `: ${comment}`;
      return toField(
        "vote",
        toVisibleText(`${by} (${how}${via === undefined ? "" : ` ${via}`}) ${decision} ${time}${why}`),
        paint,
      );
    }),
    toField("runs", "", paint).trimEnd(),
    ...toVisibleText(JSON.stringify(approval.arguments, undefined, 2), { keepsLines: true })
      .split("\n")
      .map((line) => `    ${line}`),
  ];
  return `${lines.join("\n")}\n`;
}

function toField(name: string, value: string, paint: Paint): string {
  return `  ${paint("dim", name.padEnd(8))} ${toLine(value)}`;
}

function countYes({ votes }: Approval): number {
  return votes.filter(({ decision }) => decision === "approve").length;
}

/** How long it can still be decided, or used. */
function toLeft({ status, expires }: Approval, nowMs: number): string {
  if (status !== "pending" && status !== "approved") return "";
  const seconds = Math.max(0, Math.round((Date.parse(expires) - nowMs) / 1000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
