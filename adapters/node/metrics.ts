import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { ObservedDecision, OnDecision } from "../../src/chain/index.ts";
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

class DecisionCounts {
  readonly #decisions: Counter;
  readonly #verdicts: Counter;
  readonly #noVerdicts: Counter;
  readonly #failOpens: Counter;
  readonly #pointSeconds: Histogram;
  readonly #hookSeconds: Histogram;
  readonly #names = new Set<string>();
  /** Looking a label up in prom-client costs more than counting it. */
  readonly #children = new Map<string, { inc(): void }>();
  readonly #timers = new Map<string, { observe(seconds: number): void }>();

  constructor(registry: Registry) {
    const registers = [registry];
    const point = ["point", "action"];
    const hook = ["hook", "point"];
    this.#decisions = new Counter({
      name: "hookgate_decisions_total",
      help: "Decisions by point and action.",
      labelNames: point,
      registers,
    });
    this.#verdicts = new Counter({
      name: "hookgate_verdicts_total",
      help: "Hook calls that gave a verdict.",
      labelNames: [...hook, "outcome"],
      registers,
    });
    this.#noVerdicts = new Counter({
      name: "hookgate_no_verdicts_total",
      help: "Hook calls that gave no verdict.",
      labelNames: [...hook, "kind"],
      registers,
    });
    this.#failOpens = new Counter({
      name: "hookgate_fail_open_total",
      help: "Hook calls without a verdict after which the chain went on.",
      labelNames: [...hook, "kind"],
      registers,
    });
    this.#pointSeconds = new Histogram({
      name: "hookgate_point_duration_seconds",
      help: "How long a decision took.",
      labelNames: ["point"],
      buckets: BUCKETS,
      registers,
    });
    this.#hookSeconds = new Histogram({
      name: "hookgate_hook_duration_seconds",
      help: "How long a hook call took.",
      labelNames: hook,
      buckets: BUCKETS,
      registers,
    });
  }

  add({ point, action, ms, records }: ObservedDecision): void {
    this.#count(this.#decisions, { point, action });
    this.#time(this.#pointSeconds, { point }, ms);
    for (const record of records) {
      const { attempt, outcome, kind, failed_open } = record;
      // A hook that was not called is no call.
      if (attempt === 0) continue;
      const hook = this.#bounded(record.hook);
      this.#time(this.#hookSeconds, { hook, point }, record.ms);
      if (outcome !== "no_verdict" || kind === undefined) this.#count(this.#verdicts, { hook, point, outcome });
      else {
        this.#count(this.#noVerdicts, { hook, point, kind });
        if (failed_open === true) this.#count(this.#failOpens, { hook, point, kind });
      }
    }
  }

  /** Names come from configs, but hooks may be registered while the gateway runs. */
  #bounded(hook: string): string {
    if (this.#names.has(hook)) return hook;
    if (this.#names.size >= MAX_HOOKS) return "other";
    this.#names.add(hook);
    return hook;
  }

  #count(counter: Counter, labels: Readonly<Record<string, string>>): void {
    const key = `${Reflect.get(counter, "name")} ${Object.values(labels).join(" ")}`;
    let child = this.#children.get(key);
    if (child === undefined) {
      child = counter.labels(labels);
      this.#children.set(key, child);
    }
    child.inc();
  }

  #time(histogram: Histogram, labels: Readonly<Record<string, string>>, ms: number): void {
    const key = Object.values(labels).join(" ");
    let child = this.#timers.get(key);
    if (child === undefined) {
      child = histogram.labels(labels);
      this.#timers.set(key, child);
    }
    child.observe(ms / 1000);
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
