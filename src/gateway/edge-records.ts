import { ConfigError, type RecordPlace, type RecordsConfig } from "../config/index.ts";
import type { Log } from "../log.ts";
import {
  type CollectorFetch,
  createHttpSink,
  createLineSink,
  createQueueSink,
  IsolateRecorder,
  parseMaskPath,
  type RecordQueue,
  type RecordSink,
} from "../records/index.ts";

/** What a runtime gives to those who record on it. */
export interface EdgeRecordPorts {
  /** SHA-256 of a text's UTF-8 in hex, at once. */
  readonly hash: (text: string) => string;
  /** Takes one line of JSON a record. */
  readonly writeLine: (line: string) => void;
}

/** Options of {@link openEdgeRecording}. */
export interface EdgeRecordingOptions {
  readonly ports: EdgeRecordPorts;
  /** What the runtime binds, by name: queues are among it. */
  readonly env: Readonly<Record<string, unknown>>;
  /** Reaches the collector. */
  readonly fetch: CollectorFetch;
  readonly currentRequest: () => object | undefined;
  readonly waitUntil: (work: Promise<void>) => void;
  readonly log: Log;
}

/** Where records can go on the edge. */
export const EDGE_RECORD_PLACES: readonly RecordPlace[] = ["console", "http", "queue"];

/** A request is ended 30 s after its answer: a collector that takes longer would never be known to have failed. */
const MAX_COLLECTOR_MS = 20_000;

/**
 * Records decisions as a config says; undefined when it says not to.
 * @throws {ConfigError} when there is no queue of the name
 */
export function openEdgeRecording(
  config: RecordsConfig | undefined,
  options: EdgeRecordingOptions,
): IsolateRecorder | undefined {
  if (config?.enabled !== true) return undefined;
  const { record, max_waiting: maxWaiting } = config;
  const { ports, currentRequest, waitUntil, log } = options;
  return new IsolateRecorder({
    sinks: toSinks(config, options),
    payload: record.payload,
    masks: record.mask.map(parseMaskPath),
    maxPayloadBytes: record.max_payload_bytes,
    maxWaiting,
    hash: ports.hash,
    currentRequest,
    waitUntil,
    log,
  });
}

function toSinks(
  { http, queue: binding, console: isNamed }: RecordsConfig,
  { fetch, env, ports }: EdgeRecordingOptions,
): readonly RecordSink[] {
  const sinks: RecordSink[] = [];
  if (isNamed ?? (http === undefined && binding === undefined)) sinks.push(createLineSink("console", ports.writeLine));
  if (http !== undefined) {
    const { url, headers, timeout_ms: timeoutMs } = http;
    sinks.push(createHttpSink({ url, headers, fetch, timeoutMs: Math.min(timeoutMs, MAX_COLLECTOR_MS) }));
  }
  if (binding !== undefined) {
    const queue = env[binding];
    if (!isQueue(queue)) {
      throw new ConfigError([{ path: "records.queue", message: `there is no queue binding "${binding}"` }]);
    }
    sinks.push(createQueueSink(queue));
  }
  return sinks;
}

function isQueue(value: unknown): value is RecordQueue {
  return typeof value === "object" && value !== null && "sendBatch" in value && typeof value.sendBatch === "function";
}

const EMPTY = "nothing is recorded here: configure records";
const COUNTERS = "this runtime has no counters of its own: count the records where they go, or read /v1/hooks";

/** Why paths that a gateway on Node has are not here, by path. */
export function explainAbsent(recorder: IsolateRecorder | undefined): Readonly<Record<string, string>> {
  const places = recorder?.status().sinks.map(({ name }) => name) ?? [];
  const records =
    places.length === 0
      ? EMPTY
      : `records cannot be looked up here: they go to ${places.join(" and ")}, as the config's records says`;
  return { "/v1/records": records, "/v1/records/:id": records, "/v1/events": records, "/metrics": COUNTERS };
}
