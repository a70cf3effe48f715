import * as z from "zod";

/** Where an approval stands. `pending` and `approved` are open: what they come to is not settled. */
export type ApprovalStatus = "pending" | "approved" | "denied" | "expired" | "cancelled" | "consumed";

/** Every {@link ApprovalStatus}. */
export const APPROVAL_STATUSES = ["pending", "approved", "denied", "expired", "cancelled", "consumed"] as const;

/**
 * How far an approval goes, always for the one call it is bound to: once, for as long as the session lasts (at most
 * {@link SESSION_SCOPE_MS}), or for an hour.
 */
export type ApprovalScope = "once" | "session" | "hour";

/** Every {@link ApprovalScope}, the narrowest first. */
export const APPROVAL_SCOPES = ["once", "hour", "session"] as const;

/** How long an approval for an hour holds, in milliseconds. */
export const HOUR_SCOPE_MS = 3_600_000;

/** How long an approval for a session holds at most, in milliseconds: a gateway is not told when a session ends. */
export const SESSION_SCOPE_MS = 86_400_000;

/** How bad it is if the call should not have run, as the rule that asks says. */
export type ApprovalRisk = "low" | "medium" | "high" | "critical";

/** Who asks. What a host did not say is the empty text. */
export interface Requester {
  readonly agent: string;
  readonly session: string;
  readonly turn?: string;
  readonly channel?: string;
  readonly chat_id?: string;
  /** The name under which the gateway knows the host: its token's, its JWT's or its signing key's. None in process. */
  readonly caller?: string;
}

/** What one person decided. */
export interface ApprovalVote {
  readonly by: string;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
  /** The way it came, such as `token`, `link` or `jws`. */
  readonly how: string;
  /** The name of the token that said so, where it spoke for the person. */
  readonly via?: string;
  readonly decision: "approve" | "deny";
  readonly comment?: string;
  /** @default "once" */
  readonly scope?: ApprovalScope;
}

/** Who ended an approval, and why; beside the votes. */
export interface ApprovalEnding {
  readonly by?: string;
  readonly reason?: string;
}

/** A question to people whether one tool call may run, and what came of it. JSON; the keys are those of the wire. */
export interface Approval {
  /** A UUID of version 7: ids sort by time. */
  readonly id: string;
  /** 1 when it is made, one more with each change. */
  readonly version: number;
  readonly status: ApprovalStatus;
  /** RFC 3339, with milliseconds; the times below too. */
  readonly created: string;
  /** When its last change was. */
  readonly changed: string;
  /** While it is pending: until when it can be decided. While it is approved: until when it can be used. */
  readonly expires: string;
  /** How long it can be used once it is approved, in milliseconds; for another scope than `once` that scope's time. */
  readonly use_within_ms: number;
  readonly requester: Requester;
  readonly tool: string;
  /** As they are shown to people: what the masks of the config lead to is `[masked]`. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** SHA-256, in hex, of the canonical JSON of agent, session, tool and the arguments as they are: see `toCallHash`. */
  readonly call: string;
  /** The name of the hook that asks. */
  readonly hook: string;
  /** Why people are asked. */
  readonly reason: string;
  readonly risk?: ApprovalRisk;
  /** How many distinct people have to approve. */
  readonly require: number;
  /** Who may decide, by name; empty when everyone may who has been let in to decide. */
  readonly approvers: readonly string[];
  readonly votes: readonly ApprovalVote[];
  /** Once it is approved: the narrowest scope of those who approved. */
  readonly scope?: ApprovalScope;
  /** Only when no vote ended it. */
  readonly ending?: ApprovalEnding;
}

const timeSchema = z.iso.datetime({ precision: 3 });
const nameSchema = z.string().max(300);
const scopeSchema = z.enum(APPROVAL_SCOPES);

const voteSchema: z.ZodType<ApprovalVote> = z.object({
  by: nameSchema.min(1),
  time: timeSchema,
  how: z.string().min(1).max(40),
  via: nameSchema.min(1).exactOptional(),
  decision: z.enum(["approve", "deny"]),
  comment: z.string().max(2000).exactOptional(),
  scope: scopeSchema.exactOptional(),
});

/** An approval as it is stored and sent. */
export const approvalSchema: z.ZodType<Approval> = z.object({
  id: z.uuid(),
  version: z.int().min(1),
  status: z.enum(APPROVAL_STATUSES),
  created: timeSchema,
  changed: timeSchema,
  expires: timeSchema,
  use_within_ms: z.int().min(1),
  requester: z.object({
    agent: nameSchema,
    session: nameSchema,
    turn: nameSchema.exactOptional(),
    channel: nameSchema.exactOptional(),
    chat_id: nameSchema.exactOptional(),
    caller: nameSchema.exactOptional(),
  }),
  tool: nameSchema,
  arguments: z.record(z.string(), z.unknown()),
  call: z.string().regex(/^[\da-f]{64}$/),
  hook: nameSchema,
  reason: z.string().max(2000),
  risk: z.enum(["low", "medium", "high", "critical"]).exactOptional(),
  require: z.int().min(1).max(100),
  approvers: z.array(nameSchema.min(1)).max(100),
  votes: z.array(voteSchema).max(200),
  scope: scopeSchema.exactOptional(),
  ending: z.object({ by: nameSchema.exactOptional(), reason: z.string().max(2000).exactOptional() }).exactOptional(),
});

/** Whether it is not settled yet what an approval comes to. */
export function isOpen({ status }: Pick<Approval, "status">): boolean {
  return status === "pending" || status === "approved";
}

/** Whether the time of an open approval is over, so that it is to be treated as expired whatever its status says. */
export function isLapsed(approval: Pick<Approval, "status" | "expires">, nowMs: number): boolean {
  return isOpen(approval) && Date.parse(approval.expires) <= nowMs;
}
