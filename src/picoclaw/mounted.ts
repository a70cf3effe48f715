import { type HookRecord, LatencyHistogram, type LatencyQuantiles, type Ranked } from "../chain/index.ts";
import type { NoVerdictKind } from "../errors.ts";
import type { Log } from "../log.ts";
import { RepeatLog } from "../log-limit.ts";
import type { PointHooks } from "./chain-hook.ts";
import type { EventQueue } from "./fan-out.ts";
import { type HookMatch, uncarriedField } from "./match.ts";
import type { HookExecutionMode, OperationOptions } from "./operation.ts";
import type { Origin } from "./payload.ts";
import type { Selectable } from "./point-chain.ts";
import { HOOK_POINTS, type HookPoint } from "./point.ts";
import type { HookPort, PortStatus } from "./port.ts";
import type { BoundedQueue } from "./queue.ts";
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
  /** The same for each point and kind; there are as many entries as combinations that have occurred. */
  readonly failed_open_by: readonly FailOpenCount[];
  /** How many calls of its points it was not made for, by its `match`. */
  readonly skipped: number;
  /** How many verdicts were given before and used again. */
  readonly cached: number;
  readonly mode: HookExecutionMode;
  readonly match?: HookMatch;
  /** How many calls are under way and wait, where that is bounded. */
  readonly concurrency?: { readonly running: number; readonly waiting: number; readonly max: number };
  /** How many calls after the verdict were dropped because too many waited; only of a detached hook. */
  readonly detached_dropped?: number;
  /** RFC 3339 time of the last call's end. */
  readonly last_fired?: string;
  /** How long its calls took, each of them off by at most 3.2%; absent before the first. */
  readonly latency_ms?: LatencyQuantiles;
  /** The last call that yielded no verdict; it stays when others have yielded one since. */
  readonly last_no_verdict?: LastNoVerdict;
  readonly events?: { readonly delivered: number; readonly dropped: number; readonly failed: number };
}

/** A call that yielded no verdict. */
export interface LastNoVerdict {
  /** RFC 3339. */
  readonly time: string;
  readonly point: string;
  readonly kind: NoVerdictKind;
  /** What happened, for people. At most 300 characters. */
  readonly error?: string;
}

/** How often a hook failed open at a point for one kind of no-verdict. */
export interface FailOpenCount {
  readonly point: string;
  readonly kind: NoVerdictKind;
  readonly count: number;
}

/** A hook as the chain of a point calls it, and whose it is. */
export interface MountedChainHook extends TrustedHook<Origin>, Selectable {
  readonly mounted: MountedHook;
}

/** Parts of a {@link MountedHook}. */
export interface MountedHookParts {
  readonly ranked: Ranked;
  readonly port: HookPort;
  readonly trust: Trust;
  readonly hooks: PointHooks;
  readonly operation: OperationOptions;
  readonly events: EventQueue | undefined;
  /** What is done after verdicts. */
  readonly later: BoundedQueue<() => Promise<void>>;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** The same hook in the manager before: its counters go on. */
  readonly kept?: MountedHook | undefined;
}

interface Counts {
  calls: number;
  verdicts: number;
  skipped: number;
  cached: number;
  lastFiredAtMs: number | undefined;
  lastNoVerdict: Failed | undefined;
  readonly latency: LatencyHistogram;
  readonly failedOpen: Map<string, FailOpenCount>;
  readonly noVerdicts: Partial<Record<NoVerdictKind, number>>;
}

function createCounts(): Counts {
  return {
    calls: 0,
    verdicts: 0,
    skipped: 0,
    cached: 0,
    lastFiredAtMs: undefined,
    lastNoVerdict: undefined,
    latency: new LatencyHistogram(),
    failedOpen: new Map(),
    noVerdicts: {},
  };
}

/** One hook in the manager: its place, its way of being called at each point, and its counters. */
export class MountedHook {
  readonly ranked: Ranked;
  readonly port: HookPort;
  readonly hooks: PointHooks;
  readonly events: EventQueue | undefined;
  readonly later: BoundedQueue<() => Promise<void>>;
  readonly #trust: Trust;
  readonly #log: Log;
  readonly #repeats: RepeatLog;
  readonly #operation: OperationOptions;
  readonly #chainHooks: ReadonlyMap<HookPoint, MountedChainHook>;
  readonly #counts: Counts;

  constructor({ ranked, port, trust, hooks, operation, events, later, log, now, kept }: MountedHookParts) {
    // Calls that began under the manager before are counted too.
    const counts = kept === undefined ? createCounts() : kept.#counts;
    this.#counts = counts;
    this.ranked = ranked;
    this.#trust = trust;
    this.port = port;
    this.events = events;
    this.later = later;
    this.#log = log;
    this.#repeats = new RepeatLog({ log, now });
    this.hooks = hooks;
    this.#operation = operation;
    const skip = (count: number): void => void (counts.skipped += count);
    const { matcher } = hooks;
    const { match = {} } = operation;
    const points = HOOK_POINTS.filter((point) => port.points.has(point) && uncarriedField(match, point) === undefined);
    this.#chainHooks = new Map(points.map((point) => [point, { ...hooks.at(point), matcher, skip, mounted: this }]));
  }

  /** The hook as the chain of a point calls it; undefined when it is not called there. */
  chainHook(point: HookPoint): MountedChainHook | undefined {
    return this.#chainHooks.get(point);
  }

  /** Counts what a record of the hook says. */
  count(record: HookRecord): void {
    const { outcome, kind, attempt, cached } = record;
    const counts = this.#counts;
    if (attempt > 0) {
      counts.calls += 1;
      counts.lastFiredAtMs = Date.now();
    }
    if (cached === true) counts.cached += 1;
    // What was cut short by another hook says nothing about this one.
    else if (attempt > 0 && outcome !== "superseded") counts.latency.add(record.ms);
    // The chain had ended before it could answer.
    if (outcome === "superseded") return;
    if (outcome === "no_verdict" && kind !== undefined) {
      this.#countFailure(record, kind);
      return;
    }
    counts.verdicts += 1;
    const { point, error } = record;
    if (kind === undefined) return;
    const fields = { hook: this.ranked.name, point, kind, error };
    this.#repeats.warn(`part ${point} ${kind}`, "a part of the hook's reply was not applied", fields);
  }

  #countFailure({ point, error, failed_open, would }: HookRecord, kind: NoVerdictKind): void {
    const counts = this.#counts;
    const { noVerdicts, failedOpen } = counts;
    noVerdicts[kind] = (noVerdicts[kind] ?? 0) + 1;
    counts.lastNoVerdict = { atMs: Date.now(), point, kind, ...(error !== undefined && { error }) };
    if (failed_open === true) {
      const key = `${point} ${kind}`;
      failedOpen.set(key, { point, kind, count: (failedOpen.get(key)?.count ?? 0) + 1 });
    }
    const effect = failed_open === true ? "skipped" : would === undefined ? "not skipped" : "only audited";
    const fields = { hook: this.ranked.name, point, kind, error, effect };
    this.#repeats.warn(`${point} ${kind} ${effect}`, "hook gave no verdict", fields);
  }

  status(): MountedHookStatus {
    const { mode = "enforce", match, detached, maxConcurrency } = this.#operation;
    const { gate } = this.hooks;
    const { calls, verdicts, skipped, cached, lastFiredAtMs, noVerdicts, failedOpen } = this.#counts;
    const failedOpenBy = [...failedOpen.values()];
    const latency = this.#counts.latency.quantiles();
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
      failed_open: failedOpenBy.reduce((sum, { count }) => sum + count, 0),
      failed_open_by: failedOpenBy,
      skipped,
      cached,
      mode,
      ...(match === undefined ? {} : { match }),
      ...(gate === undefined || maxConcurrency === undefined
        ? {}
        : { concurrency: { ...gate.counts, max: maxConcurrency } }),
      ...(detached === true ? { detached_dropped: this.later.droppedCount } : {}),
      ...(lastFiredAtMs === undefined ? {} : { last_fired: new Date(lastFiredAtMs).toISOString() }),
      ...(latency && { latency_ms: latency }),
      ...toLastNoVerdict(this.#counts.lastNoVerdict),
      ...(this.events === undefined ? {} : { events: this.events.counts }),
    };
  }

  /** Closes the hook; what goes wrong is logged, for the hook is gone either way. */
  async close(): Promise<void> {
    this.events?.close();
    this.later.close();
    this.#repeats.flush();
    try {
      await this.port.close();
    } catch (error) {
      this.#log.warn("hook did not close cleanly", { hook: this.ranked.name, error: String(error).slice(0, 200) });
    }
  }
}

type Failed = Omit<LastNoVerdict, "time"> & { readonly atMs: number };

function toLastNoVerdict(failed: Failed | undefined): Pick<MountedHookStatus, "last_no_verdict"> {
  if (failed === undefined) return {};
  const { atMs, ...rest } = failed;
  return { last_no_verdict: { time: new Date(atMs).toISOString(), ...rest } };
}
