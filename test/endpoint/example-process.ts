import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { build } from "esbuild";
import { ENV } from "./gateway-side.ts";

const ROOT = join(import.meta.dirname, "../..");
const BIN = join(ROOT, "node_modules/.bin");

/** An example that listens, as a process of its own. */
export interface ExampleProcess {
  readonly url: string;
  /** Everything it has written so far. */
  output(): string;
  /** Resolves once it has written this. */
  seen(text: string): Promise<void>;
  close(): Promise<void>;
}

/** The environment without what vitest adds to it: an example must not need that. */
function cleanEnv(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...env } = process.env;
  return { ...env, ...ENV, HOOK_NAME: "approvals" };
}

async function start(command: readonly string[], listening: RegExp): Promise<ExampleProcess> {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { cwd: ROOT, env: cleanEnv(), stdio: ["ignore", "pipe", "pipe", "pipe"] });
  const closed = once(child, "close");
  let output = "";
  const checks = new Set<() => void>();
  for (const stream of child.stdio.slice(1)) {
    (stream as Readable).on("data", (chunk: Buffer) => {
      output += chunk.toString();
      for (const check of checks) check();
    });
  }
  const find = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = pattern.exec(output);
        if (found !== null) resolve(found[1] ?? "");
      };
      checks.add(check);
      check();
      child.on("error", reject);
      void closed.then(() => reject(new Error(`it ended without ${String(pattern)}: ${output}`)));
    });
  const port = await find(listening);
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    seen: async (text) => void (await find(new RegExp(text))),
    async close() {
      child.kill("SIGTERM");
      await closed;
    },
  };
}

const LISTENING = /listening on http:\/\/127\.0\.0\.1:(\d+)/;
const DENO = ["run", "--no-lock", "--node-modules-dir=manual", "--cached-only", "--allow-net=127.0.0.1", "--allow-env"];

/** Each runtime, and how it serves its example. */
export const EXAMPLES = {
  node: () => start([process.execPath, "examples/endpoint/node.ts"], LISTENING),
  bun: () => start([join(BIN, "bun"), "examples/endpoint/bun.ts"], LISTENING),
  deno: () => start([join(BIN, "deno"), ...DENO, "examples/endpoint/deno.ts"], LISTENING),
  workerd: startWorker,
  python: () => start(["python3", "examples/approval_endpoint.py"], LISTENING),
} as const satisfies Readonly<Record<string, () => Promise<ExampleProcess>>>;

/** Serves the Worker with workerd itself, which tells its port on a pipe of its own. */
async function startWorker(): Promise<ExampleProcess> {
  const dir = await mkdtemp(join(tmpdir(), "hookgate-worker-"));
  await copyFile(join(import.meta.dirname, "worker.capnp"), join(dir, "worker.capnp"));
  await build({
    absWorkingDir: ROOT,
    entryPoints: ["examples/endpoint/worker.ts"],
    outfile: join(dir, "worker.js"),
    bundle: true,
    format: "esm",
    platform: "neutral",
    // What the runtime itself has; of it nothing is left of what the endpoint does not use.
    external: ["cloudflare:*", "node:*"],
    target: "es2023",
    logLevel: "silent",
  });
  const command = [join(BIN, "workerd"), "serve", "--control-fd=3", join(dir, "worker.capnp")];
  const worker = await start(command, /"socket":"http","port":(\d+)/);
  return {
    ...worker,
    async close() {
      await worker.close();
      await rm(dir, { recursive: true });
    },
  };
}
