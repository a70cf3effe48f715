import { Worker } from "node:worker_threads";
import type { ObservedDecision, OnDecision } from "../../src/chain/index.ts";
import { HookgateError } from "../../src/errors.ts";
import { type Log, silentLog } from "../../src/log.ts";
import {
  parseMaskPath,
  RecentLoss,
  RecordHub,
  type RecorderStatus,
  type RecordStore,
  type StoredRecording,
  type SubscribeOptions,
  type Subscription,
} from "../../src/records/index.ts";
import { DecisionChunks } from "./decision-chunks.ts";
import {
  type Answers,
  encodeDecision,
  type FromThread,
  type Question,
  type RecordSettings,
  type ToThread,
} from "./record-message.ts";

/** Options of {@link createThreadRecorder}. */
export interface ThreadRecorderOptions extends RecordSettings {
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

/** Records that are made and kept by a thread of their own, with a way to look them up where there is a database. */
export type ThreadRecording = StoredRecording;

/** How long decisions are left to gather, in milliseconds. */
const GATHER_MS = 40;
/** How many chunks the thread may have that it has not said it took. */
const MAX_UNTAKEN = 8;

/**
 * Makes records of decisions in a thread of their own: of a decision this thread only writes down what it was.
 * @throws {TypeError} when a mask is not a path
 */
export function createThreadRecorder({ log = silentLog, ...settings }: ThreadRecorderOptions): ThreadRecording {
  for (const mask of settings.masks ?? []) parseMaskPath(mask);
  return new ThreadRecorder(settings, log);
}

/** Tells the thread whether anyone is watching. */
class WatchedHub extends RecordHub {
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    super();
    this.#onChange = onChange;
  }

  override subscribe(options: SubscribeOptions): Subscription {
    const subscription = super.subscribe(options);
    this.#onChange();
    return {
      take: () => subscription.take(),
      close: () => {
        subscription.close();
        this.#onChange();
      },
    };
  }
}

class ThreadRecorder implements ThreadRecording {
  readonly hub: RecordHub;
  readonly store: RecordStore | undefined;
  readonly #thread: Worker;
  readonly #log: Log;
  readonly #hasSinks: boolean;
  readonly #maxWaiting: number;
  readonly #questions = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  readonly #loss = new RecentLoss();
  readonly #pending: DecisionChunks;
  #timer: NodeJS.Timeout | undefined;
  #untakenCount = 0;
  #questionCount = 0;
  #droppedCount = 0;
  #unsaidCount = 0;
  #isWatched = false;
  #failure: string | undefined;
  #isClosed = false;
  #status: RecorderStatus = { degraded: false, dropped: 0, waiting: 0, sinks: [] };

  constructor(settings: RecordSettings, log: Log) {
    const { sqlite, file, http, console: hasConsole, maxWaiting = 10_000 } = settings;
    this.#log = log;
    this.#maxWaiting = maxWaiting;
    this.#pending = new DecisionChunks(maxWaiting);
    this.#hasSinks = hasConsole === true || [sqlite, file, http].some((sink) => sink !== undefined);
    // The same file, as it is or as it is built.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."));
    this.#thread = new Worker(new URL(`./record-thread${extension}`, import.meta.url), {
      workerData: settings,
      // What it makes is short-lived, and a larger nursery only grows the process.
      resourceLimits: { maxYoungGenerationSizeMb: 16 },
    });
    this.#thread.unref();
    this.#thread.on("message", (message: FromThread) => this.#onMessage(message));
    this.#thread.on("error", (error: unknown) => this.#onEnd(String(error)));
    this.#thread.on("exit", () => this.#onEnd("it has ended"));
    this.hub = new WatchedHub(() => this.#watch());
    const store: RecordStore = {
      list: (options) => this.#ask({ type: "list", options }),
      get: (id) => this.#ask({ type: "get", id }),
    };
    this.store = sqlite && store;
  }

  toObserver(generation = 1): OnDecision {
    return (decision) => {
      if (this.#isClosed || (!this.#hasSinks && this.hub.size === 0)) return;
      this.#add(decision, generation);
      if (this.#pending.count > this.#maxWaiting) this.#dropOldest();
      this.#timer ??= setTimeout(() => this.#send(), GATHER_MS);
    };
  }

  status(): RecorderStatus {
    const { degraded, dropped, waiting, sinks } = this.#status;
    return {
      degraded: degraded || this.#loss.isRecent(this.#droppedCount) || (this.#failure !== undefined && !this.#isClosed),
      dropped: dropped + this.#droppedCount,
      waiting: waiting + this.#pending.count,
      sinks,
    };
  }

  async flush(): Promise<void> {
    this.#sendAll();
    this.#status = await this.#ask({ type: "flush" });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#sendAll();
    this.#isClosed = true;
    this.hub.close();
    if (this.#failure === undefined) {
      try {
        this.#status = await this.#ask({ type: "close" });
      } catch (error) {
        this.#log.warn("the thread of records did not close cleanly", { error: String(error) });
      }
    }
    await this.#thread.terminate();
  }

  #post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, transfer);
  }

  #add(decision: ObservedDecision, generation: number): void {
    try {
      this.#pending.add(encodeDecision(decision, generation));
    } catch (error) {
      this.#log.error("no record could be made of a decision", { error: String(error).slice(0, 200) });
      this.#droppedCount += 1;
      this.#unsaidCount += 1;
    }
  }

  #sendAll(): void {
    while (this.#pending.count > 0) {
      this.#untakenCount = 0;
      this.#send();
    }
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // A thread that does not keep up must not be sent ever more; decisions wait here, and the oldest are dropped.
    while (this.#untakenCount < MAX_UNTAKEN) {
      const chunk = this.#pending.take();
      if (chunk === undefined) return;
      if (this.#failure !== undefined) continue;
      this.#untakenCount += 1;
      this.#post({ type: "decisions", chunk, lost: this.#unsaidCount }, [chunk.bytes.buffer]);
      this.#unsaidCount = 0;
    }
  }

  #dropOldest(): void {
    const count = this.#pending.take()?.count ?? 0;
    if (this.#droppedCount === 0) this.#log.error("decisions are not recorded: there are too many at once");
    this.#droppedCount += count;
    this.#unsaidCount += count;
  }

  #watch(): void {
    const isWatched = this.hub.size > 0;
    if (isWatched !== this.#isWatched && !this.#isClosed) this.#post({ type: "watch", isWatched });
    this.#isWatched = isWatched;
  }

  #ask<T extends keyof Answers>(question: Question & { readonly type: T }): Promise<Answers[T]> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(new HookgateError("ERR_CLOSED", `the thread of records is not running: ${this.#failure}`));
        return;
      }
      this.#questionCount += 1;
      const number = this.#questionCount;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other thread answers what was asked
      this.#questions.set(number, { resolve: (answer) => resolve(answer as Answers[T]), reject });
      this.#thread.ref();
      this.#post({ type: "ask", number, question });
    });
  }

  #onMessage(message: FromThread): void {
    if (message.type === "log") this.#log[message.level](message.message, message.fields);
    else if (message.type === "records") for (const record of message.records) this.hub.publish(record);
    else if (message.type === "answer") this.#onAnswer(message);
    else {
      this.#status = message.status;
      if (message.type !== "taken") return;
      this.#pending.reuse(message.bytes);
      this.#untakenCount = Math.max(0, this.#untakenCount - 1);
      if (this.#pending.count > 0) this.#timer ??= setTimeout(() => this.#send(), GATHER_MS);
    }
  }

  #onAnswer({ number, answer, error }: FromThread & { readonly type: "answer" }): void {
    const question = this.#questions.get(number);
    this.#questions.delete(number);
    if (this.#questions.size === 0) this.#thread.unref();
    if (error === undefined) question?.resolve(answer);
    else question?.reject(new HookgateError("ERR_INTERNAL", error));
  }

  #onEnd(why: string): void {
    if (this.#failure === undefined && !this.#isClosed) {
      this.#log.error("records are no longer kept: their thread has ended", { error: why });
    }
    this.#failure ??= why;
    for (const question of this.#questions.values()) question.reject(new HookgateError("ERR_CLOSED", why));
    this.#questions.clear();
  }
}
