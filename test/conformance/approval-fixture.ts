import type { Approval, ApprovalStore } from "../../src/approvals/index.ts";
import { createUuidV7 } from "../../src/signing/uuid.ts";

/** A store of approvals with nothing in it, and the clock it goes by. */
export interface ApprovalStage {
  readonly store: ApprovalStore;
  /** Milliseconds since the epoch. */
  now(): number;
  advance(ms: number): void;
  /** The store as another process sees it; the same one where there is no other. */
  readonly other?: ApprovalStore | undefined;
  /** The store after its process has ended and another has started; absent where it ends with it. */
  readonly reopen?: (() => Promise<ApprovalStore>) | undefined;
  close?(): Promise<void>;
}

/** Makes a stage. */
export type OpenApprovalStage = () => Promise<ApprovalStage>;

/** When stages begin. */
export const START_MS: number = Date.UTC(2026, 10, 1, 12);

/** An approval that is pending for a minute, with a call of its own. */
export function newApproval(nowMs: number, changes: Partial<Approval> = {}): Approval {
  const id = createUuidV7(nowMs);
  const time = new Date(nowMs).toISOString();
  return {
    id,
    version: 1,
    status: "pending",
    created: time,
    changed: time,
    expires: new Date(nowMs + 60_000).toISOString(),
    use_within_ms: 30_000,
    requester: { agent: "main", session: "s1" },
    tool: "bash",
    arguments: { command: "rm -r build" },
    call: id.replaceAll("-", "").repeat(2),
    hook: "human",
    reason: "it deletes files",
    require: 1,
    approvers: [],
    votes: [],
    ...changes,
  };
}

/** The approval as it is after a change to another status. */
export function toNext(approval: Approval, status: Approval["status"], changes: Partial<Approval> = {}): Approval {
  return { ...approval, status, version: approval.version + 1, ...changes };
}
