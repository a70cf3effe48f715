import type { DecisionRecord } from "./record.ts";
import { matchesFilter, type RecordFilter } from "./store.ts";

/** Options of {@link RecordHub.subscribe}. */
export interface SubscribeOptions extends RecordFilter {
  /** How many records may wait for the subscriber, 1 or more; the oldest is dropped for one more. @default 256 */
  readonly maxWaiting?: number | undefined;
  /** Called when there is something to take, once until it is taken; and when the hub closes. */
  readonly onReady: () => void;
}

/** What a subscriber takes. */
export interface Delivery {
  readonly records: readonly DecisionRecord[];
  /** How many were dropped before them. */
  readonly dropped: number;
  readonly isClosed: boolean;
}

/** One who is told of decisions. */
export interface Subscription {
  take(): Delivery;
  close(): void;
}

/** Tells subscribers of decisions as they are made. A slow one loses records and nobody else does. */
export class RecordHub {
  readonly #subscribers = new Set<Subscriber>();
  #isClosed = false;

  /** How many subscribers there are. */
  get size(): number {
    return this.#subscribers.size;
  }

  subscribe({ maxWaiting = 256, onReady, ...filter }: SubscribeOptions): Subscription {
    const subscriber = new Subscriber(filter, { maxWaiting, onReady });
    if (this.#isClosed) subscriber.end();
    else this.#subscribers.add(subscriber);
    return {
      take: () => subscriber.take(),
      close: () => void this.#subscribers.delete(subscriber),
    };
  }

  publish(record: DecisionRecord): void {
    for (const subscriber of this.#subscribers) subscriber.push(record);
  }

  /** Tells subscribers that nothing more comes. */
  close(): void {
    this.#isClosed = true;
    for (const subscriber of this.#subscribers) subscriber.end();
    this.#subscribers.clear();
  }
}

class Subscriber {
  readonly #filter: RecordFilter;
  readonly #maxWaiting: number;
  readonly #onReady: () => void;
  #records: DecisionRecord[] = [];
  #droppedCount = 0;
  #isClosed = false;
  #isTold = false;

  constructor(
    filter: RecordFilter,
    { maxWaiting, onReady }: { readonly maxWaiting: number; readonly onReady: () => void },
  ) {
    this.#filter = filter;
    this.#maxWaiting = maxWaiting;
    this.#onReady = onReady;
  }

  push(record: DecisionRecord): void {
    if (!matchesFilter(record, this.#filter)) return;
    this.#records.push(record);
    if (this.#records.length > this.#maxWaiting) {
      this.#records.shift();
      this.#droppedCount += 1;
    }
    this.#tell();
  }

  end(): void {
    this.#isClosed = true;
    this.#tell();
  }

  take(): Delivery {
    const delivery = { records: this.#records, dropped: this.#droppedCount, isClosed: this.#isClosed };
    this.#records = [];
    this.#droppedCount = 0;
    this.#isTold = false;
    return delivery;
  }

  #tell(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#onReady();
  }
}
