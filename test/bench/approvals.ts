import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createRedisApprovalStore, createSqliteApprovalStore } from "../../adapters/node/index.ts";
import { type Approval, ApprovalManager, type ApprovalStore } from "../../src/approvals/index.ts";
import { startRedis } from "../adapters/node/redis-server.ts";
import { type BenchReport, median, toRatio } from "./report.ts";

const FEW = 100;
const MANY = 10_000;
const DECISIONS = 45;

interface Crowd {
  readonly approvals: ApprovalManager;
  readonly ids: readonly string[];
  readonly waits: readonly Promise<Approval>[];
  /** What each of those who wait takes, in bytes; only where the collector can be run. */
  readonly bytes: number;
}

/** As many approvals in a store, somebody waiting for each. */
async function openCrowd(store: ApprovalStore, size: number): Promise<Crowd> {
  const approvals = new ApprovalManager({ store });
  const ids: string[] = [];
  for (let index = 0; index < size; index += 1) {
    const { approval } = await approvals.ask({
      agent: "main",
      session: "s",
      tool: "bash",
      arguments: { command: `make target-${index}` },
      hook: "human_approval",
      reason: "it runs a command",
      require: 1,
      approvers: [],
      expiresMs: 3_600_000,
      useWithinMs: 3_600_000,
    });
    ids.push(approval.id);
  }
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const waits = ids.map((id) => approvals.wait(id, { timeoutMs: 3_600_000 }));
  // Every wait has looked at its approval: what is asked of one store is answered in order.
  for (let turn = 0; turn < 10; turn += 1) {
    await nextTurn();
    await store.health();
  }
  globalThis.gc?.();
  return { approvals, ids, waits, bytes: (process.memoryUsage().heapUsed - before) / size };
}

/** How long it takes to decide one and to wake who waits for it, in milliseconds. */
async function decideOne({ approvals, ids, waits }: Crowd, index: number): Promise<number> {
  const at = (index * 7919) % ids.length;
  const startedAtMs = performance.now();
  await approvals.decide(ids[at] ?? "", { by: "ann", how: "bench", decision: "approve" });
  await waits[at];
  return performance.now() - startedAtMs;
}

/** Deciding one of many approvals that wait, beside one of few. */
export async function benchApprovals(): Promise<readonly BenchReport[]> {
  const directory = await mkdtemp(join(tmpdir(), "hookgate-bench-"));
  const redis = await startRedis();
  const sqlite = (size: number): ApprovalStore => createSqliteApprovalStore({ path: join(directory, `${size}.db`) });
  const reports = [
    ...(await benchStore("SQLite", sqlite)),
    ...(await benchStore("Redis", () => createRedisApprovalStore({ url: redis.newUrl() }))),
  ];
  await redis.close();
  await rm(directory, { recursive: true });
  return reports;
}

async function benchStore(name: string, open: (size: number) => ApprovalStore): Promise<readonly BenchReport[]> {
  const crowds = [await openCrowd(open(FEW), FEW), await openCrowd(open(MANY), MANY)] as const;
  const times: readonly [number[], number[]] = [[], []];
  for (let index = 0; index < DECISIONS; index += 1) {
    for (const [which, crowd] of crowds.entries()) times[which]?.push(await decideOne(crowd, index));
  }
  for (const { approvals, waits } of crowds) {
    approvals.release();
    await Promise.all(waits);
    await approvals.close();
  }
  const [few, many] = [`${FEW} pending`, `${MANY} pending`];
  const rows = [
    { name: few, value: median(times[0]) },
    { name: many, value: median(times[1]) },
  ];
  const waiting = { name: "one that waits", value: crowds[1].bytes };
  const bound = { name: "10 KB", value: 10_240 };
  return [
    {
      title: `deciding an approval in ${name} and waking who waits, ms`,
      rows,
      ratios: [toRatio(rows, { of: many, to: few, atMost: 1.5 })],
    },
    {
      title: `memory of those who wait for approvals in ${name}, bytes`,
      rows: [waiting, bound],
      ratios: [toRatio([waiting, bound], { of: waiting.name, to: bound.name, atMost: 1 })],
    },
  ];
}
