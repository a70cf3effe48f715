import type { Log } from "../log.ts";
import { type ApprovalKey, UnreadableApprovalError } from "./refusal.ts";

/** How many are named; of more than these only the counts of lists tell. */
const MAX_NAMED = 1000;

/**
 * Warns of approvals that are kept and cannot be read, once of each: whoever lists approvals finds it again and again. What
 * is kept of them is not said.
 */
export class UnreadableLog {
  readonly #log: Log;
  readonly #named = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Warns of those that were left out of a list. */
  note(ids: readonly string[] = []): void {
    for (const id of ids) this.#warn({ id });
  }

  /** Warns of the one that is looked up, where it cannot be read. The error goes on. */
  async looking<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof UnreadableApprovalError) this.#warn(error.key);
      throw error;
    }
  }

  /** Looks one up that is as good as none where it cannot be read. */
  async find<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await this.looking(work);
    } catch (error) {
      if (error instanceof UnreadableApprovalError) return undefined;
      throw error;
    }
  }

  #warn({ id, call }: ApprovalKey): void {
    const key = id ?? call ?? "";
    if (this.#named.has(key) || this.#named.size >= MAX_NAMED) return;
    this.#named.add(key);
    this.#log.warn("an approval cannot be read, and counts for nothing", { approval: id, call });
    if (this.#named.size === MAX_NAMED) this.#log.warn("more approvals that cannot be read are not named", {});
  }
}
