import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createGateway, createOtelTracer, createSqliteSink } from "../../adapters/node/index.ts";
import { LatencyHistogram } from "../../src/chain/index.ts";
import { HookManager } from "../../src/picoclaw/index.ts";
import { Recorder, type RecordStore } from "../../src/records/index.ts";
import { decision, sha256 } from "../records/fixtures.ts";
import { measure, toContestant } from "./gateway.ts";
import { type BenchReport, type BenchRow, measureRates, median, toRatio } from "./report.ts";

const SERVERS = fileURLToPath(new URL("peers/recording-servers.ts", import.meta.url));
const OFF = "records, metrics and tracer off";
const ON = "records to SQLite, metrics and tracer on";
const RECORD_COUNT = 100_000;

/** What recording costs the calls that are recorded, and what a page of many records costs. */
export async function benchRecords(): Promise<readonly BenchReport[]> {
  return [...(await benchThroughput()), await benchPages(), await benchTracer(), await benchLatency()];
}

/** What a round of calls took. */
interface Round {
  readonly callsPerSecond: number;
  /** CPU time a call, in microseconds: of the thread that answers, and of the process with its thread of records. */
  readonly mainUs: number;
  readonly allUs: number;
}

async function benchThroughput({ roundCount = 15, callCount = 4000 } = {}): Promise<readonly BenchReport[]> {
  const child = spawn(process.execPath, [SERVERS], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const read = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
  const ask = async (): Promise<{ readonly mainMs: number; readonly allMs: number }> => {
    child.stdin.write("cpu\n");
    return (await read()) as { readonly mainMs: number; readonly allMs: number };
  };
  const urls = (await read()) as { readonly off: string; readonly on: string };
  const contestants = [toContestant(OFF, urls.off), toContestant(ON, urls.on)];
  const samples = contestants.map((): Round[] => []);
  for (const contestant of contestants) await measure(contestant, 2 * callCount);
  for (let round = 0; round < roundCount; round += 1) {
    for (const [index, contestant] of contestants.entries()) {
      const before = await ask();
      const callsPerSecond = await measure(contestant, callCount);
      const after = await ask();
      const toUs = (key: "mainMs" | "allMs"): number => ((after[key] - before[key]) * 1000) / callCount;
      samples[index]?.push({ callsPerSecond, mainUs: toUs("mainMs"), allUs: toUs("allMs") });
    }
  }
  child.stdin.end();
  const { sinks } = (await read()) as { readonly sinks: readonly { written: number; lost: number }[] };
  await once(child, "exit");
  return toReports(samples, { written: sinks[0]?.written ?? 0, lost: sinks[0]?.lost ?? 0 });
}

function toReports(
  [off = [], on = []]: readonly (readonly Round[])[],
  { written, lost }: { readonly written: number; readonly lost: number },
): readonly BenchReport[] {
  const rowsOf = (key: keyof Round): BenchRow[] => [
    { name: OFF, value: median(off.map((round) => round[key])) },
    { name: ON, value: median(on.map((round) => round[key])) },
  ];
  // Each round is compared with the one beside it: what else the machine does changes from round to round.
  const ratioOf = (key: keyof Round): number => median(off.map((round, index) => (on[index]?.[key] ?? 0) / round[key]));
  return [
    {
      title: "hook.before_tool over HTTP with one in-process hook, calls/s",
      rows: [
        ...rowsOf("callsPerSecond"),
        { name: "records written", value: written },
        { name: "records lost", value: lost },
      ],
      ratios: [{ of: ON, to: OFF, ratio: ratioOf("callsPerSecond"), atLeast: 0.85 }],
    },
    {
      title: "the same, CPU of the thread that answers, us a call",
      rows: rowsOf("mainUs"),
      ratios: [{ of: ON, to: OFF, ratio: ratioOf("mainUs"), atMost: 1 / 0.85 }],
    },
    {
      title: "the same, CPU of the process with its thread of records, us a call",
      rows: rowsOf("allUs"),
      ratios: [{ of: ON, to: OFF, ratio: ratioOf("allUs") }],
    },
  ];
}

/** The same questions of many records and of few: what is read off an index takes as long of both. */
async function benchPages(): Promise<BenchReport> {
  const [many, few] = [await fillStore(RECORD_COUNT), await fillStore(1000)];
  const asked = { tool: "tool0", outcome: "deny_tool" };
  const questions: readonly (readonly [name: string, ask: (stage: PageStage) => Promise<unknown>])[] = [
    ["newest page", ({ store }) => store.list({ maxRecords: 50 })],
    ["page in the middle", ({ store, count }) => store.list({ maxRecords: 50, cursor: String(count / 2) })],
    ["page of a session", ({ store }) => store.list({ maxRecords: 50, session: "s7" })],
    ["page of a tool", ({ store }) => store.list({ maxRecords: 50, tool: "tool7" })],
    ["page of an outcome", ({ store }) => store.list({ maxRecords: 50, outcome: "deny_tool" })],
    ["a tool and an outcome", ({ store }) => store.list({ maxRecords: 50, ...asked })],
    ["since a time to come", ({ store }) => store.list({ maxRecords: 50, sinceMs: Date.UTC(2027, 0, 1) })],
    ["GET /v1/records", ({ get }) => get("/v1/records")],
    ["GET / (the status page)", ({ get }) => get("/")],
    ["GET /?tool=tool7", ({ get }) => get("/?tool=tool7")],
  ];
  const rows = await measureRates(
    questions.flatMap(([name, ask]) => [
      { name, run: () => ask(many) },
      { name: `${name}, of ${few.count}`, run: () => ask(few) },
    ]),
  );
  for (const { close } of [many, few]) await close();
  const ratios = ["GET /v1/records", "GET / (the status page)"].map((name) =>
    toRatio(rows, { of: name, to: `${name}, of ${few.count}`, atLeast: 0.4 }),
  );
  return { title: `pages of ${RECORD_COUNT} records in SQLite, pages/s`, rows, ratios };
}

interface PageStage {
  readonly count: number;
  readonly store: RecordStore;
  readonly get: (path: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

async function fillStore(count: number): Promise<PageStage> {
  const dir = await mkdtemp(join(tmpdir(), "hookgate-bench-"));
  const store = createSqliteSink({ path: join(dir, "records.db") });
  const recorder = new Recorder({ sinks: [store], hash: sha256, sliceMs: 50 });
  const observe = recorder.toObserver();
  for (let made = 1; made <= count; made += 1) {
    const meta = { SessionKey: `s${made % 500}` };
    const input = { meta, tool: `tool${made % 50}` };
    observe(decision({ input, action: made % 100 === 0 ? "deny_tool" : "continue" }));
    if (made % 5000 === 0) await recorder.flush();
  }
  await recorder.flush();
  const host = new HookManager();
  const gateway = createGateway({ host, hooks: () => host.hooks(), recording: recorder, records: store });
  return {
    count,
    store,
    get: async (path) => (await gateway.fetch(new Request(`http://127.0.0.1${path}`))).text(),
    async close() {
      await recorder.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** What it costs each call that its duration is counted. */
async function benchLatency(): Promise<BenchReport> {
  const host = new HookManager();
  await host.mount({ beforeTool: () => ({ action: "continue" }) }, { name: "bench" });
  const histogram = new LatencyHistogram();
  const [counting, calling] = ["1000 durations counted", "one call of an in-process hook"] as const;
  const durations = Float64Array.from({ length: 1000 }, (_, index) => (index * 0.137) % 90);
  const rows = await measureRates([
    {
      name: counting,
      async run() {
        for (const ms of durations) histogram.add(ms);
      },
    },
    { name: calling, run: () => host.beforeTool({ tool: "bash", arguments: { command: "ls" } }) },
  ]);
  // A thousand of them take as long as a few calls.
  const ratio = toRatio(rows, { of: counting, to: calling, atLeast: 0.1 });
  return { title: "counting how long calls take, runs/s", rows, ratios: [ratio] };
}

async function benchTracer(): Promise<BenchReport> {
  const none = new HookManager();
  const idle = new HookManager({ tracer: createOtelTracer() });
  for (const host of [none, idle]) await host.mount({ beforeTool: () => ({ action: "continue" }) }, { name: "bench" });
  const call = { tool: "bash", arguments: { command: "ls" } };
  const [without, withIdle] = ["no tracer", "a tracer without an SDK"];
  const rows = await measureRates([
    { name: without ?? "", run: () => none.beforeTool(call) },
    { name: withIdle ?? "", run: () => idle.beforeTool(call) },
  ]);
  const ratio = toRatio(rows, { of: withIdle ?? "", to: without ?? "", atLeast: 0.9 });
  return { title: "before_tool in this process, calls/s", rows, ratios: [ratio] };
}
