import { setMaxListeners } from "node:events";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import { createSpawn } from "../../adapters/node/child-process.ts";
import type { NoVerdictKind } from "../../src/errors.ts";
import {
  acceptHello,
  createRemotePort,
  encodeHello,
  HELLO_METHOD,
  type Hook,
  HookManager,
  type ToolCall,
  type ToolCallDecision,
  toModes,
} from "../../src/picoclaw/index.ts";
import { createStdioTransport } from "../../src/transport/stdio.ts";
import { commandOf, groupIsGone } from "../adapters/node/real-hook.ts";
import { type Behaviour, copy, intercept, type ModelHook } from "../chain/reference.ts";
import { CountingSignal, META } from "../conformance/fixture.ts";

/** Long enough that a loaded machine does not make a good hook late. */
const DEADLINE_MS = 2000;
const LATE_MS = DEADLINE_MS + 500;
const CALLS = 50_000;
const IN_FLIGHT = 500;
const MIB = 2 ** 20;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** A small generator of numbers from 0 up to but not 1, the same in every run: Mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Mood {
  /** Out of all calls, how many. */
  readonly weight: number;
  /** What it must come to, for the reference. */
  readonly behaviour: Behaviour;
  /** The kind of its no-verdict. */
  readonly kind?: NoVerdictKind;
}

type Json = Record<string, unknown>;

const says = (make: (payload: Json) => unknown): Behaviour => ({ does: "reply", make });
const count = ({ arguments: args }: Json): Json => {
  const { n, ...rest } = args as { readonly n: number };
  return { ...rest, n: n + 1 };
};

const MOODS: Readonly<Record<string, Mood>> = {
  continue: { weight: 400, behaviour: says(() => ({ action: "continue" })) },
  silent: { weight: 200, behaviour: says(() => null) },
  modify: { weight: 300, behaviour: says((payload) => ({ action: "modify", call: { arguments: count(payload) } })) },
  deny: { weight: 50, behaviour: says(() => ({ action: "deny_tool", reason: "no" })) },
  respond: { weight: 20, behaviour: says(() => ({ action: "respond", result: { for_llm: "x" } })) },
  spoil: {
    weight: 100,
    behaviour: says((payload) => void Object.assign(payload["arguments"] as Json, { n: "spoilt" })),
  },
  throw: { weight: 50, behaviour: { does: "throw" }, kind: "hook_error" },
  lie: { weight: 30, behaviour: says(() => "all is well"), kind: "bad_result" },
  shred: { weight: 30, behaviour: says(() => ({ action: "shred" })), kind: "unsupported_action" },
  hang: { weight: 2, behaviour: { does: "hang" }, kind: "timeout" },
  "late reply": { weight: 2, behaviour: { does: "be late", make: () => ({ action: "hard_abort" }) }, kind: "timeout" },
  "late throw": { weight: 1, behaviour: { does: "hang" }, kind: "timeout" },
};

function pick(moods: Readonly<Record<string, { readonly weight: number }>>, random: () => number): string {
  const entries = Object.entries(moods);
  let left = random() * entries.reduce((sum, [, { weight }]) => sum + weight, 0);
  return entries.find(([, { weight }]) => (left -= weight) < 0)?.[0] ?? "continue";
}

function moodOf(name: string): Mood {
  const mood = MOODS[name];
  if (mood === undefined) throw new Error(`no mood is named ${name}`);
  return mood;
}

/** A hook whose mood is the n-th the call names; what it does after its deadline is put into `late`. */
function moody(n: number, late: Promise<unknown>[]): Hook {
  const answer = (call: ToolCall): unknown => {
    const { moods } = call.arguments as { readonly moods: readonly string[] };
    const name = moods[n] ?? "continue";
    const { behaviour } = moodOf(name);
    if (behaviour.does === "throw") throw new Error("on purpose");
    if (behaviour.does === "reply") return behaviour.make(call);
    if (name === "hang") return new Promise<never>(() => {});
    const reply = new Promise((resolve, reject) => {
      setTimeout(
        () => (name === "late throw" ? reject(new Error("late")) : resolve({ action: "hard_abort" })),
        LATE_MS,
      );
    });
    late.push(reply);
    return reply;
  };
  const isAsync = n % 2 === 0;
  return { beforeTool: isAsync ? async (call) => answer(call) as never : (call) => answer(call) as never };
}

/** Calls `run` so often, so many at once, with room for timers in between: a chain may need nothing but microtasks. */
async function repeat(times: number, inFlight: number, run: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < times) {
      await setImmediate();
      await run(next++);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
}

/** One signal for many calls at once, as a host that closes down has it. */
function createHost(): CountingSignal {
  const host = new CountingSignal();
  setMaxListeners(0, host);
  return host;
}

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const activeTimers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

function summaryOf({ action, reason, call, result, trace }: ToolCallDecision): unknown {
  return {
    action,
    reason,
    n: call.arguments?.["n"],
    result,
    trail: trace.records.map(({ hook, kind, outcome }) => `${hook}: ${kind ?? outcome}`),
  };
}

function expectedOf(input: Json, names: readonly string[]): unknown {
  const hooks: ModelHook[] = names.map((name, n) => {
    return { name: `hook-${n}`, priority: n, isRemote: false, behaviour: moodOf(name).behaviour };
  });
  const outcome = intercept(input, hooks);
  const trail = outcome?.trail.map((line, n) => line.replace("no_verdict", moodOf(names[n] ?? "").kind ?? "?"));
  const { action, reason, call, result } = outcome ?? ({} as never);
  return { action, reason, n: (call["arguments"] as Json)["n"], result, trail };
}

describe("soak", () => {
  test(`${CALLS} calls of hooks that crash, hang, lie and come late`, { timeout: 60_000 }, async () => {
    const late: Promise<unknown>[] = [];
    const host = createHost();
    const random = createRandom(1);
    const manager = new HookManager({ timeouts: { interceptorMs: DEADLINE_MS } });
    for (const n of [0, 1, 2]) await manager.mount(moody(n, late), { name: `hook-${n}`, priority: n });
    const wrong: unknown[] = [];
    const call = async (): Promise<void> => {
      const names = [0, 1, 2].map(() => pick(MOODS, random));
      const input = { meta: META, tool: "exec", arguments: { moods: names, n: 0 } };
      const expected = JSON.stringify(expectedOf(copy(input), names));
      const got = JSON.stringify(summaryOf(await manager.beforeTool(input, { signal: host.signal })));
      if (got !== expected) wrong.push({ got, expected });
    };
    await repeat(2000, IN_FLIGHT, call);
    await Promise.allSettled(late.splice(0));
    const [heapBefore, timersBefore] = [heapBytes(), activeTimers()];
    await repeat(CALLS, IN_FLIGHT, call);
    await Promise.allSettled(late.splice(0));
    expect(wrong.slice(0, 3)).toEqual([]);
    expect(host.listening).toBe(0);
    expect(activeTimers()).toBeLessThanOrEqual(timersBefore);
    expect((heapBytes() - heapBefore) / MIB).toBeLessThan(16);
    const called = manager.hooks().map(({ calls, verdicts, no_verdicts }) => {
      return calls - verdicts - Object.values(no_verdicts).reduce((sum, kind) => sum + kind, 0);
    });
    expect(called).toEqual([0, 0, 0]);
    await manager.close();
  });

  test("processes that crash, hang, lie and come late", { timeout: 60_000 }, async () => {
    const [timersBefore, handlesBefore] = [activeTimers(), processHandles()];
    await Promise.all(["moody.py", "moody.ts", "moody.py", "moody.ts"].map(soakProcess));
    await vi.waitFor(() => expect(processHandles()).toEqual(handlesBefore), 5000);
    expect(activeTimers()).toBeLessThanOrEqual(timersBefore);
  });
});

function processHandles(): readonly string[] {
  return process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap" || name === "PipeWrap");
}

interface RemoteMood {
  readonly weight: number;
  readonly outcome: string;
}

/** What each mood of the processes must come to. */
const REMOTE_MOODS: Readonly<Record<string, RemoteMood>> = {
  continue: { weight: 40, outcome: "continue" },
  deny: { weight: 10, outcome: "deny_tool" },
  modify: { weight: 20, outcome: "modify" },
  lie: { weight: 5, outcome: "bad_result" },
  unsupported: { weight: 5, outcome: "unsupported_action" },
  error: { weight: 5, outcome: "rpc_error" },
  noise: { weight: 5, outcome: "continue" },
  wrong_id: { weight: 1, outcome: "timeout" },
  late: { weight: 2, outcome: "timeout" },
  hang: { weight: 1, outcome: "timeout" },
};

async function soakProcess(file: string, seed: number): Promise<void> {
  const random = createRandom(seed);
  const points = new Set(["before_tool"] as const);
  const transport = createStdioTransport({
    name: file,
    spawn: createSpawn({ command: commandOf(file, String(LATE_MS)) }),
    greeting: { method: HELLO_METHOD, params: encodeHello(file, toModes(points, false)), accept: acceptHello },
  });
  const manager = new HookManager({ timeouts: { interceptorMs: DEADLINE_MS } });
  await manager.mount(createRemotePort(transport, { source: "stdio", points }), { name: "moody" });
  const host = createHost();
  const pids: number[] = [];
  const outcomeOf = async (mood: string, n: number): Promise<ToolCallDecision> => {
    const call = { meta: META, tool: "exec", arguments: { mood, n } };
    return manager.beforeTool(call, { signal: host.signal });
  };
  for (let wave = 0; wave < 4; wave += 1) {
    await vi.waitFor(() => expect(transport.status().state).toBe("ready"), 10_000);
    pids.push(transport.status().pid ?? 0);
    await repeat(400, 200, async (n) => {
      const mood = pick(REMOTE_MOODS, random);
      const { trace, reason, call } = await outcomeOf(mood, n);
      const [record] = trace.records;
      expect([mood, record?.kind ?? record?.outcome]).toEqual([mood, REMOTE_MOODS[mood]?.outcome]);
      // Each call has its own answer, however they are mixed.
      expect(reason).toBe(mood === "deny" ? String(n) : "");
      expect(call.arguments).toEqual(mood === "modify" ? { n: n + 1 } : { mood, n });
    });
    expect((await outcomeOf("crash", 0)).trace.records[0]?.kind).toBe("exited");
    expect((await outcomeOf("continue", 0)).trace.records[0]?.kind).toBe("not_running");
  }
  await manager.close();
  expect(host.listening).toBe(0);
  expect(new Set(pids).size).toBe(4);
  for (const pid of pids) await groupIsGone(pid);
}
