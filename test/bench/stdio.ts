import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { createSpawn } from "../../adapters/node/child-process.ts";
import { type ChainHook, type ChainRules, Current, failOpen, runChain } from "../../src/chain/index.ts";
import { createStdioTransport } from "../../src/transport/stdio.ts";
import { type BenchReport, median, toRatio } from "./report.ts";

const ECHO = fileURLToPath(new URL("peers/echo-lines.ts", import.meta.url));
const ECHO_VSCODE = fileURLToPath(new URL("peers/echo-vscode.ts", import.meta.url));
const BARE = "bare newline JSON";
const TRANSPORT = "hookgate transport";
const CHAIN = "hookgate transport and chain";
const PARAMS = { meta: { AgentID: "a", TurnID: "t" }, tool: "shell", arguments: { command: "ls -la /tmp" } };

/** One contestant: calls an echo process and gives the result. */
interface Contestant {
  readonly name: string;
  call(): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * The least anyone can do: newline-delimited JSON, a map of who waits, and nothing else. Its process is started as ours
 * is: one that leads a session of its own is scheduled differently.
 */
function createBare(): Contestant {
  const child = spawn(process.execPath, [ECHO], { stdio: "pipe", detached: true });
  child.stderr.pipe(process.stderr);
  const pending = new Map<number, (value: unknown) => void>();
  let rest = "";
  let nextId = 1;
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, result } = JSON.parse(line) as { id: number; result: unknown };
      pending.get(id)?.(result);
      pending.delete(id);
    }
  });
  return {
    name: BARE,
    call: () =>
      new Promise((resolve) => {
        const id = nextId++;
        pending.set(id, resolve);
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "hook.before_tool", params: PARAMS })}\n`);
      }),
    close: () => end(child),
  };
}

function createHook(): { call: ChainHook<typeof PARAMS>["call"]; close(): Promise<void> } {
  const transport = createStdioTransport({
    name: "bench",
    spawn: createSpawn({ command: [process.execPath, ECHO] }),
    greeting: { method: "hook.hello", params: "{}", accept: () => {} },
  });
  const encode = (value: typeof PARAMS): string => JSON.stringify(value);
  const call = (current: Current<typeof PARAMS>, scope: Parameters<typeof transport.call>[1]): Promise<unknown> =>
    transport.call({ method: "hook.before_tool", params: current.encode(encode) }, scope);
  return { call, close: () => transport.close() };
}

/** The transport alone, with the encoding of the params. */
function createTransport(): Contestant {
  const transport = createStdioTransport({
    name: "bench",
    spawn: createSpawn({ command: [process.execPath, ECHO] }),
    greeting: { method: "hook.hello", params: "{}", accept: () => {} },
  });
  const { signal } = new AbortController();
  const scope = { remainingMs: 5000, signal, onAbort: () => {} };
  return {
    name: TRANSPORT,
    call: () => transport.call({ method: "hook.before_tool", params: JSON.stringify(PARAMS) }, scope),
    close: () => transport.close(),
  };
}

/** The whole engine: deadline, policy, records. */
function createChain(): Contestant {
  const { call, close } = createHook();
  const hooks = [{ name: "bench", source: "stdio", timeoutMs: 5000, policy: failOpen, call }];
  const rules: ChainRules<typeof PARAMS, never> = { point: "before_tool", judge: () => ({ outcome: "continue" }) };
  return {
    name: CHAIN,
    async call() {
      const outcome = await runChain(hooks, new Current(PARAMS), { rules });
      if (outcome.records[0]?.outcome !== "continue") throw new Error(`no verdict: ${outcome.records[0]?.error}`);
      return outcome;
    },
    close,
  };
}

async function createMcp(): Promise<Contestant> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [ECHO] });
  const pending = new Map<unknown, (value: unknown) => void>();
  let nextId = 1;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has no other way
  transport.onmessage = (message) => {
    if (!("id" in message) || !("result" in message)) return;
    pending.get(message.id)?.(message.result);
    pending.delete(message.id);
  };
  await transport.start();
  return {
    name: "@modelcontextprotocol/sdk StdioClientTransport",
    call: () =>
      new Promise((resolve, reject) => {
        const id = nextId++;
        pending.set(id, resolve);
        transport.send({ jsonrpc: "2.0", id, method: "hook.before_tool", params: PARAMS }).catch(reject);
      }),
    close: () => transport.close(),
  };
}

function createVscode(): Contestant {
  const child = spawn(process.execPath, [ECHO_VSCODE], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  connection.listen();
  return {
    name: "vscode-jsonrpc",
    call: () => connection.sendRequest("hook.before_tool", PARAMS),
    async close() {
      connection.dispose();
      await end(child);
    },
  };
}

function end(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve) => {
    child.on("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

async function measure(contestant: Contestant, { calls, lanes }: { calls: number; lanes: number }): Promise<number> {
  const startedAtMs = performance.now();
  const lane = async (): Promise<void> => {
    for (let done = 0; done < calls / lanes; done += 1) await contestant.call();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return calls / ((performance.now() - startedAtMs) / 1000);
}

/**
 * Calls a second over stdio, side by side with peers that do the same echo. The contestants take turns in short rounds,
 * so that what else the machine does meets all of them.
 */
export async function benchStdio({ roundCount = 31, callCount = 2000 } = {}): Promise<readonly BenchReport[]> {
  const contestants = [createBare(), createTransport(), createChain(), createVscode(), await createMcp()];
  for (const contestant of contestants) await measure(contestant, { calls: 4 * callCount, lanes: 16 });
  const reports: BenchReport[] = [];
  for (const { lanes, atLeast, rate } of [
    { lanes: 1, atLeast: 0.9, rate: 10_500 },
    { lanes: 16, atLeast: 0.8, rate: 60_000 },
  ]) {
    const samples = contestants.map((): number[] => []);
    for (let round = 0; round < roundCount; round += 1) {
      for (const [index, contestant] of contestants.entries()) {
        samples[index]?.push(await measure(contestant, { calls: lanes === 1 ? callCount : 4 * callCount, lanes }));
      }
    }
    const rows = contestants.map(({ name }, index) => ({ name, value: median(samples[index] ?? []) }));
    const required = { name: "required of the chain", value: rate };
    reports.push({
      title: `stdio, ${lanes === 1 ? "one call at a time" : `${lanes} in flight`}, calls/s`,
      rows: [...rows, required],
      ratios: [
        toRatio(rows, { of: TRANSPORT, to: BARE, atLeast }),
        toRatio([...rows, required], { of: CHAIN, to: required.name, atLeast: 1 }),
      ],
    });
  }
  for (const contestant of contestants) await contestant.close();
  return reports;
}
