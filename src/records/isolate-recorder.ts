import type { ObservedDecision, OnDecision } from "../chain/index.ts";
import { type Log, silentLog } from "../log.ts";
import { IsolateWriter } from "./isolate-writer.ts";
import { RecentLoss } from "./loss.ts";
import type { MaskPath } from "./mask.ts";
import { type DecisionRecord, type PayloadMode, type RecordOptions, toDecisionRecord } from "./record.ts";
import type { RecorderStatus } from "./recorder.ts";
import type { RecordSink } from "./sink.ts";

/** Options of {@link IsolateRecorder}. */
export interface IsolateRecorderOptions {
  readonly sinks: readonly RecordSink[];
  readonly payload: PayloadMode;
  readonly masks: readonly MaskPath[];
  /** The longest payload that is recorded, in bytes. */
  readonly maxPayloadBytes: number;
  /** How many records may wait for each sink. */
  readonly maxWaiting: number;
  /** SHA-256 in hex. It answers at once: a chain has one end, and no request may wait until another has added to it. */
  readonly hash: (text: string) => string;
  /** The request that is under way; the decisions of each are written together. */
  readonly currentRequest: () => object | undefined;
  /** Keeps work alive after the answer of the request that is under way. */
  readonly waitUntil: (work: Promise<void>) => void;
  /** How long the decisions of a request are left to gather, in milliseconds. @default 5 */
  readonly gatherMs?: number | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
  readonly log?: Log | undefined;
}

/**
 * Records decisions where nothing runs outside of a request and no request may wait for another, as on Workers. Each
 * request writes the records of its own decisions after its answer.
 */
export class IsolateRecorder {
  readonly #options: IsolateRecorderOptions;
  readonly #writers: readonly IsolateWriter[];
  readonly #gathered = new WeakMap<object, ObservedDecision[]>();
  readonly #loss = new RecentLoss();
  readonly #log: Log;
  #droppedCount = 0;

  constructor(options: IsolateRecorderOptions) {
    const { sinks, hash, maxWaiting, now = () => performance.now(), log = silentLog } = options;
    this.#options = options;
    this.#log = log;
    this.#writers = sinks.map((sink) => new IsolateWriter(sink, { hash, maxWaiting, now, log }));
  }

  /** What a manager tells of its decisions. It keeps what it is given and returns at once. */
  readonly onDecision: OnDecision = (decision) => {
    const request = this.#options.currentRequest();
    const gathered = request && this.#gathered.get(request);
    if (gathered !== undefined) {
      gathered.push(decision);
      return;
    }
    const decisions = [decision];
    if (request !== undefined) this.#gathered.set(request, decisions);
    this.#options.waitUntil(this.#deliver(decisions, request));
  };

  /** How recording is going in this isolate. */
  status(): RecorderStatus {
    const sinks = this.#writers.map((writer) => writer.status());
    const lostCount = this.#droppedCount + sinks.reduce((sum, { lost }) => sum + lost, 0);
    const degraded = this.#loss.isRecent(lostCount) || sinks.some(({ state }) => state === "failing");
    return { degraded, dropped: this.#droppedCount, waiting: 0, sinks };
  }

  async #deliver(decisions: readonly ObservedDecision[], request: object | undefined): Promise<void> {
    const { gatherMs = 5 } = this.#options;
    await new Promise((resolve) => setTimeout(resolve, gatherMs));
    if (request !== undefined) this.#gathered.delete(request);
    const records: DecisionRecord[] = [];
    for (const decision of decisions) {
      const record = await this.#make(decision);
      if (record !== undefined) records.push(record);
    }
    const lost = decisions.length - records.length;
    for (const writer of this.#writers) writer.push(records, lost);
    await Promise.all(this.#writers.map((writer) => writer.write()));
  }

  async #make(decision: ObservedDecision): Promise<DecisionRecord | undefined> {
    const { payload, masks, maxPayloadBytes, hash } = this.#options;
    const options: RecordOptions = { payload, masks, maxPayloadBytes, hash, generation: 1 };
    try {
      return await toDecisionRecord(decision, options);
    } catch (error) {
      this.#log.error("no record could be made of a decision", { error: String(error).slice(0, 200) });
      this.#droppedCount += 1;
      return undefined;
    }
  }
}
