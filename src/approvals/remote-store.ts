import { HookgateError, isHookgateError } from "../errors.ts";
import type { ApprovalPeer } from "./actor.ts";
import { type Approval, APPROVAL_STATUSES } from "./approval.ts";
import type { OutboxPeer } from "./outbox.ts";
import {
  type ApprovalStore,
  assertListOptions,
  type OnApprovalChange,
  readApproval,
  readApprovals,
  storeUnavailable,
  toApprovalIndex,
  toApprovalPage,
} from "./store.ts";

/** Options of {@link createRemoteApprovalStore}. */
export interface RemoteApprovalStoreOptions {
  /** What it is called in messages. */
  readonly name: string;
  /** A way to where the approvals are, for one call. */
  readonly connect: () => ApprovalPeer & OutboxPeer;
  /** How long settled approvals are kept there, in milliseconds. @default 30 days */
  readonly keepMs?: number | undefined;
  /** Told why a call has failed, which is not said to callers. It must not throw. @default nobody is told */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

const DEFAULT_KEEP_MS = 30 * 86_400_000;
/** How long after a call that failed the next one asks for changes, in milliseconds. */
const PAUSE_MS = 1000;

/**
 * Makes a store of the approvals that are in one other place. What waits belongs to the request that waits: the store
 * itself holds nothing that another request could be waiting for.
 */
export function createRemoteApprovalStore(options: RemoteApprovalStoreOptions): ApprovalStore {
  return new RemoteApprovalStore(options);
}

class RemoteApprovalStore implements ApprovalStore {
  readonly name: string;
  readonly outbox: () => OutboxPeer;
  readonly #connect: () => ApprovalPeer;
  readonly #keepMs: number;
  readonly #onFailure: RemoteApprovalStoreOptions["onFailure"];
  readonly #closing = new AbortController();

  constructor({ name, connect, keepMs = DEFAULT_KEEP_MS, onFailure }: RemoteApprovalStoreOptions) {
    this.name = name;
    this.outbox = connect;
    this.#connect = connect;
    this.#keepMs = keepMs;
    this.#onFailure = onFailure;
  }

  async create(approval: Approval): ReturnType<ApprovalStore["create"]> {
    const { outcome, open = "" } = await this.#ask((peer) => peer.create(toApprovalIndex(approval), this.#keepMs));
    if (outcome === "id_taken") throw new HookgateError("ERR_CONFLICT", `approval ${approval.id} is there already`);
    if (outcome === "created") return { isNew: true };
    return { isNew: false, open: readApproval(open, { call: approval.call }) };
  }

  async get(id: string): Promise<Approval | undefined> {
    const body = await this.#ask((peer) => peer.get(id));
    return body === undefined ? undefined : readApproval(body, { id });
  }

  async replace(next: Approval): Promise<boolean> {
    return this.#ask((peer) => peer.replace(toApprovalIndex(next)));
  }

  async findOpen(call: string): Promise<Approval | undefined> {
    const body = await this.#ask((peer) => peer.findOpen(call));
    return body === undefined ? undefined : readApproval(body, { call });
  }

  async findLast(call: string): Promise<Approval | undefined> {
    const body = await this.#ask((peer) => peer.findLast(call));
    return body === undefined ? undefined : readApproval(body, { call });
  }

  async list(options: Parameters<ApprovalStore["list"]>[0]): ReturnType<ApprovalStore["list"]> {
    const { status, maxApprovals, cursor } = options;
    assertListOptions({ maxApprovals, cursor });
    const rows = await this.#ask((peer) => peer.list({ status, cursor, maxRows: maxApprovals + 1 }));
    return toApprovalPage(rows, maxApprovals);
  }

  async due(nowMs: number, maxApprovals: number): ReturnType<ApprovalStore["due"]> {
    return readApprovals(await this.#ask((peer) => peer.due(nowMs, maxApprovals)));
  }

  async prune(beforeMs: number): Promise<number> {
    return this.#ask((peer) => peer.prune(beforeMs));
  }

  async insert(key: string, expiresAtMs: number): Promise<boolean> {
    const isNew = await this.#ask((peer) => peer.insert(key, expiresAtMs));
    if (isNew === undefined) throw new HookgateError("ERR_OVERLOADED", "the store's clock is past the expiry");
    return isNew;
  }

  async changed(id: string, { version, signal }: Parameters<ApprovalStore["changed"]>[1]): Promise<void> {
    if (signal.aborted) return this.#assertOpen();
    await this.#until(
      signal,
      this.#ask((peer) => peer.changed(id, version)),
    );
  }

  async subscribe(listener: OnApprovalChange): Promise<() => void> {
    const controller = new AbortController();
    const seq = await this.#ask((peer) => peer.lastSeq());
    void this.#follow(seq, listener, controller.signal);
    return () => controller.abort();
  }

  async health(): Promise<void> {
    await this.#ask((peer) => peer.lastSeq());
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  /** Asks for changes for as long as somebody listens. The calls belong to the request in which it began. */
  async #follow(from: number, listener: OnApprovalChange, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal.aborted || this.#closing.signal.aborted;
    for (let seq = from; !isOver();) {
      try {
        const asked = this.#ask((peer) => peer.changesSince(seq));
        await this.#until(signal, asked);
        if (isOver()) return;
        for (const { seq: at, id, version, status: word } of await asked) {
          seq = at;
          const status = APPROVAL_STATUSES.find((known) => known === word);
          if (!isOver()) listener(status && { id, version, status });
        }
      } catch {
        if (isOver()) return;
        // Who listens looks for themselves, and is told what is wrong.
        listener(undefined);
        await this.#until(signal, new Promise((resolve) => setTimeout(resolve, PAUSE_MS)));
      }
    }
  }

  /** Resolves when the work does, and before when the signal aborts or the store is closed. */
  #until(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
    const ends = [signal, this.#closing.signal];
    return new Promise((resolve, reject) => {
      const end = (): void => {
        for (const each of ends) each.removeEventListener("abort", end);
        resolve();
      };
      for (const each of ends) each.addEventListener("abort", end);
      // A promise settles once: what comes after is nobody's affair.
      work.catch(reject).then(end, end);
    });
  }

  async #ask<T>(work: (peer: ApprovalPeer) => Promise<T>): Promise<T> {
    this.#assertOpen();
    try {
      return await work(this.#connect());
    } catch (error) {
      if (isHookgateError(error)) throw error;
      this.#onFailure?.(error);
      throw storeUnavailable("where it is cannot be asked", error);
    }
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw storeUnavailable("it is closed");
  }
}
