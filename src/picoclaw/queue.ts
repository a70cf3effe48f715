/** Options of {@link BoundedQueue}. */
export interface BoundedQueueOptions<T> {
  /** How many items may wait; when full the newest is dropped. 1 to 65536. */
  readonly maxWaiting: number;
  /** Does the work of one item. It must not reject. */
  readonly run: (item: T) => Promise<void>;
  /** The queue whose place it takes: what waits there is done first, and its count goes on. */
  readonly previous?: BoundedQueue<T> | undefined;
  /** The request that is under way, where none may wait for another. @default one queue takes the items of all */
  readonly currentRequest?: (() => object | undefined) | undefined;
  /** Keeps the work alive after the answer; the host's `waitUntil`. @default it is left to itself */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
}

interface Lane<T> {
  readonly waiting: T[];
  running: Promise<void> | undefined;
}

/**
 * Work that is done beside a turn, one item at a time and in order. Where no request may wait for another, each has a
 * queue of its own.
 */
export class BoundedQueue<T> {
  readonly #options: BoundedQueueOptions<T>;
  readonly #shared: Lane<T> = { waiting: [], running: undefined };
  readonly #ofRequest = new WeakMap<object, Lane<T>>();
  readonly #counts: { dropped: number };
  #previous: BoundedQueue<T> | undefined;
  #isClosed = false;

  constructor({ previous, ...options }: BoundedQueueOptions<T>) {
    this.#options = options;
    this.#previous = previous;
    // Those before it are not kept once they are done, or each reload would leave one.
    if (previous !== undefined && previous.#previous?.isIdle === true) previous.#previous = undefined;
    this.#counts = previous === undefined ? { dropped: 0 } : previous.#counts;
  }

  /** How many items were dropped, because the queue was full or closed. */
  get droppedCount(): number {
    return this.#counts.dropped;
  }

  /** Whether nothing waits that is not of one request alone. */
  get isIdle(): boolean {
    return this.#shared.running === undefined;
  }

  /** Adds an item; false when the queue was full. */
  push(item: T): boolean {
    const lane = this.#lane();
    if (this.#isClosed || lane.waiting.length >= this.#options.maxWaiting) {
      this.#counts.dropped += 1;
      return false;
    }
    lane.waiting.push(item);
    if (lane.running === undefined) {
      lane.running = this.#work(lane);
      this.#options.waitUntil?.(lane.running);
    }
    return true;
  }

  /** Resolves when nothing waits, of the request that is under way where each has a queue of its own. */
  async drained(): Promise<void> {
    const lane = this.#lane();
    while (lane.running !== undefined) await lane.running;
  }

  /** Drops what waits; the item that is worked on is left to its end. */
  close(): void {
    this.#isClosed = true;
    this.#drop(this.#shared);
  }

  #lane(): Lane<T> {
    const request = this.#options.currentRequest?.();
    if (request === undefined) return this.#shared;
    let lane = this.#ofRequest.get(request);
    if (lane === undefined) this.#ofRequest.set(request, (lane = { waiting: [], running: undefined }));
    return lane;
  }

  #drop(lane: Lane<T>): void {
    this.#counts.dropped += lane.waiting.length;
    lane.waiting.length = 0;
  }

  async #work(lane: Lane<T>): Promise<void> {
    const { waiting } = lane;
    // Whoever added it goes on first: the work never runs inside a turn.
    await this.#previous?.drained();
    this.#previous = undefined;
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await this.#options.run(item);
      if (this.#isClosed) this.#drop(lane);
    }
    lane.running = undefined;
  }
}
