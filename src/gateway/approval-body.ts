import * as z from "zod";
import {
  APPROVAL_SCOPES,
  APPROVAL_STATUSES,
  type ApprovalScope,
  type ApprovalStatus,
  APPROVAL_ID_PATTERN,
  EXPECTED_CURSOR,
  MAX_LISTED,
} from "../approvals/index.ts";
import type { Refusal } from "./answer.ts";
import { limitSchema, parseFields } from "./query.ts";
import { readUnambiguousJson } from "./unambiguous-json.ts";

/** The largest body of a decision, in bytes: a comment and what is around it. */
export const MAX_DECISION_BYTES = 16_384;

/** How long a request can wait for a decision, in seconds. */
export const MAX_WAIT_SECONDS = 60;

const DEFAULT_PAGE = 50;

/** A person's decision, as it is sent. */
export interface DecisionBody {
  readonly decision: "approve" | "deny";
  readonly comment?: string;
  readonly scope?: ApprovalScope;
  /** Who decides, where the caller speaks for others. */
  readonly by?: string;
  /** The `call` of the approval as the person was shown it. */
  readonly call?: string;
}

/** Why an approval is taken back, as it is sent. */
export interface CancelBody {
  readonly reason?: string;
  readonly by?: string;
}

/** Which approvals are asked for. */
export interface ApprovalQuery {
  readonly status?: ApprovalStatus | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Nobody could tell two people apart by what is not seen. */
const personSchema = z
  .string()
  .min(1)
  .max(300)
  .regex(/^(?!\s)[^\p{C}\p{Zl}\p{Zp}]*(?<!\s)$/u, "expected a name without control characters and spaces around it");

const textSchema = z.string().max(2000);

const decisionSchema: z.ZodType<DecisionBody> = z.strictObject({
  decision: z.enum(["approve", "deny"]),
  comment: textSchema.exactOptional(),
  scope: z.enum(APPROVAL_SCOPES).exactOptional(),
  by: personSchema.exactOptional(),
  call: z
    .string()
    .regex(/^[\da-f]{64}$/, "expected the approval's call: 64 hex digits")
    .exactOptional(),
});

const cancelSchema: z.ZodType<CancelBody> = z.strictObject({
  reason: textSchema.exactOptional(),
  by: personSchema.exactOptional(),
});

const pageFields = {
  limit: limitSchema(MAX_LISTED, DEFAULT_PAGE),
  cursor: z.string().regex(APPROVAL_ID_PATTERN, EXPECTED_CURSOR).optional(),
};

/** The schema of the query of a page of grants. */
export const grantQuerySchema: z.ZodType<Omit<ApprovalQuery, "status">> = z.strictObject(pageFields);

/** The schema of the query of a page of approvals. */
export const approvalQuerySchema: z.ZodType<ApprovalQuery> = z.strictObject({
  ...pageFields,
  status: z.enum(APPROVAL_STATUSES).optional(),
});

/** The schema of the query of one approval. */
export const waitQuerySchema: z.ZodType<{ readonly wait: number }> = z.strictObject({
  wait: z
    .string()
    .regex(/^\d{1,2}$/)
    .transform(Number)
    .pipe(z.number().max(MAX_WAIT_SECONDS))
    .default(0),
});

/** Reads a decision, or says what is wrong with it. */
export function parseDecisionBody(body: Uint8Array): DecisionBody | Refusal {
  return parseBody(body, decisionSchema);
}

/** Reads why an approval is taken back, or says what is wrong with it. */
export function parseCancelBody(body: Uint8Array): CancelBody | Refusal {
  return parseBody(body, cancelSchema);
}

function parseBody<T extends object>(body: Uint8Array, schema: z.ZodType<T>): T | Refusal {
  const read = readUnambiguousJson(body);
  return "code" in read ? read : parseFields(read.value, schema);
}
