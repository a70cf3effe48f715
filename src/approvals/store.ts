import { HookgateError } from "../errors.ts";
import type { ReplayStore } from "../signing/replay.ts";
import type { OutboxPeer } from "./outbox.ts";
import { type Approval, approvalSchema, type ApprovalStatus, isOpen } from "./approval.ts";
import { type ApprovalKey, UnreadableApprovalError } from "./refusal.ts";

/** What came of {@link ApprovalStore.create}. */
export type Creation =
  | { readonly isNew: true }
  /** The approval that is open for the same call. */
  | { readonly isNew: false; readonly open: Approval };

/** Which approvals are listed. */
export interface ApprovalListOptions {
  /** @default any */
  readonly status?: ApprovalStatus | undefined;
  /** The most on a page, 1 to {@link MAX_LISTED}. */
  readonly maxApprovals: number;
  /** The `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** The longest page of {@link ApprovalStore.list}. */
export const MAX_LISTED = 500;

/** Approvals as they are kept. */
export interface KeptApprovals {
  readonly approvals: readonly Approval[];
  /** The ids of those among them that cannot be read; absent where there are none. */
  readonly unreadable?: readonly string[];
}

/** Approvals, newest first. */
export interface ApprovalPage extends KeptApprovals {
  /** Where the next page begins; absent on the last. */
  readonly next?: string;
}

/** That an approval was made or changed. */
export interface ApprovalChange {
  readonly id: string;
  readonly version: number;
  readonly status: ApprovalStatus;
}

/**
 * Told of each change this process makes, and of those of others: of some that come together perhaps only the last.
 * Undefined when some may have been missed. It must not throw.
 */
export type OnApprovalChange = (change: ApprovalChange | undefined) => void;

/** Options of {@link ApprovalStore.changed}. */
export interface ChangedOptions {
  /** The version that is known. */
  readonly version: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Where approvals are kept. A store knows no rules: it keeps what it is given under conditions that it checks in one atomic
 * step, and wakes those who wait. Everything that goes in and out is JSON. What it holds outlives the process, but for a
 * store in memory.
 *
 * Every method rejects with a {@link HookgateError} of code `ERR_STORE_UNAVAILABLE` when the store cannot be reached or
 * cannot tell; a caller then takes nothing as approved. One approval that cannot be read makes no other unavailable: those
 * methods that are about it alone reject with an {@link UnreadableApprovalError}, and the others leave it out and name it.
 * It is a {@link ReplayStore} too: `insert` makes keys single-use.
 */
export interface ApprovalStore extends ReplayStore {
  /** What it is called in messages, such as `sqlite`. */
  readonly name: string;
  /**
   * Remembers the signed requests of hosts, where that may cost less than `insert`: with the power it may be lost, with the
   * process not. @default the store itself
   */
  readonly requests?: ReplayStore | undefined;
  /**
   * The way, for one call, to where what is to be told of its approvals waits; for stores that outlive whoever could tell it.
   * @default it is told by the process that has settled it
   */
  readonly outbox?: (() => OutboxPeer) | undefined;
  /**
   * Keeps a new approval, unless one is open for the same `call`: there is never more than one.
   * @throws {HookgateError} `ERR_CONFLICT` when the id is there
   * @throws {UnreadableApprovalError} when the one that is open cannot be read
   */
  create(approval: Approval): Promise<Creation>;
  get(id: string): Promise<Approval | undefined>;
  /**
   * Puts an approval in the place of the one whose version is one less.
   * @returns false, and nothing is changed, when that is not the version there is, or there is none of this id
   */
  replace(next: Approval): Promise<boolean>;
  /** The approval that is open for a call, whether or not its time is over. */
  findOpen(call: string): Promise<Approval | undefined>;
  /** The approval of a call that was asked for last, whatever has come of it; undefined when it is deleted. */
  findLast(call: string): Promise<Approval | undefined>;
  /**
   * Lists approvals by id, the newest first. One that changes meanwhile is on one page or on none, never on two. A page has
   * fewer than it may, or none, where some cannot be read.
   * @throws {RangeError} when `maxApprovals` is out of bounds
   * @throws {HookgateError} `ERR_INVALID_PARAMS` when `cursor` is none
   */
  list(options: ApprovalListOptions): Promise<ApprovalPage>;
  /**
   * Open approvals whose time is over, at most `maxApprovals`, those that expired first before others. Those that cannot be
   * read are open no more after this: nobody else could settle them, and people can be asked about their calls again.
   */
  due(nowMs: number, maxApprovals: number): Promise<KeptApprovals>;
  /** Deletes settled approvals that last changed before a time. @returns how many; at most 1000 in one step */
  prune(beforeMs: number): Promise<number>;
  /**
   * Resolves when the approval has another version than the one that is known, also when it had before it was asked, and
   * when the signal aborts. It may resolve early; it is asked again then. One wait holds no timer of its own.
   */
  changed(id: string, options: ChangedOptions): Promise<void>;
  /** Calls `listener` after changes by any process. @returns lets go of it */
  subscribe(listener: OnApprovalChange): Promise<() => void>;
  /** Resolves when the store can be read and written. */
  health(): Promise<void>;
  /** Lets go of what it holds; waits end. */
  close(): Promise<void>;
}

/** An approval as a store gives it. */
export interface ApprovalRow {
  readonly id: string;
  /** For {@link readApproval}. */
  readonly body: string;
}

/** What a store looks approvals up by; everything else is one text. */
export interface ApprovalIndex {
  readonly id: string;
  readonly version: number;
  readonly status: ApprovalStatus;
  readonly call: string;
  /** Whether it counts for {@link ApprovalStore.create}, {@link ApprovalStore.findOpen} and {@link ApprovalStore.due}. */
  readonly isOpen: boolean;
  readonly expiresAtMs: number;
  readonly changedAtMs: number;
  /** The approval as JSON, for {@link readApproval}. */
  readonly body: string;
}

/** What a store keeps of an approval. */
export function toApprovalIndex(approval: Approval): ApprovalIndex {
  const { id, version, status, call, expires, changed } = approval;
  return {
    id,
    version,
    status,
    call,
    isOpen: isOpen(approval),
    expiresAtMs: Date.parse(expires),
    changedAtMs: Date.parse(changed),
    body: JSON.stringify(approval),
  };
}

/**
 * Reads an approval that a store kept.
 * @param key - What it was looked up by: the approval of another call or id is not what was approved.
 * @throws {UnreadableApprovalError} when it is none, or not that one
 */
export function readApproval(body: string, key: ApprovalKey = {}): Approval {
  const approval = parseBody(body);
  const { id = approval?.id, call = approval?.call } = key;
  if (approval === undefined || approval.id !== id || approval.call !== call) throw new UnreadableApprovalError(key);
  return approval;
}

/** Reads what can be read, and names the rest. */
export function readApprovals(rows: readonly ApprovalRow[]): KeptApprovals {
  const unreadable: string[] = [];
  const approvals = rows.flatMap(({ id, body }) => {
    const approval = parseBody(body);
    if (approval?.id === id) return [approval];
    unreadable.push(id);
    return [];
  });
  return unreadable.length === 0 ? { approvals } : { approvals, unreadable };
}

/** Makes a page of a list. @param rows - One more than may be on it where there are more. */
export function toApprovalPage(rows: readonly ApprovalRow[], maxApprovals: number): ApprovalPage {
  const page = rows.slice(0, maxApprovals);
  const last = page.at(-1);
  const kept = readApprovals(page);
  return rows.length > maxApprovals && last !== undefined ? { ...kept, next: last.id } : kept;
}

function parseBody(body: string): Approval | undefined {
  try {
    return approvalSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}

/** The error of a store that cannot be reached or cannot tell. What went wrong is in `cause`, for the log. */
export function storeUnavailable(why: string, cause?: unknown): HookgateError {
  return new HookgateError("ERR_STORE_UNAVAILABLE", `the approval store is not available: ${why}`, { cause });
}

/** The id of an approval, also of one that is not there any more: what a page of a list can begin at. */
export const APPROVAL_ID_PATTERN: RegExp = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** What the cursor of a list has to be, in words. */
export const EXPECTED_CURSOR = "expected the next of another page";

/**
 * Checks the bound of a page, and where it begins.
 * @throws {RangeError} when the bound is not an integer from 1 to {@link MAX_LISTED}
 * @throws {HookgateError} `ERR_INVALID_PARAMS` when the cursor is none
 */
export function assertListOptions({ maxApprovals, cursor }: Omit<ApprovalListOptions, "status">): void {
  if (!Number.isInteger(maxApprovals) || maxApprovals < 1 || maxApprovals > MAX_LISTED) {
    throw new RangeError(`maxApprovals: expected an integer from 1 to ${MAX_LISTED}, got ${maxApprovals}`);
  }
  if (cursor !== undefined && !APPROVAL_ID_PATTERN.test(cursor)) {
    throw new HookgateError("ERR_INVALID_PARAMS", `cursor: ${EXPECTED_CURSOR}`);
  }
}
