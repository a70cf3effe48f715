import type { ChainHook, HookRecord, Ranked } from "../chain/index.ts";
import type { NoVerdictKind } from "../errors.ts";
import type { Log } from "../log.ts";
import type { EventQueue } from "./fan-out.ts";
import type { Origin } from "./payload.ts";
import { HOOK_POINTS, type HookPoint } from "./point.ts";
import type { HookPort, PortStatus } from "./port.ts";

/** What is known of a mounted hook. */
export interface MountedHookStatus extends Ranked, PortStatus {
  readonly points: readonly HookPoint[];
  readonly observes: boolean;
  readonly calls: number;
  readonly verdicts: number;
  /** How many calls yielded no verdict, by kind. */
  readonly no_verdicts: Readonly<Partial<Record<NoVerdictKind, number>>>;
  readonly failed_open: number;
  /** RFC 3339 time of the last call's end. */
  readonly last_fired?: string;
  readonly events?: { readonly delivered: number; readonly dropped: number; readonly failed: number };
}

/** A hook as the chain of a point calls it, and whose it is. */
export interface MountedChainHook extends ChainHook<Origin> {
  readonly mounted: MountedHook;
}

/** Parts of a {@link MountedHook}. */
export interface MountedHookParts {
  readonly ranked: Ranked;
  readonly port: HookPort;
  readonly chainHook: (point: HookPoint) => ChainHook<Origin>;
  readonly events: EventQueue | undefined;
  readonly log: Log;
}

/** One hook in the manager: its place, its way of being called at each point, and its counters. */
export class MountedHook {
  readonly ranked: Ranked;
  readonly port: HookPort;
  readonly events: EventQueue | undefined;
  readonly #log: Log;
  readonly #chainHooks: ReadonlyMap<HookPoint, MountedChainHook>;
  readonly #noVerdicts: Partial<Record<NoVerdictKind, number>> = {};
  #callCount = 0;
  #verdictCount = 0;
  #failedOpenCount = 0;
  #lastFiredAtMs: number | undefined;

  constructor({ ranked, port, chainHook, events, log }: MountedHookParts) {
    this.ranked = ranked;
    this.port = port;
    this.events = events;
    this.#log = log;
    this.#chainHooks = new Map(Array.from(port.points, (point) => [point, { ...chainHook(point), mounted: this }]));
  }

  /** The hook as the chain of a point calls it; undefined when it is not called there. */
  chainHook(point: HookPoint): MountedChainHook | undefined {
    return this.#chainHooks.get(point);
  }

  count({ kind, failed_open, point, error }: HookRecord): void {
    this.#callCount += 1;
    this.#lastFiredAtMs = Date.now();
    if (kind === undefined) {
      this.#verdictCount += 1;
      return;
    }
    this.#noVerdicts[kind] = (this.#noVerdicts[kind] ?? 0) + 1;
    if (failed_open === true) this.#failedOpenCount += 1;
    const effect = failed_open === true ? "skipped" : "not skipped";
    this.#log.warn("hook gave no verdict", { hook: this.ranked.name, point, kind, error, effect });
  }

  status(): MountedHookStatus {
    return {
      ...this.ranked,
      ...this.port.status(),
      points: HOOK_POINTS.filter((point) => this.#chainHooks.has(point)),
      observes: this.events !== undefined,
      calls: this.#callCount,
      verdicts: this.#verdictCount,
      no_verdicts: { ...this.#noVerdicts },
      failed_open: this.#failedOpenCount,
      ...(this.#lastFiredAtMs === undefined ? {} : { last_fired: new Date(this.#lastFiredAtMs).toISOString() }),
      ...(this.events === undefined ? {} : { events: this.events.counts }),
    };
  }

  /** Closes the hook; what goes wrong is logged, for the hook is gone either way. */
  async close(): Promise<void> {
    this.events?.close();
    try {
      await this.port.close();
    } catch (error) {
      this.#log.warn("hook did not close cleanly", { hook: this.ranked.name, error: String(error).slice(0, 200) });
    }
  }
}
