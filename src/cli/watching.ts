import { isSameJson, type OnDecision } from "../chain/index.ts";
import { type Config, keepsDatabase } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import type { GatewayHook, RecordPages } from "../gateway/index.ts";
import type { Log } from "../log.ts";
import { createIdleRecording, ReloadableRecording, type StoredRecording } from "../records/index.ts";
import type { CliHost } from "./host.ts";

/** What follows the decisions of a gateway: records and metrics. */
export interface Watching {
  /** What the hooks of a config tell of their decisions; undefined when nobody listens. */
  toObserver(config: Config, generation: number): OnDecision | undefined;
  /** What a gateway of a config shows. */
  toPages(config: Config): RecordPages;
  /**
   * Records as another config says from now on, which {@link Watching.toObserver} has been asked for. It does not reject:
   * what goes wrong is logged and told.
   * @returns what went wrong, one sentence each
   */
  follow(config: Config): Promise<readonly string[]>;
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
export function startWatching(config: Config, options: WatchingOptions): Watching {
  const { host, log, baseDir, hooks, callsInFlight } = options;
  const open = ({ records }: Config): StoredRecording =>
    host.records?.record(records, { baseDir, log }) ?? createIdleRecording();
  assertRecordable(config, host);
  let current = config;
  const recording = new ReloadableRecording(open(config));
  const recorderStatus = host.records && (() => recording.status());
  const counted = config.metrics.enabled ? host.createMetrics?.({ hooks, recorderStatus, callsInFlight }) : undefined;
  return {
    toObserver(next, generation) {
      assertRecordable(next, host);
      const count = counted?.onDecision;
      const record = next.records?.enabled === true ? recording.toObserver(generation) : undefined;
      if (count === undefined || record === undefined) return count ?? record;
      return (decision) => {
        count(decision);
        record(decision);
      };
    },
    toPages({ records }) {
      if (records?.enabled !== true) return { metrics: counted };
      return { recording, records: keepsDatabase(records) ? recording.store : undefined, metrics: counted };
    },
    async follow(next) {
      if (isSameJson(next.records, current.records)) return [];
      current = next;
      try {
        await recording.replace(() => open(next));
        return [];
      } catch (error) {
        const problem = `decisions are not recorded: ${error instanceof Error ? error.message : String(error)}`;
        log.error(problem);
        return [problem];
      }
    },
    close: () => recording.close(),
  };
}

function assertRecordable({ records }: Config, host: CliHost): void {
  if (records?.enabled !== true || host.records !== undefined) return;
  throw new HookgateError("ERR_CONFIG", "records: this runtime cannot record decisions");
}
