import { isHookgateError } from "../errors.ts";
import type { Log } from "../log.ts";

/** What became of reading the configuration again. */
export interface ReloadReport {
  /** Whether the new configuration answers. Otherwise the old one goes on, untouched. */
  readonly ok: boolean;
  /** The generation that answers from now on. */
  readonly generation: number;
  /** Everything that is wrong, one sentence each; empty when `ok`. */
  readonly problems: readonly string[];
  /** What does not stand in the way but should be known, such as a hook that is not up. */
  readonly warnings: readonly string[];
  /** The hooks that were started. */
  readonly started: readonly string[];
  /** The hooks that went on running. */
  readonly kept: readonly string[];
  /** The hooks that are ended once their calls are done. */
  readonly ended: readonly string[];
}

/** What is known of reloads. */
export interface ReloadStatus {
  /** Which configuration answers, counted from 1. */
  readonly generation: number;
  /** The last reload, where it failed: the configuration that answers is not the one that is there. */
  readonly failed?: { readonly at: string; readonly problems: readonly string[] };
}

/** Reads the configuration again. */
export interface ReloadPort {
  status(): ReloadStatus;
  /** Reads it again, after a reload that is under way. It does not reject. */
  reload(): Promise<ReloadReport>;
}

/** What changed with a new configuration. */
export type ReloadChange = Pick<ReloadReport, "warnings" | "started" | "kept" | "ended">;

/** Options of {@link createReloader}. */
export interface ReloaderOptions {
  /**
   * Makes the given generation of the configuration and lets it answer.
   * @throws what is wrong with it, one problem a line; what it has made is gone then, and the old one answers
   */
  readonly apply: (generation: number) => Promise<ReloadChange>;
  readonly log: Log;
}

const NOTHING: ReloadChange = { warnings: [], started: [], kept: [], ended: [] };

/** Makes what reloads a configuration: one reload at a time, and of those that wait only one, for all who asked. */
export function createReloader({ apply, log }: ReloaderOptions): ReloadPort {
  let generation = 1;
  let failed: ReloadStatus["failed"];
  let running: Promise<ReloadReport> | undefined;
  let waiting: Promise<ReloadReport> | undefined;

  async function run(): Promise<ReloadReport> {
    try {
      const change = await apply(generation + 1);
      generation += 1;
      failed = undefined;
      const { started, kept, ended, warnings } = change;
      const counts = { started: started.length, kept: kept.length, ended: ended.length };
      log.info("the configuration was reloaded", { generation, ...counts });
      for (const warning of warnings) log.warn("reloaded with a warning", { warning });
      return { ok: true, generation, problems: [], ...change };
    } catch (error) {
      const problems = toProblems(error);
      failed = { at: new Date().toISOString(), problems };
      for (const problem of problems) log.error("not reloaded: the old configuration stays", { problem });
      return { ok: false, generation, problems, ...NOTHING };
    }
  }

  function start(): Promise<ReloadReport> {
    const started = run().finally(() => {
      if (running === started) running = undefined;
    });
    running = started;
    return started;
  }

  return {
    status: () => ({ generation, ...(failed && { failed }) }),
    reload() {
      if (running === undefined) return start();
      // Whoever asks now has changed something that the reload under way may have read already.
      waiting ??= running.then(() => {
        waiting = undefined;
        return start();
      });
      return waiting;
    },
  };
}

function toProblems(error: unknown): readonly string[] {
  if (isHookgateError(error)) return error.message.split("\n");
  return [error instanceof Error ? error.message : String(error)];
}
