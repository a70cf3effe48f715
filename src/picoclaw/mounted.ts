import type { HookRecord, Ranked } from "../chain/index.ts";
import type { NoVerdictKind } from "../errors.ts";
import type { Log } from "../log.ts";
import type { EventQueue } from "./fan-out.ts";
import type { Origin } from "./payload.ts";
import { HOOK_POINTS, type HookPoint } from "./point.ts";
import type { HookPort, PortStatus } from "./port.ts";
import type { HookGrant, Trust, TrustedHook } from "./trust.ts";

/** What is known of a mounted hook. */
export interface MountedHookStatus extends Ranked, PortStatus {
  readonly points: readonly HookPoint[];
  readonly observes: boolean;
  readonly grants: readonly HookGrant[];
  readonly respond_requires_approval: boolean;
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
export interface MountedChainHook extends TrustedHook<Origin> {
  readonly mounted: MountedHook;
}

/** Parts of a {@link MountedHook}. */
export interface MountedHookParts {
  readonly ranked: Ranked;
  readonly port: HookPort;
  readonly trust: Trust;
  readonly chainHook: (point: HookPoint) => TrustedHook<Origin>;
  readonly events: EventQueue | undefined;
  readonly log: Log;
  /** The same hook in the manager before: its counters go on. */
  readonly kept?: MountedHook | undefined;
}

interface Counts {
  calls: number;
  verdicts: number;
  failedOpen: number;
  lastFiredAtMs: number | undefined;
  readonly noVerdicts: Partial<Record<NoVerdictKind, number>>;
}

function createCounts(): Counts {
  return { calls: 0, verdicts: 0, failedOpen: 0, lastFiredAtMs: undefined, noVerdicts: {} };
}

/** One hook in the manager: its place, its way of being called at each point, and its counters. */
export class MountedHook {
  readonly ranked: Ranked;
  readonly port: HookPort;
  readonly events: EventQueue | undefined;
  readonly #trust: Trust;
  readonly #log: Log;
  readonly #chainHooks: ReadonlyMap<HookPoint, MountedChainHook>;
  readonly #counts: Counts;

  constructor({ ranked, port, trust, chainHook, events, log, kept }: MountedHookParts) {
    // Calls that began under the manager before are counted too.
    this.#counts = kept === undefined ? createCounts() : kept.#counts;
    this.ranked = ranked;
    this.#trust = trust;
    this.port = port;
    this.events = events;
    this.#log = log;
    this.#chainHooks = new Map(Array.from(port.points, (point) => [point, { ...chainHook(point), mounted: this }]));
  }

  /** The hook as the chain of a point calls it; undefined when it is not called there. */
  chainHook(point: HookPoint): MountedChainHook | undefined {
    return this.#chainHooks.get(point);
  }

  count({ outcome, kind, failed_open, point, error }: HookRecord): void {
    const counts = this.#counts;
    counts.calls += 1;
    counts.lastFiredAtMs = Date.now();
    if (outcome !== "no_verdict" || kind === undefined) {
      counts.verdicts += 1;
      if (kind !== undefined) {
        this.#log.warn("a part of the hook's reply was not applied", { hook: this.ranked.name, point, kind, error });
      }
      return;
    }
    counts.noVerdicts[kind] = (counts.noVerdicts[kind] ?? 0) + 1;
    if (failed_open === true) counts.failedOpen += 1;
    const effect = failed_open === true ? "skipped" : "not skipped";
    this.#log.warn("hook gave no verdict", { hook: this.ranked.name, point, kind, error, effect });
  }

  status(): MountedHookStatus {
    const { calls, verdicts, failedOpen, lastFiredAtMs, noVerdicts } = this.#counts;
    return {
      ...this.ranked,
      ...this.port.status(),
      points: HOOK_POINTS.filter((point) => this.#chainHooks.has(point)),
      observes: this.events !== undefined,
      grants: [...this.#trust.grants],
      respond_requires_approval: this.#trust.respondRequiresApproval,
      calls,
      verdicts,
      no_verdicts: { ...noVerdicts },
      failed_open: failedOpen,
      ...(lastFiredAtMs === undefined ? {} : { last_fired: new Date(lastFiredAtMs).toISOString() }),
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
