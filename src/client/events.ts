import { isHookCallError } from "../errors.ts";
import type { Log } from "../log.ts";
import { settlesWithin } from "../wait.ts";
import type { HostEvent } from "../picoclaw/index.ts";

/** The most notifications in a batch: what a gateway takes unless it is told otherwise. */
const BATCH_EVENTS = 50;

/** The most text in a batch. */
const BATCH_CHARS = 1024 * 1024;

/** How old an event may grow while others are waited for. */
const BATCH_MS = 250;

/** How long to wait before each further attempt. */
const RETRY_MS: readonly number[] = [250, 1000];

/** Options of {@link EventSender}. */
export interface EventSenderOptions {
  /** Sends a batch; rejects when it was not taken. */
  readonly send: (batch: string) => Promise<void>;
  /** How many events may wait; when full the newest is dropped. */
  readonly maxQueuedEvents: number;
  readonly log: Log;
}

/** Sends events in batches, in order and in the background. */
export class EventSender {
  readonly #options: EventSenderOptions;
  #waiting: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;
  #endWait: (() => void) | undefined;
  #isClosed = false;
  #droppedCount = 0;

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  push(event: HostEvent): void {
    if (this.#isClosed) return;
    const text = encode(event);
    if (text === undefined || text.length > BATCH_CHARS) {
      this.#drop(1, "it cannot be written as JSON or is too large");
    } else if (this.#waiting.length >= this.#options.maxQueuedEvents) {
      this.#drop(1, "the gateway is too slow");
    } else {
      this.#waiting.push(text);
      if (this.#waiting.length >= BATCH_EVENTS) this.#start();
      else this.#timer ??= setTimeout(() => this.#start(), BATCH_MS);
    }
  }

  /** Sends what waits now; resolves when nothing does, or after `timeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    this.#start();
    if (this.#running === undefined) return;
    await settlesWithin(this.#running, timeoutMs);
  }

  /** Takes no more events, and drops what still waits. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#endWait?.();
    if (this.#waiting.length > 0) this.#drop(this.#waiting.length, "the client is closed");
    this.#waiting = [];
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const count = batchSize(this.#waiting);
      const batch = `[${this.#waiting.splice(0, count).join(",")}]`;
      if (!(await this.#sendWithRetries(batch))) this.#drop(count, "the gateway did not take them");
    }
    this.#running = undefined;
  }

  async #sendWithRetries(batch: string): Promise<boolean> {
    for (const delayMs of [0, ...RETRY_MS]) {
      if (delayMs > 0) await this.#wait(delayMs);
      if (this.#isClosed && delayMs > 0) return false;
      try {
        await this.#options.send(batch);
        return true;
      } catch (error) {
        this.#options.log.debug("events not sent", { error: error instanceof Error ? error.message : "unknown" });
        // What the caller is at fault for does not pass by itself.
        if (!isHookCallError(error)) return false;
      }
    }
    return false;
  }

  async #wait(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#endWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endWait = undefined;
  }

  #drop(count: number, why: string): void {
    const before = this.#droppedCount;
    this.#droppedCount += count;
    // The first, and then one line in a thousand: a gateway that is down must not fill the log.
    if (before !== 0 && Math.floor(before / 1000) === Math.floor(this.#droppedCount / 1000)) return;
    this.#options.log.warn("events dropped", { why, dropped: this.#droppedCount });
  }
}

/** An event is written when it is emitted: the host may go on changing its objects. */
function encode({ Kind, Time = new Date().toISOString(), Meta, Payload }: HostEvent): string | undefined {
  try {
    return JSON.stringify({ jsonrpc: "2.0", method: "hook.event", params: { Kind, Time, Meta, Payload } });
  } catch {
    return undefined;
  }
}

function batchSize(waiting: readonly string[]): number {
  let chars = 0;
  const end = waiting.slice(0, BATCH_EVENTS).findIndex((text) => (chars += text.length) > BATCH_CHARS);
  return end === -1 ? Math.min(waiting.length, BATCH_EVENTS) : Math.max(1, end);
}
