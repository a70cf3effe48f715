import type { ObservedDecision, OnDecision } from "../chain/index.ts";
import { type Log, silentLog } from "../log.ts";
import { RecordHub } from "./hub.ts";
import { RecentLoss } from "./loss.ts";
import type { MaskPath } from "./mask.ts";
import {
  type DecisionRecord,
  type HashText,
  type PayloadMode,
  type RecordOptions,
  toDecisionRecord,
} from "./record.ts";
import type { RecordSink } from "./sink.ts";
import { type SinkStatus, SinkWriter } from "./writer.ts";

/** Options of {@link Recorder}. */
export interface RecorderOptions {
  readonly sinks: readonly RecordSink[];
  /** What of payloads is recorded. The threat: they hold what users and tools say. @default "hash" */
  readonly payload?: PayloadMode | undefined;
  /** What is masked in recorded payloads. @default nothing */
  readonly masks?: readonly MaskPath[] | undefined;
  /** The longest payload that is recorded, in bytes. @default 16384 */
  readonly maxPayloadBytes?: number | undefined;
  /** How many decisions may wait to be made records of, and how many records for each sink. @default 10000 */
  readonly maxWaiting?: number | undefined;
  /** How many records a sink is given at once. @default 256 */
  readonly maxBatch?: number | undefined;
  /** How long decisions are left to gather, in milliseconds: larger batches cost less for each. @default 5 */
  readonly gatherMs?: number | undefined;
  /** How long records are made of decisions before the thread is free for others, in milliseconds. @default 2 */
  readonly sliceMs?: number | undefined;
  /** SHA-256 in hex. @default WebCrypto's, which on Node costs a thread hop for each hash */
  readonly hash?: HashText | undefined;
  readonly log?: Log | undefined;
}

/** How recording is going. */
export interface RecorderStatus {
  /** Whether records cannot be written, or some were lost in the last five minutes. */
  readonly degraded: boolean;
  /** How many decisions were dropped before a record was made of them. */
  readonly dropped: number;
  readonly waiting: number;
  readonly sinks: readonly SinkStatus[];
}

interface Settings extends Omit<RecordOptions, "generation"> {
  readonly maxWaiting: number;
  readonly sliceMs: number;
  readonly gatherMs: number;
  readonly log: Log;
}

interface Pending {
  readonly decision: ObservedDecision;
  readonly generation: number;
}

const encoder = new TextEncoder();

const webHash: HashText = async (text) =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

/** What makes records of decisions, in this thread or in another. */
export interface Recording {
  /**
   * What a manager tells of its decisions. It keeps what it is given and returns at once.
   * @param generation - which configuration the manager is of, counted from 1
   */
  toObserver(generation?: number): OnDecision;
  status(): RecorderStatus;
  /** Tells of decisions as they are made. */
  readonly hub: RecordHub;
  /** Makes records of all decisions so far and offers them to their sinks once. */
  flush(): Promise<void>;
  /** Writes what can still be written, and closes the sinks. */
  close(): Promise<void>;
}

/** Makes records of decisions after they were made, and hands them to sinks and to whoever is watching. */
export class Recorder implements Recording {
  readonly hub: RecordHub = new RecordHub();
  readonly #options: Settings;
  readonly #writers: readonly SinkWriter[];
  readonly #loss = new RecentLoss();
  #pending: Pending[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #work: Promise<void> | undefined;
  #droppedCount = 0;
  #unsaidCount = 0;
  #isClosed = false;

  /** @throws {RangeError} when a bound is not a positive integer */
  constructor({ sinks, ...options }: RecorderOptions) {
    const { payload = "hash", masks = [], hash = webHash, log = silentLog, sliceMs = 2, gatherMs = 5 } = options;
    const maxWaiting = toBound("maxWaiting", options.maxWaiting, 10_000);
    const maxBatch = toBound("maxBatch", options.maxBatch, 256);
    const maxPayloadBytes = toBound("maxPayloadBytes", options.maxPayloadBytes, 16_384);
    this.#options = { payload, masks, hash, log, maxWaiting, maxPayloadBytes, sliceMs, gatherMs };
    this.#writers = sinks.map((sink) => new SinkWriter(sink, { maxWaiting, maxBatch, hash, log }));
  }

  toObserver(generation = 1): OnDecision {
    return (decision) => {
      if (this.#isClosed || (this.#writers.length === 0 && this.hub.size === 0)) return;
      this.#pending.push({ decision, generation });
      // Dropped in bulk: to move the rest up for each would cost more the fuller it is.
      if (this.#pending.length > this.#options.maxWaiting * 1.1) this.#dropOldest();
      this.#arm();
    };
  }

  /** Says that so many decisions were lost before they came here. */
  addLost(count: number): void {
    this.#unsaidCount += count;
  }

  status(): RecorderStatus {
    const sinks = this.#writers.map((writer) => writer.status());
    const lostCount = this.#droppedCount + sinks.reduce((sum, { lost }) => sum + lost, 0);
    const degraded = this.#loss.isRecent(lostCount) || sinks.some(({ state }) => state === "failing");
    return { degraded, dropped: this.#droppedCount, waiting: this.#pending.length, sinks };
  }

  async flush(): Promise<void> {
    while (this.#work !== undefined || this.#pending.length > 0) {
      this.#start();
      await this.#work;
    }
    await Promise.all(this.#writers.map((writer) => writer.flush()));
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.hub.close();
    await Promise.all(this.#writers.map((writer) => writer.close()));
  }

  #dropOldest(): void {
    const count = this.#pending.length - this.#options.maxWaiting;
    this.#pending = this.#pending.slice(count);
    if (this.#droppedCount === 0) this.#options.log.error("decisions are not recorded: there are too many at once");
    this.#droppedCount += count;
    this.#unsaidCount += count;
  }

  #arm(delayMs = this.#options.gatherMs): void {
    if (this.#timer !== undefined || this.#work !== undefined) return;
    this.#timer = setTimeout(() => this.#start(), delayMs);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work ??= this.#slice().finally(() => {
      this.#work = undefined;
      if (this.#pending.length > 0) this.#arm(0);
    });
  }

  async #slice(): Promise<void> {
    const endsAtMs = performance.now() + this.#options.sliceMs;
    const records: DecisionRecord[] = [];
    const lost = this.#unsaidCount;
    this.#unsaidCount = 0;
    const pending = this.#pending;
    let index = 0;
    this.#pending = [];
    for (; index < pending.length && (index === 0 || performance.now() < endsAtMs); index += 1) {
      const item = pending[index];
      const record = item && (await this.#make(item));
      if (record !== undefined) records.push(record);
    }
    const rest = pending.slice(index);
    if (rest.length > 0) this.#pending = [...rest, ...this.#pending];
    for (const record of records) this.hub.publish(record);
    for (const writer of this.#writers) {
      if (lost > 0) writer.addLost(lost);
      if (records.length > 0) writer.push(records);
    }
  }

  async #make({ decision, generation }: Pending): Promise<DecisionRecord | undefined> {
    try {
      return await toDecisionRecord(decision, { ...this.#options, generation });
    } catch (error) {
      this.#options.log.error("no record could be made of a decision", { error: String(error).slice(0, 200) });
      this.#droppedCount += 1;
      this.#unsaidCount += 1;
      return undefined;
    }
  }
}

function toBound(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name}: expected a positive integer, got ${value}`);
}
