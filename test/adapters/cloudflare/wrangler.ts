import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";

export const ROOT = join(import.meta.dirname, "../../..");

const require = createRequire(import.meta.url);
const BIN = join(dirname(require.resolve("wrangler/package.json")), "bin/wrangler.js");
const KILL_AFTER_MS = 5000;

/** What still runs when the tests end early, such as by a deadline. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) signalGroup(child, "SIGKILL");
});

/** Keeps wrangler off the network and from asking anything. */
const OFFLINE = { CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false", CI: "1", NO_COLOR: "1" };

/** A `wrangler` that runs. */
export interface Wrangler {
  /** Everything it has written. */
  readonly output: () => string;
  /** Resolves with everything it has written, when that holds this. */
  seen(text: string): Promise<string>;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  /** Ends it with all it has started. */
  stop(): Promise<void>;
}

/** Starts `wrangler` as the leader of a process group, so that the runtime it starts ends with it. */
export function startWrangler(args: readonly string[], cwd: string = ROOT): Wrangler {
  const env = { ...process.env, ...OFFLINE };
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let output = "";
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      for (const check of waiting) check();
    });
  }
  const ended = once(child, "close").then(([code]) => code as number | null);
  return {
    output: () => output,
    ended,
    seen: (text) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (output.includes(text)) resolve(output);
        };
        waiting.add(check);
        void ended.then(() => reject(new Error(`wrangler ended without "${text}":\n${output}`)));
        check();
      }),
    async stop() {
      signalGroup(child, "SIGTERM");
      const timer = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_AFTER_MS);
      await ended;
      clearTimeout(timer);
      // The leader may be gone before the runtime is.
      signalGroup(child, "SIGKILL");
      running.delete(child);
    },
  };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // None of the group is left.
  }
}

/** A `wrangler dev` that listens. */
export interface Dev extends Wrangler {
  readonly url: string;
}

/** Options of {@link startDev}. */
export interface DevOptions {
  /** Config files; the first one's Worker is what the URL leads to. */
  readonly configs: readonly string[];
  readonly port: number;
  /** Where Durable Objects are kept. */
  readonly stateDir: string;
  readonly args?: readonly string[];
}

/** Starts `wrangler dev` and waits until it listens. */
export async function startDev({ configs, port, stateDir, args = [] }: DevOptions): Promise<Dev> {
  const files = configs.flatMap((config) => ["-c", config]);
  const address = ["--port", String(port), "--inspector-port", "0", "--persist-to", stateDir];
  const wrangler = startWrangler(["dev", ...files, ...address, ...args]);
  try {
    await wrangler.seen("Ready on http");
  } catch (error) {
    await wrangler.stop();
    throw error;
  }
  return { ...wrangler, url: `http://localhost:${port}` };
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
