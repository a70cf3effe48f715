import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { HookRecord, ObservedDecision, OnDecision } from "../../src/chain/index.ts";
import type { GatewayHook, MetricsPage } from "../../src/gateway/index.ts";
import type { RecorderStatus } from "../../src/records/index.ts";

/** Options of {@link createMetrics}. */
export interface MetricsOptions {
  /** The mounted hooks, looked at when metrics are read. */
  readonly hooks: () => readonly GatewayHook[];
  /** How the recording of decisions is going. @default there is none */
  readonly recorderStatus?: (() => RecorderStatus) | undefined;
  /** How many requests are under way. @default not counted */
  readonly callsInFlight?: (() => number) | undefined;
}

/** Counts of decisions, and the page that shows them. */
export interface Metrics extends MetricsPage {
  /** Counts a decision. */
  readonly onDecision: OnDecision;
}

/** In seconds: from a hook in this process to one that asks a person. */
const BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60];

/** How many hooks have labels of their own; what later ones do is counted for the hook `other`. */
const MAX_HOOKS = 200;

/** The names of what is counted are documented in docs/operations.md, "Metrics". */
export function createMetrics({ hooks, recorderStatus, callsInFlight }: MetricsOptions): Metrics {
  const registry = new Registry();
  const counted = new DecisionCounts(registry);
  addHookGauges(registry, hooks);
  if (callsInFlight !== undefined) addInFlight(registry, callsInFlight);
  if (recorderStatus !== undefined) addRecordGauges(registry, recorderStatus);
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    onDecision: (decision) => counted.add(decision),
  };
}

/** Counts of one set of labels. */
interface Count {
  /** Those that prom-client has not been told of. */
  untold: number;
}

/** Counts a call at the price of an addition: prom-client is told when somebody looks. */
class LazyCounter {
  readonly #counts = new Map<string, Count & { readonly labels: Readonly<Record<string, string>> }>();

  constructor(registry: Registry, config: { readonly name: string; readonly help: string; labelNames: string[] }) {
    const counts = this.#counts;
    const counter: Counter = new Counter({
      ...config,
      registers: [registry],
      collect(): void {
        for (const count of counts.values()) {
          if (count.untold > 0) counter.inc(count.labels, count.untold);
          count.untold = 0;
        }
      },
    });
  }

  at(labels: Readonly<Record<string, string>>): Count {
    return getOrMake(this.#counts, JSON.stringify(labels), () => ({ labels, untold: 0 }));
  }
}

/** Durations of one set of labels. */
class Durations {
  readonly labels: Readonly<Record<string, string>>;
  /** How many were in each bucket, and in none. */
  readonly counts: number[] = [...BUCKETS, Infinity].map(() => 0);
  sum = 0;

  constructor(labels: Readonly<Record<string, string>>) {
    this.labels = labels;
  }

  add(ms: number): void {
    const seconds = ms / 1000;
    let index = 0;
    while (index < BUCKETS.length && seconds > (BUCKETS[index] ?? Infinity)) index += 1;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += seconds;
  }
}

/** A histogram that is only put together when somebody looks. */
class LazyHistogram extends Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #durations = new Map<string, Durations>();

  constructor(registry: Registry, config: { readonly name: string; readonly help: string; labelNames: string[] }) {
    super({ ...config, buckets: BUCKETS, registers: [registry] });
    this.#name = config.name;
    this.#help = config.help;
  }

  at(labels: Readonly<Record<string, string>>): Durations {
    return getOrMake(this.#durations, JSON.stringify(labels), () => new Durations(labels));
  }

  /** What `get` and the registry ask for; it is not among prom-client's types. */
  getForPromString(): object {
    const values = [...this.#durations.values()].flatMap((durations) => this.#valuesOf(durations));
    return { name: this.#name, help: this.#help, type: "histogram", values, aggregator: "sum" };
  }

  #valuesOf({ labels, counts, sum }: Durations): readonly object[] {
    let total = 0;
    const buckets = counts.map((count, index) => {
      total += count;
      return { metricName: `${this.#name}_bucket`, labels: { ...labels, le: BUCKETS[index] ?? "+Inf" }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${this.#name}_sum`, labels, value: sum },
      { metricName: `${this.#name}_count`, labels, value: total },
    ];
  }
}

function getOrMake<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

interface PointCounts {
  readonly durations: Durations;
  readonly actions: Map<string, Count>;
  readonly hooks: Map<string, HookCounts>;
}

interface HookCounts {
  readonly durations: Durations;
  readonly verdicts: Map<string, Count>;
}

class DecisionCounts {
  readonly #decisions: LazyCounter;
  readonly #verdicts: LazyCounter;
  readonly #noVerdicts: LazyCounter;
  readonly #failOpens: LazyCounter;
  readonly #pointSeconds: LazyHistogram;
  readonly #hookSeconds: LazyHistogram;
  readonly #names = new Set<string>();
  readonly #points = new Map<string, PointCounts>();

  constructor(registry: Registry) {
    const hook = ["hook", "point"];
    this.#decisions = new LazyCounter(registry, {
      name: "hookgate_decisions_total",
      help: "Decisions by point and action.",
      labelNames: ["point", "action"],
    });
    this.#verdicts = new LazyCounter(registry, {
      name: "hookgate_verdicts_total",
      help: "Hook calls that gave a verdict.",
      labelNames: [...hook, "outcome"],
    });
    this.#noVerdicts = new LazyCounter(registry, {
      name: "hookgate_no_verdicts_total",
      help: "Hook calls that gave no verdict.",
      labelNames: [...hook, "kind"],
    });
    this.#failOpens = new LazyCounter(registry, {
      name: "hookgate_fail_open_total",
      help: "Hook calls without a verdict after which the chain went on.",
      labelNames: [...hook, "kind"],
    });
    this.#pointSeconds = new LazyHistogram(registry, {
      name: "hookgate_point_duration_seconds",
      help: "How long a decision took.",
      labelNames: ["point"],
    });
    this.#hookSeconds = new LazyHistogram(registry, {
      name: "hookgate_hook_duration_seconds",
      help: "How long a hook call took.",
      labelNames: hook,
    });
  }

  add({ point, action, ms, records }: ObservedDecision): void {
    const counts = getOrMake(this.#points, point, () => ({
      durations: this.#pointSeconds.at({ point }),
      actions: new Map<string, Count>(),
      hooks: new Map<string, HookCounts>(),
    }));
    getOrMake(counts.actions, action, () => this.#decisions.at({ point, action })).untold += 1;
    counts.durations.add(ms);
    for (const record of records) {
      // A hook that was not called is no call.
      if (record.attempt > 0) this.#addCall(counts, point, record);
    }
  }

  #addCall({ hooks }: PointCounts, point: string, { hook: name, outcome, kind, failed_open, ms }: HookRecord): void {
    const hook = this.#bounded(name);
    const counts = getOrMake(hooks, hook, () => ({
      durations: this.#hookSeconds.at({ hook, point }),
      verdicts: new Map<string, Count>(),
    }));
    counts.durations.add(ms);
    if (outcome !== "no_verdict" || kind === undefined) {
      getOrMake(counts.verdicts, outcome, () => this.#verdicts.at({ hook, point, outcome })).untold += 1;
      return;
    }
    this.#noVerdicts.at({ hook, point, kind }).untold += 1;
    if (failed_open === true) this.#failOpens.at({ hook, point, kind }).untold += 1;
  }

  /** Names come from configs, but hooks may be registered while the gateway runs. */
  #bounded(hook: string): string {
    if (this.#names.has(hook)) return hook;
    if (this.#names.size >= MAX_HOOKS) return "other";
    this.#names.add(hook);
    return hook;
  }
}

const STATES = ["starting", "ready", "backing_off", "failed", "closed"];

function addHookGauges(registry: Registry, hooks: () => readonly GatewayHook[]): void {
  const registers = [registry];
  const state = new Gauge({
    name: "hookgate_hook_state",
    help: "1 for the state a hook is in.",
    labelNames: ["hook", "state"],
    registers,
    collect() {
      state.reset();
      for (const hook of hooks().slice(0, MAX_HOOKS)) {
        for (const name of STATES) state.set({ hook: hook.name, state: name }, Number(hook.state === name));
      }
    },
  });
  const circuit = new Gauge({
    name: "hookgate_circuit_open",
    help: "1 while calls to a hook are refused because the last ones gave no verdict.",
    labelNames: ["hook"],
    registers,
    collect() {
      circuit.reset();
      for (const hook of hooks().slice(0, MAX_HOOKS)) {
        const isOpen: unknown = Reflect.get(hook, "circuitOpen");
        if (typeof isOpen === "boolean") circuit.set({ hook: hook.name }, Number(isOpen));
      }
    },
  });
  const events = new Gauge({
    name: "hookgate_events",
    help: "Events for an observer since it was mounted: delivered, dropped because it did not keep up, or failed.",
    labelNames: ["hook", "result"],
    registers,
    collect() {
      events.reset();
      for (const { name: hook, events: counts } of hooks().slice(0, MAX_HOOKS)) {
        for (const [result, count] of Object.entries(counts ?? {})) events.set({ hook, result }, count);
      }
    },
  });
}

function addInFlight(registry: Registry, callsInFlight: () => number): void {
  const inFlight: Gauge = new Gauge({
    name: "hookgate_requests_in_flight",
    help: "Requests to /rpc that are under way.",
    registers: [registry],
    collect(): void {
      inFlight.set(callsInFlight());
    },
  });
}

function addRecordGauges(registry: Registry, status: () => RecorderStatus): void {
  const registers = [registry];
  const waiting: Gauge = new Gauge({
    name: "hookgate_records_waiting",
    help: "Decisions no record is made of yet.",
    registers,
    collect(): void {
      waiting.set(status().waiting);
    },
  });
  const dropped: Gauge = new Gauge({
    name: "hookgate_records_dropped",
    help: "Decisions that no record was made of since the start: there were too many at once.",
    registers,
    collect(): void {
      dropped.set(status().dropped);
    },
  });
  const sink = new Gauge({
    name: "hookgate_record_sink_records",
    help: "Records of a sink since the start: written, lost, or waiting now.",
    labelNames: ["sink", "result"],
    registers,
    collect() {
      for (const { name, written, lost, waiting: left } of status().sinks) {
        sink.set({ sink: name, result: "written" }, written);
        sink.set({ sink: name, result: "lost" }, lost);
        sink.set({ sink: name, result: "waiting" }, left);
      }
    },
  });
  const failing = new Gauge({
    name: "hookgate_record_sink_failing",
    help: "1 while a sink cannot be written to.",
    labelNames: ["sink"],
    registers,
    collect() {
      for (const { name, state } of status().sinks) failing.set({ sink: name }, Number(state === "failing"));
    },
  });
}
