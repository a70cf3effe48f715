import { HookCallError, isHookCallError } from "../errors.ts";
import type { Log } from "../log.ts";
import { backoffMs } from "./backoff.ts";
import { ExchangeError } from "./http-exchange.ts";
import { HttpStatusError } from "./http-reply.ts";
import type { Schedule } from "./schedule.ts";

const MAX_BATCH_EVENTS = 64;
/** An event waits at most so long for others, in milliseconds. */
const MAX_AGE_MS = 250;
const MAX_BATCH_CHARS = 524_288;
const MAX_QUEUED_EVENTS = 1024;
const MAX_QUEUED_CHARS = 4_194_304;
const MAX_RETRIES = 2;
/** Statuses of a request that could not be read in time, or came too early: another try may be taken. */
const RETRIED_4XX: ReadonlySet<number> = new Set([408, 425, 429]);

/** Options of {@link EventBatch}. */
export interface EventBatchOptions {
  /** The hook's name, for the log. */
  readonly name: string;
  /**
   * Makes a batch of notifications. What it gives back sends it and is called again for a retry; it throws a
   * {@link HookCallError} when the batch is not delivered.
   */
  readonly prepare: (notifications: readonly string[]) => () => Promise<void>;
  readonly log: Log;
  readonly schedule: Schedule;
  /** A number from 0 up to but not 1. */
  readonly random: () => number;
  /** Told of the work that goes on after the events were handed over; the host's `waitUntil`. */
  readonly waitUntil: ((work: Promise<void>) => void) | undefined;
  /** Counted up; several batches may share it. */
  readonly counts: EventCounts;
}

/** How many events were delivered, and how many were not and will not be. */
export interface EventCounts {
  delivered: number;
  dropped: number;
}

/**
 * Collects notifications and sends them together, in order and one batch at a time. Nobody waits for it: what cannot be
 * delivered is dropped and counted.
 */
export class EventBatch {
  readonly #options: EventBatchOptions;
  #queue: string[] = [];
  #queuedChars = 0;
  #running: Promise<void> | undefined;
  #startNow: () => void = () => {};
  #isClosing = false;

  constructor(options: EventBatchOptions) {
    this.#options = options;
  }

  /**
   * Takes one notification, as JSON text.
   * @throws {HookCallError} `overloaded` when too many wait
   */
  push(notification: string): void {
    const isFull = this.#queue.length >= MAX_QUEUED_EVENTS;
    if (isFull || (this.#queue.length > 0 && this.#queuedChars + notification.length > MAX_QUEUED_CHARS)) {
      this.#options.counts.dropped += 1;
      throw new HookCallError("overloaded", "too many events wait for the hook");
    }
    this.#queue.push(notification);
    this.#queuedChars += notification.length;
    if (this.#running === undefined) {
      this.#running = this.#run();
      this.#options.waitUntil?.(this.#running);
    }
    if (this.#isFullBatch) this.#startNow();
  }

  /** Sends what waits without waiting for more. Resolves when it was delivered or dropped; never rejects. */
  async flush(): Promise<void> {
    this.#isClosing = true;
    this.#startNow();
    await this.#running;
  }

  get #isFullBatch(): boolean {
    return this.#queue.length >= MAX_BATCH_EVENTS || this.#queuedChars >= MAX_BATCH_CHARS;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      if (!this.#isFullBatch && !this.#isClosing) await this.#pause(MAX_AGE_MS);
      const batch = this.#takeBatch();
      try {
        await this.#deliver(batch);
        this.#options.counts.delivered += batch.length;
      } catch (error) {
        this.#drop(batch.length, error);
      }
    }
    this.#running = undefined;
  }

  #takeBatch(): readonly string[] {
    let chars = 0;
    let count = 0;
    for (const notification of this.#queue) {
      chars += notification.length;
      if (count === MAX_BATCH_EVENTS || (count > 0 && chars > MAX_BATCH_CHARS)) break;
      count += 1;
    }
    const batch = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    for (const { length } of batch) this.#queuedChars -= length;
    return batch;
  }

  async #deliver(batch: readonly string[]): Promise<void> {
    const send = this.#options.prepare(batch);
    for (let failures = 1; ; failures += 1) {
      try {
        await send();
        return;
      } catch (error) {
        if (failures > MAX_RETRIES || this.#isClosing || !isWorthRetrying(error)) throw error;
        await this.#pause(backoffMs(failures + 1, this.#options.random()));
      }
    }
  }

  #drop(count: number, error: unknown): void {
    const { name, log, counts } = this.#options;
    counts.dropped += count;
    const why = isHookCallError(error)
      ? { kind: error.kind, error: error.message }
      : { error: String(error).slice(0, 200) };
    log.warn("events were not delivered", { hook: name, events: count, dropped: counts.dropped, ...why });
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.schedule(resolve, delayMs);
      this.#startNow = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Options of {@link EventBatches}. */
export interface EventBatchesOptions extends Omit<EventBatchOptions, "counts"> {
  /** The request that is under way, where none may wait for another. @default one batch takes the events of all */
  readonly currentRequest?: (() => object | undefined) | undefined;
}

/**
 * The batches of one hook: a single one, or one for each request where none may wait for another. A request that is torn
 * down then takes its own events with it and nobody else's.
 */
export class EventBatches {
  readonly #options: EventBatchesOptions;
  readonly #counts: EventCounts = { delivered: 0, dropped: 0 };
  readonly #shared: EventBatch;
  readonly #ofRequest = new WeakMap<object, EventBatch>();

  constructor(options: EventBatchesOptions) {
    this.#options = options;
    this.#shared = this.#create();
  }

  get counts(): Readonly<EventCounts> {
    return this.#counts;
  }

  /**
   * Takes one notification, as JSON text.
   * @throws {HookCallError} `overloaded` when too many wait
   */
  push(notification: string): void {
    this.#current().push(notification);
  }

  /** Sends what waits without waiting for more. Resolves when it was delivered or dropped; never rejects. */
  flush(): Promise<void> {
    return this.#current().flush();
  }

  #current(): EventBatch {
    const request = this.#options.currentRequest?.();
    if (request === undefined) return this.#shared;
    const found = this.#ofRequest.get(request);
    if (found !== undefined) return found;
    const made = this.#create();
    this.#ofRequest.set(request, made);
    return made;
  }

  #create(): EventBatch {
    return new EventBatch({ ...this.#options, counts: this.#counts });
  }
}

function isWorthRetrying(error: unknown): boolean {
  if (error instanceof HttpStatusError) return error.status >= 500 || RETRIED_4XX.has(error.status);
  if (error instanceof ExchangeError) return error.failure !== "forbidden_address" && error.failure !== "closed";
  return isHookCallError(error) && (error.kind === "timeout" || error.kind === "circuit_open");
}
