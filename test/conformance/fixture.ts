import { type Log, silentLog } from "../../src/log.ts";
import {
  createEventFilter,
  createRemotePort,
  type EventMethod,
  type Hook,
  HookManager,
  type HookManagerOptions,
  type HookPoint,
  type HookPort,
  type HostPayload,
  type Meta,
  type ToolCall,
  type Trace,
} from "../../src/picoclaw/index.ts";
import type { Case } from "./case.ts";

/** The cases of one topic, all asked for in one place; a key is the behaviour. */
export function casesOf(
  { topic, source }: { readonly topic: string; readonly source: string },
  runs: Readonly<Record<string, () => Promise<void>>>,
): readonly Case[] {
  return Object.entries(runs).map(([behaviour, run]) => ({ id: `${topic}/${behaviour}`, source, run }));
}

/** A `meta` with every key set. */
export const META: Meta = {
  AgentID: "main",
  TurnID: "turn-1",
  ParentTurnID: "",
  SessionKey: "cli:direct",
  Iteration: 2,
  TracePath: "main/turn-1",
  Source: "runTurn",
};

/** A call of a tool as a host makes it. */
export function toolCall(args: Record<string, unknown> = { command: "ls" }): HostPayload<ToolCall> {
  return { meta: META, tool: "exec", arguments: args, channel: "cli", chat_id: "direct" };
}

/** A manager whose hooks are called in the order in which they are given, inside their groups. */
export async function managerOf(
  hooks: Readonly<Record<string, Hook | HookPort>>,
  options?: HookManagerOptions,
): Promise<HookManager> {
  const manager = new HookManager(options);
  let priority = 0;
  for (const [name, hook] of Object.entries(hooks)) {
    await manager.mount(hook, { name, priority });
    priority += 1;
  }
  return manager;
}

/** What a remote hook was sent. */
export interface Sent {
  readonly method: string;
  readonly params: string;
}

/** A hook behind a channel: it keeps what it is sent and answers what `reply` returns. */
export interface RemoteHook {
  readonly port: HookPort;
  readonly sent: Sent[];
  /** The params of the n-th message as the hook reads them. */
  read(n: number): unknown;
}

/** Options of {@link remoteHook}. */
export interface RemoteHookOptions {
  readonly observe?: readonly string[];
  readonly events?: EventMethod;
}

/** A hook that is reached as text, as over any transport. */
export function remoteHook(
  points: readonly HookPoint[],
  reply: (params: unknown) => unknown,
  { observe, events = "hook.event" }: RemoteHookOptions = {},
): RemoteHook {
  const sent: Sent[] = [];
  const port = createRemotePort(
    {
      async call(message) {
        sent.push(message);
        const result = reply(JSON.parse(message.params));
        return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown);
      },
      async notify(message) {
        sent.push(message);
      },
      ready: async () => {},
      status: () => ({ state: "ready" }),
      close: async () => {},
    },
    {
      source: "stdio",
      points: new Set(points),
      events,
      ...(observe === undefined ? {} : { observes: createEventFilter(observe) }),
    },
  );
  return { port, sent, read: (n) => JSON.parse(sent[n]?.params ?? "null") as unknown };
}

/** One line that went to a log. */
export interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps its warnings. */
export function keepingLog(): { readonly log: Log; readonly warnings: Line[] } {
  const warnings: Line[] = [];
  const warn = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    warnings.push({ message, fields });
  };
  return { log: { ...silentLog, warn }, warnings };
}

/** What each hook of a call did, as `hook: outcome`, with the kind in place of `no_verdict`. */
export function outcomesOf({ trace }: { readonly trace: Trace }): readonly string[] {
  return trace.records.map(({ hook, outcome, kind }) => `${hook}: ${kind ?? outcome}`);
}

/** The object at a path of a payload, to be changed in place. */
export function at(value: unknown, ...path: readonly (string | number)[]): Record<string | number, unknown> {
  return path.reduce<unknown>((object, key) => (object as Record<string | number, unknown>)[key], value) as Record<
    string | number,
    unknown
  >;
}

/** A promise that its maker settles. */
export interface Gate<T> {
  readonly promise: Promise<T>;
  open(value: T): void;
  fail(error: Error): void;
}

/** Builds a {@link Gate}. */
export function createGate<T = void>(): Gate<T> {
  const settle: Partial<Pick<Gate<T>, "open" | "fail">> = {};
  const promise = new Promise<T>((open, fail) => {
    Object.assign(settle, { open, fail });
  });
  return { promise, ...settle } as Gate<T>;
}

/** `levels` objects, one inside the other. */
export function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
}

/** An abort signal that counts who listens. */
export class CountingSignal extends EventTarget {
  aborted = false;
  reason: unknown;
  added = 0;
  listening = 0;

  override addEventListener(...args: Parameters<EventTarget["addEventListener"]>): void {
    this.added += 1;
    this.listening += 1;
    super.addEventListener(...args);
  }

  override removeEventListener(...args: Parameters<EventTarget["removeEventListener"]>): void {
    this.listening -= 1;
    super.removeEventListener(...args);
  }

  abort(reason: unknown): void {
    this.aborted = true;
    this.reason = reason;
    this.dispatchEvent(new Event("abort"));
  }

  /** The same object, for what asks for a signal. */
  get signal(): AbortSignal {
    return this as unknown as AbortSignal;
  }
}

/** Runs `run` and tells how many timers it started and how many of them are left: neither fired nor cleared. */
export async function countTimers(
  run: () => Promise<void>,
): Promise<{ readonly started: number; readonly left: number }> {
  const global = globalThis as unknown as {
    setTimeout: (callback: () => void, ms: number) => unknown;
    clearTimeout: (timer: unknown) => void;
  };
  const { setTimeout: set, clearTimeout: clear } = global;
  const left = new Set<unknown>();
  let started = 0;
  global.setTimeout = (callback, ms) => {
    started += 1;
    const timer = set(() => {
      left.delete(timer);
      callback();
    }, ms);
    left.add(timer);
    return timer;
  };
  global.clearTimeout = (timer) => {
    left.delete(timer);
    clear(timer);
  };
  try {
    await run();
  } finally {
    global.setTimeout = set;
    global.clearTimeout = clear;
  }
  return { started, left: left.size };
}

/** A point where hooks may change what passes through. */
export type InterceptorPoint = Exclude<HookPoint, "approve_tool">;

/** What is the same in every interceptor's decision. */
export interface Decided {
  readonly action: string;
  readonly reason: string;
  readonly changed: boolean;
  readonly trace: Trace;
}

/** A call of each interceptor point. */
export const CALLS: Readonly<Record<InterceptorPoint, (manager: HookManager) => Promise<Decided>>> = {
  before_llm: (manager) => manager.beforeLlm({ meta: META, model: "m", messages: [{ role: "user", content: "hi" }] }),
  after_llm: (manager) => manager.afterLlm({ meta: META, model: "m", response: { content: "hi" } }),
  before_tool: (manager) => manager.beforeTool(toolCall()),
  after_tool: (manager) => manager.afterTool({ ...toolCall(), result: { for_llm: "out" }, duration: 5 }),
};

/** Every interceptor point. */
export const POINTS = Object.keys(CALLS) as InterceptorPoint[];

/** Hooks at one point that answer these, in order; each is reached as a remote one. */
export function answering(point: HookPoint, ...replies: readonly unknown[]): Promise<HookManager> {
  return managerOf(Object.fromEntries(replies.map((reply, i) => [`h${i}`, remoteHook([point], () => reply).port])));
}

/** Arguments with parts inside parts. */
export const DEEP = {
  list: [
    { n: 1, tags: ["a", "b"] },
    { n: 2, tags: [] },
  ],
  map: { x: { y: { z: 1 } } },
};

/** Freezes a value and everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
