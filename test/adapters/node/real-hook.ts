import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type TestContext, vi } from "vitest";
import { createSpawn } from "../../../adapters/node/child-process.ts";
import { Current, failOpen, type HookRecord, runChain } from "../../../src/chain/index.ts";
import type { Transport } from "../../../src/transport/contract.ts";
import { createStdioTransport, type StdioOptions } from "../../../src/transport/stdio.ts";
import { MemoryLog } from "../../conformance/memory-stdio.ts";

const FIXTURES = new URL("../../fixtures/hooks/", import.meta.url);

/** How a fixture is run: `liar.py` by Python, `liar.ts` by this Node. */
export function commandOf(file: string, ...args: readonly string[]): readonly string[] {
  const path = fileURLToPath(new URL(file, FIXTURES));
  return file.endsWith(".py") ? ["python3", path, ...args] : [process.execPath, path, ...args];
}

/** A log on which a test can wait. */
export class WaitingLog extends MemoryLog {
  /** Resolves with the first line, past or to come, that matches. */
  line(pattern: RegExp): Promise<string> {
    return vi.waitFor(() => {
      const found = this.lines.find((line) => pattern.test(line));
      if (found === undefined) throw new Error(`no line matches ${pattern}:\n${this.text}`);
      return found;
    }, 20_000);
  }
}

/** A transport to a real process, and what a test asks of it. */
export interface RealHook {
  readonly transport: Transport;
  readonly log: WaitingLog;
  /** The process ids that were started, in order. */
  readonly pids: readonly number[];
  /** Calls through the chain engine, which settles the deadline. */
  call(options?: {
    readonly params?: object;
    readonly timeoutMs?: number;
  }): Promise<HookRecord & { readonly reply: unknown }>;
}

/** What {@link startHook} is told; what is left out is the transport's default. */
export interface HookOptions extends Partial<StdioOptions> {
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a hook's process; it is closed, and its group is checked, when the test is over. */
export function startHook(
  { onTestFinished }: TestContext,
  { command, env, ...rest }: HookOptions & { readonly command: readonly string[] },
): RealHook {
  const log = new WaitingLog();
  const pids: number[] = [];
  const spawn = createSpawn({ command, env });
  const transport = createStdioTransport({
    name: "liar",
    greeting: { method: "hook.hello", params: '{"name":"liar","version":1,"modes":["tool"]}', accept: () => {} },
    log,
    // A busy machine may take its time to start an interpreter; the tests of the 5 s have a clock of their own.
    helloTimeoutMs: 30_000,
    random: () => 0.999,
    spawn: () => {
      const child = spawn();
      if (child.pid !== undefined) pids.push(child.pid);
      return child;
    },
    ...rest,
  });
  onTestFinished(async () => {
    await transport.close();
    for (const pid of pids) await groupIsGone(pid);
  });
  const call: RealHook["call"] = async ({ params = { tool: "exec" }, timeoutMs = 30_000 } = {}) => {
    let reply: unknown;
    const { records } = await runChain(
      [
        {
          name: "liar",
          source: "stdio",
          timeoutMs,
          policy: failOpen,
          call: (current, scope) =>
            transport.call({ method: "hook.before_tool", params: current.encode(JSON.stringify) }, scope),
        },
      ],
      new Current(params),
      {
        rules: {
          point: "before_tool",
          judge: (value) => {
            reply = value;
            return { outcome: "verdict" };
          },
        },
      },
    );
    const [record] = records;
    if (record === undefined) throw new Error("the chain has no record");
    return { ...record, reply };
  };
  return { transport, log, pids, call };
}

/** The living members of a process group; one that has ended and was not reaped yet is not living. */
export function groupOf(pid: number): readonly string[] {
  return execFileSync("ps", ["-eo", "pgid=,stat=,args="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith(`${pid} `) && !/^\d+\s+Z/.test(line));
}

/** Resolves when nothing of a process group lives. */
export async function groupIsGone(pid: number): Promise<void> {
  await vi.waitFor(() => {
    const living = groupOf(pid);
    if (living.length > 0) throw new Error(`still there: ${living.join("; ")}`);
  }, 20_000);
}
