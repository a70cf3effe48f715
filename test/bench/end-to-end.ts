import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Contestant, measure, toContestant } from "./gateway.ts";
import { createHttpBenchKeys } from "./http-keys.ts";
import { type BenchReport, median } from "./report.ts";

const PROGRAM = fileURLToPath(new URL("../../adapters/node/bin.ts", import.meta.url));
const ENDPOINTS = fileURLToPath(new URL("peers/http-endpoints.ts", import.meta.url));
const PROXY = fileURLToPath(new URL("peers/http-proxy.ts", import.meta.url));
const BARE = "bare Hono proxy with undici, unsigned";
const GATEWAY = "hookgate gateway, one HS256 hook";
const CONNECTIONS = 64;

type Child = ChildProcessByStdio<Writable, Readable, null>;

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
  return spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
}

/** The first line a process prints that holds a URL of this machine. */
async function readUrls(child: Child): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout) {
    text += String(chunk);
    const line = text.split("\n").find((one) => one.includes("http://127.0.0.1:"));
    if (line !== undefined && text.endsWith("\n")) return line;
  }
  throw new Error(`no URL was printed: ${text}`);
}

/** A port that was free a moment ago: the endpoint's URL has to be known before it listens. */
async function takePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function toConfig(url: string): string {
  const hook = {
    url,
    endpoint: "endpoint",
    intercept: ["before_tool"],
    secret: "${env:BENCH_SECRET}",
  };
  const hooks = { enabled: true, processes: { bench: { enabled: true, transport: "http", ...hook } } };
  return JSON.stringify({ hooks, gateway: { id: "gateway" } });
}

/** A gateway that answers without its hook would be measured as a fast one. */
async function assertAsked(url: string): Promise<void> {
  const params = { tool: "x", arguments: {} };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.before_tool", params });
  const headers = { "content-type": "application/json" };
  const reply: unknown = await (await fetch(`${url}/rpc`, { method: "POST", headers, body })).json();
  const text = JSON.stringify(reply);
  if (!text.includes('"outcome":"continue"')) throw new Error(`the hook gave no verdict: ${text}`);
}

/** Calls a second over 64 connections, and what one call more takes at the median, in microseconds. */
async function sample(contestant: Contestant, callCount: number): Promise<{ perSecond: number; p50Us: number }> {
  const perSecond = await measure(contestant, callCount);
  const alone: number[] = [];
  for (let burst = 0; burst < 10; burst += 1) {
    alone.push(1e6 / (await measure(contestant, callCount / 40, 1)));
  }
  return { perSecond, p50Us: median(alone) };
}

/**
 * Client, gateway and one signed hook over HTTP, each in a process of its own, next to a bare proxy that hands the same
 * JSON on to the same hook unsigned.
 */
export async function benchEndToEnd({ roundCount = 9, callCount = 4000 } = {}): Promise<readonly BenchReport[]> {
  const keys = { ...(await createHttpBenchKeys()), gatewayUrl: `http://127.0.0.1:${await takePort()}/` };
  const endpoints = start([ENDPOINTS]);
  endpoints.stdin.end(JSON.stringify(keys));
  const urls = JSON.parse(await readUrls(endpoints)) as Readonly<Record<string, string>>;
  const folder = await mkdtemp(join(tmpdir(), "hookgate-bench-"));
  const file = join(folder, "hooks.json");
  await writeFile(file, toConfig(keys.gatewayUrl));
  const gateway = start([PROGRAM, "serve", "--config", file, "--port", "0"], { BENCH_SECRET: keys.secret });
  const proxy = start([PROXY, urls["unsigned"] ?? ""]);
  const gatewayUrl = /http:\/\/[\d.:]+/.exec(await readUrls(gateway))?.[0] ?? "";
  await assertAsked(gatewayUrl);
  const contestants = [toContestant(BARE, await readUrls(proxy)), toContestant(GATEWAY, gatewayUrl)];
  const samples = contestants.map((): { perSecond: number; p50Us: number }[] => []);
  for (const contestant of contestants) await measure(contestant, 3 * callCount);
  for (let round = 0; round < roundCount; round += 1) {
    for (const [index, contestant] of contestants.entries()) samples[index]?.push(await sample(contestant, callCount));
  }
  for (const child of [proxy, gateway, endpoints]) child.kill();
  await rm(folder, { recursive: true });
  const [bare = [], own = []] = samples;
  const compare = (key: "perSecond" | "p50Us"): number =>
    median(own.map((one, round) => one[key] / (bare[round]?.[key] ?? Number.NaN)));
  const toRows = (key: "perSecond" | "p50Us") =>
    contestants.map(({ name }, index) => ({ name, value: median((samples[index] ?? []).map((one) => one[key])) }));
  return [
    {
      title: `client, gateway, one hook over HTTP: ${CONNECTIONS} connections, calls/s`,
      rows: toRows("perSecond"),
      ratios: [{ of: GATEWAY, to: BARE, ratio: compare("perSecond"), atLeast: 0.6 }],
    },
    {
      title: "client, gateway, one hook over HTTP: one call at a time, microseconds",
      rows: [
        ...toRows("p50Us"),
        { name: "added by the gateway", value: median(own.map((one, round) => one.p50Us - (bare[round]?.p50Us ?? 0))) },
      ],
      ratios: [{ of: GATEWAY, to: BARE, ratio: compare("p50Us") }],
    },
  ];
}
