import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleWorker } from "../adapters/cloudflare/bundle.ts";
import { type BenchReport, median, toRatio } from "./report.ts";

const WORKERD = join(import.meta.dirname, "../../node_modules/.bin/workerd");
const ROUNDS = 7;

const EMPTY = "a Worker that answers a constant, ms";
const HOOKGATE = "hookgate's gateway, ms";

const CONFIG = { hooks: { builtins: { deny_tools: { enabled: true, config: { tools: ["format_disk"] } } } } };
const CALL = '{"jsonrpc":"2.0","id":1,"method":"hook.check_tool","params":{"tool":"format_disk","arguments":{}}}';

const CAPNP = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
  bindings = [
    (name = "HOOKGATE_DEV", text = "1"),
    (name = "HOOKGATE_CONFIG", json = ${JSON.stringify(JSON.stringify(CONFIG))}),
  ],
);
`;

/** From the start of the process to the end of the first answer, in milliseconds. */
async function measure(dir: string): Promise<number> {
  const startedAtMs = performance.now();
  const child = spawn(WORKERD, ["serve", "--control-fd=3", join(dir, "worker.capnp")], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const control = child.stdio[3];
  if (control === undefined || control === null) throw new Error("workerd has no control pipe");
  const [line] = (await once(control, "data")) as [Buffer];
  const port = /"port":(\d+)/.exec(line.toString())?.[1] ?? "";
  const reply = await fetch(`http://127.0.0.1:${port}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: CALL,
  });
  const text = await reply.text();
  const ms = performance.now() - startedAtMs;
  child.kill("SIGKILL");
  await once(child, "close");
  if (!text.includes("deny_tool")) throw new Error(`not the answer that was asked for: ${text}`);
  return ms;
}

/** How long the bundled gateway takes from nothing to its first answer, next to a Worker that holds no code. */
export async function benchWorker(): Promise<readonly BenchReport[]> {
  const { script, minifiedBytes, gzipBytes } = await bundleWorker("adapters/cloudflare/worker.ts");
  const contestants = [
    { name: EMPTY, script: 'export default { fetch: () => new Response("deny_tool") };' },
    { name: HOOKGATE, script },
  ];
  const dirs: string[] = [];
  for (const contestant of contestants) {
    const dir = await mkdtemp(join(tmpdir(), "hookgate-bench-"));
    await writeFile(join(dir, "worker.js"), contestant.script);
    await writeFile(join(dir, "worker.capnp"), CAPNP);
    dirs.push(dir);
  }
  const samples = contestants.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, dir] of dirs.entries()) samples[index]?.push(await measure(dir));
  }
  for (const dir of dirs) await rm(dir, { recursive: true });
  const rows = contestants.map(({ name }, index) => ({ name, value: median(samples[index] ?? []) }));
  const size = `${Math.round(minifiedBytes / 1024)} KiB minified, ${Math.round(gzipBytes / 1024)} KiB gzip`;
  return [
    {
      title: `cold start in workerd: from the start of the process to the first decision (${size})`,
      rows,
      ratios: [toRatio(rows, { of: HOOKGATE, to: EMPTY })],
    },
  ];
}
