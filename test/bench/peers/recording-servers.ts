/**
 * The servers of the records bench, in a process of their own: prints their URLs as one line of JSON and serves until its
 * stdin ends, then prints how recording went. For each line on stdin it prints the CPU time it has used so far.
 * @module
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { createMetrics } from "../../../adapters/node/metrics.ts";
import { createOtelTracer } from "../../../adapters/node/otel-tracer.ts";
import { serveGateway } from "../../../adapters/node/serve.ts";
import { createThreadRecorder } from "../../../adapters/node/thread-recorder.ts";
import { createGateway } from "../../../src/gateway/index.ts";
import { type HookManager, HookManager as Manager } from "../../../src/picoclaw/index.ts";

const dir = await mkdtemp(join(tmpdir(), "hookgate-bench-"));
const recording = createThreadRecorder({ sqlite: { path: join(dir, "records.db"), maxRecords: 1_000_000 } });
const recordersStatus = (): ReturnType<typeof recording.status> => recording.status();
const metrics = createMetrics({ hooks: () => recorded.hooks(), recorderStatus: recordersStatus });
const record = recording.toObserver();
const plain = new Manager();
const recorded: HookManager = new Manager({
  tracer: createOtelTracer(),
  onDecision(decision) {
    metrics.onDecision(decision);
    record(decision);
  },
});
for (const host of [plain, recorded])
  await host.mount({ beforeTool: () => ({ action: "continue" }) }, { name: "bench" });
const off = await serveGateway(createGateway({ host: plain, hooks: () => plain.hooks() }), { port: 0 });
const pages = { recording, records: recording.store, metrics };
const on = await serveGateway(createGateway({ host: recorded, hooks: () => recorded.hooks(), ...pages }), { port: 0 });

process.stdout.write(`${JSON.stringify({ off: off.url, on: on.url })}\n`);
const toMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;
for await (const _ of createInterface(process.stdin)) {
  // What was decided is recorded before the next one begins, and is counted where it belongs.
  await recording.flush();
  const used = { mainMs: toMs(process.threadCpuUsage()), allMs: toMs(process.cpuUsage()) };
  process.stdout.write(`${JSON.stringify(used)}\n`);
}
await recording.close();
process.stdout.write(`${JSON.stringify(recording.status())}\n`);
await rm(dir, { recursive: true, force: true });
process.exit();
