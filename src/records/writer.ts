import type { Log } from "../log.ts";
import type { DecisionRecord, HashText } from "./record.ts";
import { behind, type ChainState, createChain, type Sealed, sealRecord } from "./seal.ts";
import type { RecordSink } from "./sink.ts";

/** How a sink is doing. */
export interface SinkStatus {
  readonly name: string;
  readonly state: "ok" | "failing";
  /** Why it is failing. At most 200 characters. */
  readonly error?: string;
  readonly written: number;
  /** How many records it will never have. */
  readonly lost: number;
  readonly waiting: number;
}

/** Options of {@link SinkWriter}. */
export interface SinkWriterOptions {
  /** How many records may wait; when one more comes, the oldest is dropped and counted. */
  readonly maxWaiting: number;
  /** How many records a batch may hold. */
  readonly maxBatch: number;
  readonly hash: HashText;
  readonly log: Log;
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;
const MAX_ERROR_CHARS = 200;

/** Hands records to one sink, in batches and in a chain of their own. A sink that fails holds up nothing but itself. */
export class SinkWriter {
  readonly #sink: RecordSink;
  readonly #options: SinkWriterOptions;
  #waiting: DecisionRecord[] = [];
  #chain: ChainState | undefined;
  /** Where the chain of a sink stands that does not say so itself. */
  #known: ChainState = createChain();
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #failureCount = 0;
  #error: string | undefined;
  #writtenCount = 0;
  #lostCount = 0;
  /** Those lost that no record says yet. */
  #unsaidCount = 0;
  #work: Promise<void> | undefined;
  #isClosed = false;

  constructor(sink: RecordSink, options: SinkWriterOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  /** Takes records; it does not wait for the sink. */
  push(records: readonly DecisionRecord[]): void {
    this.#waiting.push(...records);
    const excess = this.#waiting.length - this.#options.maxWaiting;
    if (excess > 0) this.#drop(excess);
    if (this.#retryTimer === undefined) this.#start();
  }

  /** Says that so many decisions before the next record were lost before they came here. */
  addLost(count: number): void {
    this.#lostCount += count;
    this.#unsaidCount += count;
  }

  status(): SinkStatus {
    const { name } = this.#sink;
    const counts = { written: this.#writtenCount, lost: this.#lostCount, waiting: this.#waiting.length };
    if (this.#error === undefined) return { name, state: "ok", ...counts };
    return { name, state: "failing", error: this.#error, ...counts };
  }

  /** Tries once to write what waits. */
  async flush(): Promise<void> {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    await this.#work;
    if (this.#waiting.length === 0) return;
    this.#start();
    await this.#work;
  }

  /** Writes what waits, where that is possible, and closes the sink. What is left is lost. */
  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    const lost = this.#waiting.length;
    if (lost > 0) {
      this.#waiting = [];
      this.addLost(lost);
      this.#options.log.error("records were not written", { sink: this.#sink.name, lost: this.#lostCount });
    }
    try {
      await this.#sink.close();
    } catch (error) {
      this.#options.log.warn("a record sink did not close cleanly", { sink: this.#sink.name, error: String(error) });
    }
  }

  #start(): void {
    if (this.#work !== undefined || this.#isClosed) return;
    this.#work = this.#run().finally(() => {
      this.#work = undefined;
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const records = this.#waiting.slice(0, this.#options.maxBatch);
      // They stay in the buffer's count while they are written, and are its newest when they come back.
      this.#waiting = this.#waiting.slice(records.length);
      const said = this.#unsaidCount;
      try {
        this.#chain ??= (await this.#sink.open()) ?? this.#known;
        const batch = await this.#seal(records, said);
        await this.#sink.write(batch);
        const last = batch.at(-1);
        if (last !== undefined) this.#chain = this.#known = behind(last);
        this.#unsaidCount -= said;
        this.#writtenCount += records.length;
        this.#onSuccess();
      } catch (error) {
        this.#waiting = [...records, ...this.#waiting];
        const excess = this.#waiting.length - this.#options.maxWaiting;
        if (excess > 0) this.#drop(excess);
        this.#onFailure(error);
        return;
      }
    }
  }

  async #seal(records: readonly DecisionRecord[], lost: number): Promise<readonly Sealed[]> {
    const { hash } = this.#options;
    const batch: Sealed[] = [];
    let state = this.#chain ?? this.#known;
    for (const [index, record] of records.entries()) {
      const sealed = await sealRecord(record, state, { hash, lost: index === 0 ? lost : 0 });
      batch.push(sealed);
      state = behind(sealed);
    }
    return batch;
  }

  #drop(count: number): void {
    this.#waiting = this.#waiting.slice(count);
    if (this.#lostCount === 0) {
      this.#options.log.error("records are lost: their sink does not keep up", { sink: this.#sink.name });
    }
    this.addLost(count);
  }

  #onSuccess(): void {
    if (this.#error !== undefined) {
      this.#options.log.info("the record sink works again", { sink: this.#sink.name, lost: this.#lostCount });
    }
    this.#failureCount = 0;
    this.#error = undefined;
  }

  #onFailure(error: unknown): void {
    const message = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_CHARS);
    if (this.#error === undefined) {
      this.#options.log.error("records cannot be written", { sink: this.#sink.name, error: message });
    }
    this.#error = message;
    // What was written of the batch is not known, nor is where the chain stands now: the sink is asked.
    this.#chain = undefined;
    const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failureCount);
    this.#failureCount += 1;
    if (this.#isClosed) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      this.#start();
    }, delayMs);
  }
}
