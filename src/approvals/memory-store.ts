import { HookgateError } from "../errors.ts";
import { createMemoryReplayStore } from "../signing/replay.ts";
import type { Approval } from "./approval.ts";
import { ChangeHub } from "./change-hub.ts";
import {
  type ApprovalIndex,
  type ApprovalStore,
  assertListOptions,
  readApproval,
  readApprovals,
  storeUnavailable,
  toApprovalIndex,
  toApprovalPage,
} from "./store.ts";

/** Options of {@link createMemoryApprovalStore}. */
export interface MemoryApprovalStoreOptions {
  /** Milliseconds since the epoch, for single-use keys. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const MAX_PRUNED = 1000;

/**
 * Makes a store of approvals in memory: exact within one process, and gone with it. For tests, and for a gateway whose
 * approvals need not outlive it.
 */
export function createMemoryApprovalStore({ now }: MemoryApprovalStoreOptions = {}): ApprovalStore {
  return new MemoryApprovalStore(now);
}

class MemoryApprovalStore implements ApprovalStore {
  readonly name = "memory";
  readonly #kept = new Map<string, ApprovalIndex>();
  /** The id of the last approval of a call: the only one of it that may be open. */
  readonly #last = new Map<string, string>();
  readonly #hub = new ChangeHub();
  readonly #keys: ReturnType<typeof createMemoryReplayStore>;
  #isClosed = false;

  constructor(now: (() => number) | undefined) {
    this.#keys = createMemoryReplayStore({ now });
  }

  async create(approval: Approval): ReturnType<ApprovalStore["create"]> {
    this.#assertOpen();
    const entry = toApprovalIndex(approval);
    const last = this.#lastOf(entry.call);
    if (entry.isOpen && last?.isOpen === true)
      return { isNew: false, open: readApproval(last.body, { call: entry.call }) };
    if (this.#kept.has(entry.id)) throw new HookgateError("ERR_CONFLICT", `approval ${entry.id} is there already`);
    this.#last.set(entry.call, entry.id);
    this.#keep(entry);
    return { isNew: true };
  }

  async get(id: string): Promise<Approval | undefined> {
    this.#assertOpen();
    const entry = this.#kept.get(id);
    return entry && readApproval(entry.body, { id });
  }

  async replace(next: Approval): Promise<boolean> {
    this.#assertOpen();
    if (this.#kept.get(next.id)?.version !== next.version - 1) return false;
    this.#keep(toApprovalIndex(next));
    return true;
  }

  async findOpen(call: string): Promise<Approval | undefined> {
    this.#assertOpen();
    const last = this.#lastOf(call);
    return last?.isOpen === true ? readApproval(last.body, { call }) : undefined;
  }

  async findLast(call: string): Promise<Approval | undefined> {
    this.#assertOpen();
    const last = this.#lastOf(call);
    return last && readApproval(last.body, { call });
  }

  async list({
    status,
    maxApprovals,
    cursor,
  }: Parameters<ApprovalStore["list"]>[0]): ReturnType<ApprovalStore["list"]> {
    this.#assertOpen();
    assertListOptions({ maxApprovals, cursor });
    const fitting = [...this.#kept.values()]
      .filter(
        (entry) => (status === undefined || entry.status === status) && (cursor === undefined || entry.id < cursor),
      )
      .toSorted((a, b) => (a.id < b.id ? 1 : -1));
    return toApprovalPage(fitting, maxApprovals);
  }

  async due(nowMs: number, maxApprovals: number): ReturnType<ApprovalStore["due"]> {
    this.#assertOpen();
    const due = [...this.#kept.values()]
      .filter(({ isOpen, expiresAtMs }) => isOpen && expiresAtMs <= nowMs)
      .toSorted((a, b) => a.expiresAtMs - b.expiresAtMs)
      .slice(0, maxApprovals);
    const kept = readApprovals(due);
    for (const entry of due) {
      if (kept.unreadable?.includes(entry.id) === true) {
        this.#kept.set(entry.id, { ...entry, isOpen: false, changedAtMs: nowMs });
      }
    }
    return kept;
  }

  async prune(beforeMs: number): Promise<number> {
    this.#assertOpen();
    const old = [...this.#kept.values()].filter((entry) => !entry.isOpen && entry.changedAtMs < beforeMs);
    const pruned = old.slice(0, MAX_PRUNED);
    for (const { id, call } of pruned) {
      this.#kept.delete(id);
      if (this.#last.get(call) === id) this.#last.delete(call);
    }
    return pruned.length;
  }

  async insert(key: string, expiresAtMs: number): Promise<boolean> {
    this.#assertOpen();
    return this.#keys.insert(key, expiresAtMs);
  }

  async changed(id: string, { version, signal }: Parameters<ApprovalStore["changed"]>[1]): Promise<void> {
    this.#assertOpen();
    if (this.#kept.get(id)?.version !== version) return;
    await this.#hub.next(id, signal);
  }

  async subscribe(listener: Parameters<ApprovalStore["subscribe"]>[0]): Promise<() => void> {
    this.#assertOpen();
    return this.#hub.subscribe(listener);
  }

  async health(): Promise<void> {
    this.#assertOpen();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#hub.close();
  }

  #keep(entry: ApprovalIndex): void {
    const { id, version, status } = entry;
    this.#kept.set(id, entry);
    this.#hub.tell({ id, version, status });
  }

  #lastOf(call: string): ApprovalIndex | undefined {
    return this.#kept.get(this.#last.get(call) ?? "");
  }

  #assertOpen(): void {
    if (this.#isClosed) throw storeUnavailable("it is closed");
  }
}
