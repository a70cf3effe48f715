import type { HostEvent } from "../picoclaw/index.ts";
import type { Approval } from "./approval.ts";
import type { ApprovalNews } from "./manager.ts";

/** The event that observers are told of an approval with: `approval_requested` or `approval_decided`. */
export function toApprovalEvent(news: ApprovalNews, approval: Approval): HostEvent {
  const { id, status, changed, requester, tool, reason, risk, require, expires, votes, ending } = approval;
  const { agent, session, turn = "", channel, chat_id: chatId, caller } = requester;
  const last = votes.at(-1);
  const said = last?.comment ?? ending?.reason;
  return {
    Kind: news === "requested" ? "approval_requested" : "approval_decided",
    Time: changed,
    Meta: { AgentID: agent, SessionKey: session, TurnID: turn },
    Payload: {
      ID: id,
      Status: status,
      Tool: tool,
      Arguments: approval.arguments,
      Reason: reason,
      ...(risk !== undefined && { Risk: risk }),
      Require: require,
      Expires: expires,
      ...(channel !== undefined && { Channel: channel }),
      ...(chatId !== undefined && { ChatID: chatId }),
      ...(caller !== undefined && { Caller: caller }),
      ...(news === "decided" && {
        By: votes.map(({ by }) => by),
        ...(votes.length > 0 && { How: votes.map(({ how }) => how) }),
        ...(votes.some(({ via }) => via !== undefined) && { Via: votes.map(({ via = "" }) => via) }),
        ...(approval.scope !== undefined && { Scope: approval.scope }),
        ...(said !== undefined && { Comment: said }),
      }),
    },
  };
}
