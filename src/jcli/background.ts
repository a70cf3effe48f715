import type { Log } from "../log.ts";

/** Options of {@link BackgroundQueue}. */
export interface BackgroundQueueOptions {
  /** How many jobs may wait or run at once; beyond it the newest is dropped. */
  readonly maxJobs: number;
  readonly log: Log;
}

/** Jobs that run beside the host: those of one lane one after the other, lanes beside each other. */
export class BackgroundQueue {
  readonly #options: BackgroundQueueOptions;
  readonly #lanes = new Map<string, Promise<void>>();
  #jobCount = 0;
  #droppedCount = 0;
  #isClosed = false;

  constructor(options: BackgroundQueueOptions) {
    this.#options = options;
  }

  /** How many jobs were dropped. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  /** Adds a job. It never runs before the caller has gone on. */
  push(lane: string, job: () => Promise<void>): void {
    const { maxJobs, log } = this.#options;
    if (this.#isClosed || this.#jobCount >= maxJobs) {
      this.#droppedCount += 1;
      if (this.#droppedCount === 1 || this.#droppedCount % 1000 === 0) {
        log.warn("too many background hooks; events dropped", { dropped: this.#droppedCount });
      }
      return;
    }
    this.#jobCount += 1;
    const previous = this.#lanes.get(lane) ?? Promise.resolve();
    const run = previous.then(async () => {
      try {
        await nextTurn();
        if (!this.#isClosed) await job();
      } catch (error) {
        log.error("a background hook failed", { error: String(error).slice(0, 200) });
      }
      this.#jobCount -= 1;
      if (this.#lanes.get(lane) === run) this.#lanes.delete(lane);
    });
    this.#lanes.set(lane, run);
  }

  /** Resolves when nothing waits or runs. */
  async drained(): Promise<void> {
    while (this.#lanes.size > 0) await Promise.all(this.#lanes.values());
  }

  /** Drops what waits; what runs is left to its caller. */
  close(): void {
    this.#isClosed = true;
  }
}

/** A microtask would still run before the caller, who waits for an answer. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
