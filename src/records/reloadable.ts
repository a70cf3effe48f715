import type { ObservedDecision, OnDecision } from "../chain/index.ts";
import type { RecordHub } from "./hub.ts";
import { RecentLoss } from "./loss.ts";
import { Recorder, type RecorderStatus, type Recording } from "./recorder.ts";
import type { ListOptions, RecordPage, RecordStore } from "./store.ts";

/** A recording with a way to look records up, where it has one. */
export interface StoredRecording extends Recording {
  readonly store: RecordStore | undefined;
}

/** Makes a recording that keeps nothing. */
export function createIdleRecording(): StoredRecording {
  return Object.assign(new Recorder({ sinks: [] }), { store: undefined });
}

interface Held {
  readonly decision: ObservedDecision;
  readonly generation: number;
}

/** How many decisions are held while one recording takes another's place. */
const MAX_HELD = 10_000;

/** A recording that can be replaced by another while decisions are made: they never write to the same place at once. */
export class ReloadableRecording implements Recording {
  #current: StoredRecording;
  #held: Held[] | undefined;
  #replacing: Promise<void> = Promise.resolve();
  readonly #loss = new RecentLoss();
  #droppedCount = 0;

  constructor(first: StoredRecording) {
    this.#current = first;
  }

  /** Tells of decisions as they are made; one that is replaced ends its streams. */
  get hub(): RecordHub {
    return this.#current.hub;
  }

  /** Looks records up where they are kept now; there are none where they cannot be looked up. */
  readonly store: RecordStore = {
    list: async (options: ListOptions): Promise<RecordPage> => {
      await this.#replacing;
      return (await this.#current.store?.list(options)) ?? { records: [] };
    },
    get: async (id: string): Promise<string | undefined> => {
      await this.#replacing;
      return this.#current.store?.get(id);
    },
  };

  toObserver(generation = 1): OnDecision {
    let recording = this.#current;
    let observe = recording.toObserver(generation);
    return (decision) => {
      if (this.#held !== undefined) {
        this.#hold(decision, generation);
        return;
      }
      if (recording !== this.#current) {
        recording = this.#current;
        observe = recording.toObserver(generation);
      }
      observe(decision);
    };
  }

  status(): RecorderStatus {
    const { degraded, dropped, waiting, sinks } = this.#current.status();
    return {
      degraded: degraded || this.#loss.isRecent(this.#droppedCount),
      dropped: dropped + this.#droppedCount,
      waiting: waiting + (this.#held?.length ?? 0),
      sinks,
    };
  }

  /**
   * Closes what records now, once everything is written, and lets another go on. What is decided meanwhile waits for it.
   * @param open opens the other; where it throws nothing is recorded any more
   */
  replace(open: () => StoredRecording): Promise<void> {
    const replaced = this.#replacing.then(() => this.#replace(open));
    this.#replacing = replaced.catch(() => undefined);
    return replaced;
  }

  async flush(): Promise<void> {
    await this.#replacing;
    await this.#current.flush();
  }

  async close(): Promise<void> {
    await this.#replacing;
    await this.#current.close();
  }

  async #replace(open: () => StoredRecording): Promise<void> {
    const held: Held[] = [];
    this.#held = held;
    try {
      await this.#current.close();
    } finally {
      this.#current = createIdleRecording();
      this.#held = undefined;
      this.#current = open();
      for (const { decision, generation } of held) this.#current.toObserver(generation)(decision);
    }
  }

  #hold(decision: ObservedDecision, generation: number): void {
    this.#held?.push({ decision, generation });
    if ((this.#held?.length ?? 0) <= MAX_HELD) return;
    this.#held?.shift();
    this.#droppedCount += 1;
  }
}
