import * as z from "zod";
import { MAX_DELAY_MS } from "../wait.ts";
import type { HookMatch } from "../picoclaw/match.ts";
import { matchSchema } from "../picoclaw/match-schema.ts";
import type { ApprovalRisk } from "./approval.ts";

/** When people are asked, whom, and for how long. */
export interface HumanApprovalRule {
  /** For which calls; absent for all. */
  readonly match?: HookMatch;
  /** How many distinct people have to approve. */
  readonly require: number;
  /** Who may decide; empty for everyone who is let in to decide. */
  readonly approvers: readonly string[];
  /** For how long people can decide, in milliseconds. */
  readonly expires_ms: number;
  /** For how long what they approved can be used, in milliseconds. */
  readonly use_within_ms: number;
  /** How long a call waits for people before it is told to come again, in milliseconds. */
  readonly wait_ms?: number;
  /** For how long the same call is denied at once after a person has denied it, in milliseconds; 0 for not at all. */
  readonly denial_holds_ms: number;
  readonly reason: string;
  readonly risk?: ApprovalRisk;
}

/** Config of the built-in hook `human_approval`. */
export interface HumanApprovalConfig {
  /** The first that matches a call counts; a call that none matches needs no approval. */
  readonly rules: readonly HumanApprovalRule[];
  /** The id of the gateway that asks this one; with it each decision is signed. */
  readonly sign_for?: string;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const ruleSchema: z.ZodType<HumanApprovalRule> = z
  .strictObject({
    match: matchSchema.exactOptional(),
    require: z.int().min(1).max(100).default(1).describe("How many distinct people have to approve."),
    approvers: z
      .array(z.string().min(1).max(300))
      .max(100)
      .default([])
      .describe("The names of who may decide. Empty: everyone who has been let in with the scope approve."),
    expires_ms: z
      .int()
      .min(1000)
      .max(30 * DAY_MS)
      .default(HOUR_MS)
      .describe("For how long people can decide, in milliseconds; after it the call is denied."),
    use_within_ms: z
      .int()
      .min(1000)
      .max(30 * DAY_MS)
      .default(HOUR_MS)
      .describe("For how long a call that was approved once can be made, in milliseconds."),
    wait_ms: z
      .int()
      .min(0)
      .max(MAX_DELAY_MS)
      .exactOptional()
      .describe(
        "How long a call waits for people before it is denied with the id of the pending approval, in milliseconds. Default: as long as approval_timeout_ms lets it.",
      ),
    denial_holds_ms: z
      .int()
      .min(0)
      .max(DAY_MS)
      .default(60_000)
      .describe(
        "For how long after a person has denied a call the same call is denied at once and nobody is asked, in milliseconds. 0: people are asked each time.",
      ),
    reason: z.string().min(1).max(2000).default("a person has to approve this").describe("What people are told."),
    risk: z.enum(["low", "medium", "high", "critical"]).exactOptional().describe("How bad it is, shown to people."),
  })
  .refine(({ require, approvers }) => approvers.length === 0 || new Set(approvers).size >= require, {
    path: ["require"],
    message: "more approvals are required than there are approvers",
  });

/** The schema of {@link HumanApprovalConfig}. */
export const humanApprovalSchema: z.ZodType<HumanApprovalConfig> = z.strictObject({
  rules: z.array(ruleSchema).min(1).max(1000).describe("The first rule that matches a call counts."),
  sign_for: z
    .string()
    .min(1)
    .max(1024)
    .exactOptional()
    .describe(
      "The id of the gateway that asks this one. With it each decision is signed for that gateway by this one's signing_key, so that nobody in between can make or change one. Default: decisions are not signed.",
    ),
});
