import type { Log } from "../log.ts";
import type { DecisionRecord } from "./record.ts";
import { behind, type ChainState, createChain, type Sealed, sealRecordNow } from "./seal.ts";
import type { RecordSink } from "./sink.ts";
import type { SinkStatus } from "./writer.ts";

/** Options of {@link IsolateWriter}. */
export interface IsolateWriterOptions {
  readonly hash: (text: string) => string;
  /** How many records may wait for the sink; when one more comes, the oldest are dropped and counted. */
  readonly maxWaiting: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  readonly log: Log;
}

/** Records that go to the sink together. */
interface Batch {
  readonly records: readonly Sealed[];
  /** Until when the request that took them may still be writing them. */
  busyUntilMs: number;
}

/** A request lives no longer after its answer: what it has taken and not written by then is anybody's. */
const LEASE_MS = 35_000;
/** How many records a write may take. */
const MAX_BATCH = 256;
/** How many writes a request makes at most, its own records among them: the others are for the next ones. */
const MAX_WRITES = 4;
const MAX_ERROR_CHARS = 200;

const encoder = new TextEncoder();

/**
 * Hands records to one sink from many requests, of which none may wait for another: each numbers its records at once and
 * writes them itself, with those that earlier requests could not.
 */
export class IsolateWriter {
  readonly #sink: RecordSink;
  readonly #options: IsolateWriterOptions;
  readonly #batches = new Set<Batch>();
  #chain: ChainState | undefined;
  #waitingCount = 0;
  #writtenCount = 0;
  #lostCount = 0;
  /** Those that were lost before they had a number, and that no record says yet. */
  #unsaidCount = 0;
  #error: string | undefined;

  constructor(sink: RecordSink, options: IsolateWriterOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  /** Gives records their places in the chain. */
  push(records: readonly DecisionRecord[], lost: number): void {
    this.#addLost(lost);
    this.#unsaidCount += lost;
    const sealed = records.map((record) => this.#seal(record)).filter((item) => item !== undefined);
    for (let index = 0; index < sealed.length; index += MAX_BATCH) {
      this.#batches.add({ records: sealed.slice(index, index + MAX_BATCH), busyUntilMs: 0 });
    }
    this.#waitingCount += sealed.length;
    for (const batch of this.#batches) {
      if (this.#waitingCount <= this.#options.maxWaiting) break;
      this.#remove(batch);
      this.#addLost(batch.records.length);
    }
  }

  /** Writes what waits and no other request is writing. It does not reject. */
  async write(): Promise<void> {
    for (let count = 0; count < MAX_WRITES && (await this.#writeOnce()); count += 1);
  }

  status(): SinkStatus {
    const { name } = this.#sink;
    const counts = { written: this.#writtenCount, lost: this.#lostCount, waiting: this.#waitingCount };
    if (this.#error === undefined) return { name, state: "ok", ...counts };
    return { name, state: "failing", error: this.#error, ...counts };
  }

  #seal(record: DecisionRecord): Sealed | undefined {
    const state = (this.#chain ??= createChain());
    const { hash } = this.#options;
    const sealed = sealRecordNow(record, state, { hash, lost: this.#unsaidCount });
    if (isLonger(sealed.text, this.#sink.maxRecordBytes ?? Infinity)) {
      this.#addLost(1);
      this.#unsaidCount += 1;
      return undefined;
    }
    this.#unsaidCount = 0;
    this.#chain = behind(sealed);
    return sealed;
  }

  /** @returns whether there may be more to write */
  async #writeOnce(): Promise<boolean> {
    const taken = this.#take();
    if (taken.length === 0) return false;
    const records = taken.flatMap((batch) => batch.records);
    try {
      await this.#sink.write(records);
    } catch (error) {
      for (const batch of taken) batch.busyUntilMs = 0;
      this.#onFailure(error);
      return false;
    }
    this.#writtenCount += records.length;
    for (const batch of taken) this.#remove(batch);
    if (this.#error !== undefined) this.#options.log.info("the record sink works again", { sink: this.#sink.name });
    this.#error = undefined;
    return true;
  }

  #take(): readonly Batch[] {
    const nowMs = this.#options.now();
    const taken: Batch[] = [];
    let count = 0;
    for (const batch of this.#batches) {
      if (batch.busyUntilMs > nowMs) continue;
      count += batch.records.length;
      if (count > MAX_BATCH) break;
      batch.busyUntilMs = nowMs + LEASE_MS;
      taken.push(batch);
    }
    return taken;
  }

  /** One that was dropped while it was written, or that two have written, is counted once. */
  #remove(batch: Batch): void {
    if (this.#batches.delete(batch)) this.#waitingCount -= batch.records.length;
  }

  #addLost(count: number): void {
    if (count > 0 && this.#lostCount === 0) {
      this.#options.log.error("records are lost", { sink: this.#sink.name });
    }
    this.#lostCount += count;
  }

  #onFailure(error: unknown): void {
    const message = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_CHARS);
    if (this.#error === undefined) {
      this.#options.log.error("records cannot be written", { sink: this.#sink.name, error: message });
    }
    this.#error = message;
  }
}

/** A text has at most three bytes of UTF-8 for each of its units: most need not be counted. */
function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && encoder.encode(text).byteLength > maxBytes;
}
