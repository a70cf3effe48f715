import { type ChainHook, type ChainRules, type Current, runChain } from "../chain/index.ts";
import type { Log } from "../log.ts";
import { RepeatLog } from "../log-limit.ts";
import type { HookEvent } from "./event.ts";
import { BoundedQueue } from "./queue.ts";

/** An observer as the fan-out reaches it. */
export interface Observer extends ChainHook<HookEvent> {
  matches(documentedKind: string): boolean;
}

/** Options of {@link EventQueue}. */
export interface EventQueueOptions {
  /** How many events may wait; when full the newest is dropped. 1 to 65536. */
  readonly maxQueuedEvents: number;
  readonly log: Log;
  readonly now?: (() => number) | undefined;
  /** The request that is under way, where none may wait for another. @default one queue takes the events of all */
  readonly currentRequest?: (() => object | undefined) | undefined;
  /** The same observer's queue in the manager before: what waits there is delivered first, and its counts go on. */
  readonly previous?: EventQueue | undefined;
  /** Keeps a delivery alive after the answer; the host's `waitUntil`. @default it is left to itself */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
}

const rules: ChainRules<HookEvent, never> = { point: "event", judge: () => ({ outcome: "observed" }) };

/**
 * The events of one observer: delivered one at a time and in order, each under the observer's deadline. A slow observer
 * fills its own queue and delays nobody. Where no request may wait for another, each has a queue of its own.
 */
export class EventQueue {
  readonly #observer: Observer;
  readonly #options: EventQueueOptions;
  readonly #queue: BoundedQueue<Current<HookEvent>>;
  readonly #counts: { delivered: number; failed: number };
  readonly #repeats: RepeatLog;
  #closed = false;

  constructor(observer: Observer, { previous, ...options }: EventQueueOptions) {
    const { maxQueuedEvents: maxWaiting, currentRequest, waitUntil } = options;
    this.#observer = observer;
    this.#options = options;
    this.#repeats = new RepeatLog({ log: options.log, now: options.now ?? (() => performance.now()) });
    this.#counts = previous === undefined ? { delivered: 0, failed: 0 } : previous.#counts;
    this.#queue = new BoundedQueue({
      maxWaiting,
      currentRequest,
      waitUntil,
      run: (event) => this.#deliver(event),
      previous: previous === undefined ? undefined : previous.#queue,
    });
  }

  /** How many events were delivered, dropped because the queue was full, and not handed on. */
  get counts(): { readonly delivered: number; readonly dropped: number; readonly failed: number } {
    return { ...this.#counts, dropped: this.#queue.droppedCount };
  }

  push(event: Current<HookEvent>): void {
    if (this.#closed || !this.#observer.matches(event.value.Kind) || this.#queue.push(event)) return;
    const { droppedCount: dropped } = this.#queue;
    if (dropped !== 1 && dropped % 1000 !== 0) return;
    this.#options.log.warn("observer is too slow; events dropped", { hook: this.#observer.name, dropped });
  }

  /** Resolves when nothing waits, of the request that is under way where each has a queue of its own. */
  drained(): Promise<void> {
    return this.#queue.drained();
  }

  /** Drops what waits; the event in delivery still ends under its own deadline. */
  close(): void {
    this.#closed = true;
    this.#queue.close();
    this.#repeats.flush();
  }

  async #deliver(event: Current<HookEvent>): Promise<void> {
    const { now } = this.#options;
    const { records } = await runChain([this.#observer], event, { rules, now });
    const [record] = records;
    if (record?.kind === undefined) {
      this.#counts.delivered += 1;
      return;
    }
    this.#counts.failed += 1;
    const fields = { hook: this.#observer.name, kind: record.kind, error: record.error };
    this.#repeats.warn(record.kind, "event not delivered", fields);
  }
}
