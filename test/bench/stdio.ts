import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { createSpawn } from "../../adapters/node/child-process.ts";
import { type ChainHook, type ChainRules, Current, failOpen, runChain } from "../../src/chain/index.ts";
import { createStdioTransport } from "../../src/transport/stdio.ts";

const ECHO = fileURLToPath(new URL("peers/echo-lines.ts", import.meta.url));
const ECHO_VSCODE = fileURLToPath(new URL("peers/echo-vscode.ts", import.meta.url));
const PARAMS = { meta: { AgentID: "a", TurnID: "t" }, tool: "shell", arguments: { command: "ls -la /tmp" } };

/** One contestant: calls an echo process and gives the result. */
interface Contestant {
  readonly name: string;
  call(): Promise<unknown>;
  close(): Promise<void>;
}

/** What was measured of one contestant, in calls a second; the medians of the rounds. */
export interface StdioBenchRow {
  readonly name: string;
  readonly sequential: number;
  readonly inFlight16: number;
}

/** The least anyone can do: newline-delimited JSON, a map of who waits, and nothing else. */
function createBare(): Contestant {
  const child = spawn(process.execPath, [ECHO], { stdio: ["pipe", "pipe", "inherit"] });
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
    name: "bare newline JSON",
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
    name: "hookgate transport",
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
    name: "hookgate chain",
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

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * Measures calls a second over stdio, side by side with peers that do the same echo. The contestants take turns, so that
 * what else the machine does meets all of them.
 */
export async function benchStdio({ rounds = 7, calls = 8000 } = {}): Promise<readonly StdioBenchRow[]> {
  const contestants = [createBare(), createTransport(), createChain(), createVscode(), await createMcp()];
  const samples = contestants.map((contestant) => ({
    contestant,
    sequential: [] as number[],
    inFlight16: [] as number[],
  }));
  for (const contestant of contestants) await measure(contestant, { calls, lanes: 16 });
  for (let round = 0; round < rounds; round += 1) {
    for (const { contestant, sequential, inFlight16 } of samples) {
      sequential.push(await measure(contestant, { calls, lanes: 1 }));
      inFlight16.push(await measure(contestant, { calls: 4 * calls, lanes: 16 }));
    }
  }
  for (const contestant of contestants) await contestant.close();
  return samples.map(({ contestant, sequential, inFlight16 }) => ({
    name: contestant.name,
    sequential: median(sequential),
    inFlight16: median(inFlight16),
  }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await benchStdio();
  const bare = rows[0];
  for (const { name, sequential, inFlight16 } of rows) {
    const ratio = `${(sequential / (bare?.sequential ?? 1)).toFixed(2)}x, ${(inFlight16 / (bare?.inFlight16 ?? 1)).toFixed(2)}x`;
    console.log(
      `${name}: ${Math.round(sequential)}/s one at a time, ${Math.round(inFlight16)}/s 16 in flight (${ratio})`,
    );
  }
}
