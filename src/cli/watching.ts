import type { OnDecision } from "../chain/index.ts";
import type { Config } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import type { GatewayHook, RecordPages } from "../gateway/index.ts";
import type { Log } from "../log.ts";
import type { CliHost } from "./host.ts";

/** What follows the decisions of a gateway: records and metrics. */
export interface Watching {
  /** What the hooks of one generation of the configuration tell of their decisions; undefined when nobody listens. */
  toObserver(generation: number): OnDecision | undefined;
  readonly pages: RecordPages;
  close(): Promise<void>;
}

/** Options of {@link startWatching}. */
export interface WatchingOptions {
  readonly host: CliHost;
  readonly log: Log;
  readonly baseDir: string;
  readonly hooks: () => readonly GatewayHook[];
  readonly callsInFlight: () => number;
}

/**
 * Begins to record and count decisions, as a config says.
 * @throws {HookgateError} `ERR_CONFIG` when this runtime cannot record them
 */
export function startWatching(
  { records, metrics }: Config,
  { host, log, baseDir, hooks, callsInFlight }: WatchingOptions,
): Watching {
  if (records?.enabled === true && host.records === undefined) {
    throw new HookgateError("ERR_CONFIG", "records: this runtime cannot record decisions");
  }
  const recording = host.records?.record(records, { baseDir, log });
  const recorderStatus = recording && (() => recording.status());
  const counted = metrics.enabled ? host.createMetrics?.({ hooks, recorderStatus, callsInFlight }) : undefined;
  return {
    toObserver(generation) {
      const count = counted?.onDecision;
      const record = recording?.toObserver(generation);
      if (count === undefined || record === undefined) return count ?? record;
      return (decision) => {
        count(decision);
        record(decision);
      };
    },
    pages: { recording, records: recording?.store, metrics: counted },
    close: async () => recording?.close(),
  };
}
