import { createServer } from "node:http";
import { nodeHookPorts } from "../../adapters/node/hook-ports.ts";
import { createManagerFromConfig, parseConfig } from "../../src/config/index.ts";
import { silentLog } from "../../src/log.ts";
import { createBuiltinRegistry, type Hook, HookManager } from "../../src/picoclaw/index.ts";
import { type BenchReport, measureRates, median, toRatio } from "./report.ts";

const CALL = { tool: "exec", arguments: { command: "ls" }, channel: "cli" };

/** A hook as most are: it looks, and changes nothing. */
const look: Hook = { beforeTool: async () => undefined };

async function withUnmatched(count: number, field: "tool" | "session"): Promise<HookManager> {
  const manager = new HookManager();
  await manager.mount(look, { name: "look" });
  for (let index = 0; index < count; index += 1) {
    await manager.mount(look, { name: `other-${index}`, match: { [field]: [`other_${index}_*`, "never"] } });
  }
  return manager;
}

/** One hook that is called, alone and beside a hundred that are not. */
async function benchUnmatched(
  field: "tool" | "session",
  { sessionCount, title }: { readonly sessionCount: number; readonly title: string },
): Promise<BenchReport> {
  const alone = await withUnmatched(0, field);
  const crowd = await withUnmatched(100, field);
  const sessions = Array.from({ length: sessionCount }, (_, index) => ({ SessionKey: `session ${index}` }));
  let count = 0;
  const call = (): object => ({ ...CALL, meta: sessions[count++ % sessionCount] });
  const rates = await measureRates([
    { name: "one hook", run: () => alone.beforeTool(call() as typeof CALL) },
    { name: "and 100 unmatched", run: () => crowd.beforeTool(call() as typeof CALL) },
  ]);
  return {
    title: `a hundred hooks not matched by ${field}${title}, calls/s`,
    rows: rates,
    ratios: [toRatio(rates, { of: "and 100 unmatched", to: "one hook", atLeast: sessionCount > 1 ? 0.85 : 0.9 })],
  };
}

const now = (): number => performance.now();

const DELAYS_MS = [20, 40, 60, 80];
const ROUNDS = 9;

/** Approvers over HTTP, of which the slowest says how long all of them may take together. */
async function benchParallel(): Promise<BenchReport> {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      const { id } = JSON.parse(text) as { readonly id: string };
      const delayMs = Number(new URL(request.url ?? "/", "http://localhost").searchParams.get("ms"));
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result: { approved: true } });
      setTimeout(() => response.setHeader("content-type", "application/json").end(answer), delayMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const start = async (delaysMs: readonly number[], parallel: boolean): Promise<HookManager> => {
    const entry = { enabled: true, transport: "http", unsigned: true, handshake: "none", intercept: ["approve_tool"] };
    const processes = Object.fromEntries(
      delaysMs.map((ms) => [`a${ms}`, { ...entry, parallel, url: `http://127.0.0.1:${port}/?ms=${ms}` }]),
    );
    const builtins = createBuiltinRegistry();
    const config = parseConfig(JSON.stringify({ hooks: { processes } }), { env: {}, builtins });
    return (await createManagerFromConfig(config, { ...nodeHookPorts, builtins, log: silentLog, now })).manager;
  };
  const contestants = {
    "the slowest alone": await start(DELAYS_MS.slice(-1), false),
    "four in parallel": await start(DELAYS_MS, true),
    "four in turn": await start(DELAYS_MS, false),
  };
  const times = new Map(Object.keys(contestants).map((name): [string, number[]] => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, manager] of Object.entries(contestants)) {
      const startedAtMs = performance.now();
      const { approved } = await manager.approveTool(CALL);
      if (!approved) throw new Error(`${name}: not approved`);
      times.get(name)?.push(performance.now() - startedAtMs);
    }
  }
  await Promise.all(Object.values(contestants).map((manager) => manager.close()));
  server.close();
  const rows = [...times].map(([name, all]) => ({ name, value: median(all) }));
  return {
    title: `approvers over HTTP that take ${DELAYS_MS.join(", ")} ms, ms`,
    rows,
    ratios: [toRatio(rows, { of: "four in parallel", to: "the slowest alone", atMost: 1.15 })],
  };
}

/** What hooks that are not matched cost, and what approvers cost that are asked at once. */
export async function benchPolicy(): Promise<readonly BenchReport[]> {
  return [
    await benchUnmatched("tool", { sessionCount: 1, title: "" }),
    await benchUnmatched("session", { sessionCount: 1, title: "" }),
    await benchUnmatched("session", { sessionCount: 300, title: ", of 300 sessions in turn" }),
    await benchUnmatched("session", { sessionCount: 100_000, title: ", of sessions never seen before" }),
    await benchParallel(),
  ];
}
