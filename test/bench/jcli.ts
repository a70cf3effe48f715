import { spawn } from "node:child_process";
import process from "node:process";
import { createShell } from "../../adapters/node/index.ts";
import {
  createBashPort,
  type HostContext,
  LifecycleManager,
  type Message,
  readHookFile,
} from "../../src/jcli/index.ts";
import { createCommandTransport } from "../../src/transport/command.ts";
import { type BenchReport, measureRates, median, type Repeatable, toRatio } from "./report.ts";

const HOOK_COUNT = 10;
const CHAIN_COUNT = 60;
const WARM_COUNT = 20;
const COMMAND = `cat > /dev/null; echo '{}'`;
const BARE = "bare sh -c";
const BARE_SESSION = "bare sh -c, a session each";
const HOOKGATE = "hookgate";
const SEND: HostContext = { event: "pre_send_message", user_input: "x".repeat(200) };

/** What anyone has to do: start it, write its input, read its output to the end, look at how it ended. */
function runBare(input: string, detached: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("sh", ["-c", COMMAND], { stdio: "pipe", cwd: process.cwd(), detached });
    let output = "";
    child.stdout.on("data", (chunk) => (output += String(chunk)));
    child.stderr.resume();
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(output) : reject(new Error(`exit code ${code}`))));
    child.stdin.end(input);
  });
}

function createBare(name: string, detached: boolean): Repeatable {
  const input = JSON.stringify(SEND);
  return {
    name,
    async run() {
      for (let index = 0; index < HOOK_COUNT; index += 1) JSON.parse(await runBare(input, detached));
    },
  };
}

function createHookgate(): Repeatable {
  const ports = { bash: createBashPort(createCommandTransport({ start: createShell() })) };
  const manager = new LifecycleManager({ ports, cwd: process.cwd() });
  const hooks = Array.from({ length: HOOK_COUNT }, () => ({ command: COMMAND }));
  manager.load("user", readHookFile(JSON.stringify({ [SEND.event]: hooks })).hooks);
  return {
    name: HOOKGATE,
    async run() {
      const { trace } = await manager.run(SEND);
      if (trace.records.some(({ outcome }) => outcome !== "continue")) throw new Error("a hook failed");
    },
  };
}

/**
 * A chain of shell commands against the same commands started by hand. Starting them is what costs, and on a busy machine
 * also that ours lead a session each: Linux then shares its time out by session.
 */
async function benchBash(): Promise<BenchReport> {
  const contestants = [createBare(BARE, false), createBare(BARE_SESSION, true), createHookgate()];
  const times = contestants.map((): number[] => []);
  for (let chain = -WARM_COUNT; chain < CHAIN_COUNT; chain += 1) {
    // In turn, and each of them first as often as the others.
    for (const offset of contestants.keys()) {
      const index = (Math.abs(chain) + offset) % contestants.length;
      const startedAtMs = performance.now();
      await contestants[index]?.run();
      if (chain >= 0) times[index]?.push(performance.now() - startedAtMs);
    }
  }
  const rows = contestants.map(({ name }, index) => ({ name, value: median(times[index] ?? []) }));
  const ratios = [BARE, BARE_SESSION].map((to) => toRatio(rows, { of: HOOKGATE, to, atMost: 1.15 }));
  return { title: `chain of ${HOOK_COUNT} bash hooks, ms`, rows, ratios };
}

function createMessages(bytes: number): readonly Message[] {
  const message = { role: "user", content: "x".repeat(120) };
  return Array.from({ length: Math.max(1, Math.round(bytes / JSON.stringify(message).length)) }, () => ({
    ...message,
  }));
}

function look({ model }: { readonly model?: string }): undefined {
  if (model === "") throw new Error("no model");
}

function createBuiltins(name: string, bytes: number): Repeatable {
  const manager = new LifecycleManager();
  for (let index = 0; index < HOOK_COUNT; index += 1) {
    manager.addBuiltin("pre_llm_request", look, { name: `hook-${index}` });
  }
  const context: HostContext = { event: "pre_llm_request", model: "m", messages: createMessages(bytes) };
  return { name, run: () => manager.run(context) };
}

/** In-process hooks that change nothing: what the messages weigh must not matter. */
async function benchBuiltins(): Promise<BenchReport> {
  const small = "300 bytes of messages";
  const large = "1000000 bytes of messages";
  const rows = await measureRates([createBuiltins(small, 300), createBuiltins(large, 1_000_000)]);
  const ratios = [toRatio(rows, { of: large, to: small, atLeast: 0.5 })];
  return { title: `chain of ${HOOK_COUNT} in-process builtins on pre_llm_request, calls/s`, rows, ratios };
}

/** The YAML system: what it adds to starting a shell, and what it does not do to a large context. */
export async function benchJcli(): Promise<readonly BenchReport[]> {
  return [await benchBash(), await benchBuiltins()];
}
