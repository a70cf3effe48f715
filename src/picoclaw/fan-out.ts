import { type ChainHook, type ChainRules, type Current, runChain } from "../chain/index.ts";
import type { Log } from "../log.ts";
import type { HookEvent } from "./event.ts";

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

/** Events that are delivered one after the other. */
interface Lane {
  readonly waiting: Current<HookEvent>[];
  running: Promise<void> | undefined;
}

const rules: ChainRules<HookEvent, never> = { point: "event", judge: () => ({ outcome: "observed" }) };

/**
 * The events of one observer: delivered one at a time and in order, each under the observer's deadline. A slow observer
 * fills its own queue and delays nobody. Where no request may wait for another, each has a queue of its own.
 */
export class EventQueue {
  readonly #observer: Observer;
  readonly #options: EventQueueOptions;
  readonly #shared: Lane = { waiting: [], running: undefined };
  readonly #ofRequest = new WeakMap<object, Lane>();
  readonly #counts: { delivered: number; dropped: number; failed: number };
  #previous: EventQueue | undefined;
  #closed = false;

  constructor(observer: Observer, { previous, ...options }: EventQueueOptions) {
    this.#observer = observer;
    this.#options = options;
    this.#previous = previous;
    this.#counts = previous === undefined ? { delivered: 0, dropped: 0, failed: 0 } : previous.#counts;
  }

  /** How many events were delivered, dropped because the queue was full, and not handed on. */
  get counts(): { readonly delivered: number; readonly dropped: number; readonly failed: number } {
    return { ...this.#counts };
  }

  push(event: Current<HookEvent>): void {
    if (this.#closed || !this.#observer.matches(event.value.Kind)) return;
    const { maxQueuedEvents, log } = this.#options;
    const lane = this.#lane();
    if (lane.waiting.length >= maxQueuedEvents) {
      this.#counts.dropped += 1;
      const { dropped } = this.#counts;
      if (dropped === 1 || dropped % 1000 === 0) {
        log.warn("observer is too slow; events dropped", { hook: this.#observer.name, dropped });
      }
      return;
    }
    lane.waiting.push(event);
    if (lane.running !== undefined) return;
    lane.running = this.#deliver(lane);
    this.#options.waitUntil?.(lane.running);
  }

  /** Resolves when nothing waits, of the request that is under way where each has a queue of its own. */
  async drained(): Promise<void> {
    const lane = this.#lane();
    while (lane.running !== undefined) await lane.running;
  }

  /** Drops what waits; the event in delivery still ends under its own deadline. */
  close(): void {
    this.#closed = true;
    this.#drop(this.#shared);
  }

  #lane(): Lane {
    const request = this.#options.currentRequest?.();
    if (request === undefined) return this.#shared;
    let lane = this.#ofRequest.get(request);
    if (lane === undefined) this.#ofRequest.set(request, (lane = { waiting: [], running: undefined }));
    return lane;
  }

  #drop(lane: Lane): void {
    this.#counts.dropped += lane.waiting.length;
    lane.waiting.length = 0;
  }

  async #deliver(lane: Lane): Promise<void> {
    const { waiting } = lane;
    // The emitter goes on first: delivery never runs inside a turn.
    await this.#previous?.drained();
    this.#previous = undefined;
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
      const { records } = await runChain([this.#observer], event, { rules, now: this.#options.now });
      const [record] = records;
      if (record?.kind === undefined) {
        this.#counts.delivered += 1;
      } else {
        this.#counts.failed += 1;
        this.#options.log.warn("event not delivered", {
          hook: this.#observer.name,
          kind: record.kind,
          error: record.error,
        });
      }
      if (this.#closed) this.#drop(lane);
    }
    lane.running = undefined;
  }
}
