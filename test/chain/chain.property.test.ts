import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isHookgateError } from "../../src/errors.ts";
import { type Hook, HookManager, type HookPort, type ToolCallDecision } from "../../src/picoclaw/index.ts";
import { META, remoteHook } from "../conformance/fixture.ts";
import { approve, type Behaviour, copy, intercept, type ModelHook, text } from "./reference.ts";

type Json = Record<string, unknown>;

const DEADLINE_MS = 10;
const RUNS = 2500;

/** What a run shares: a clock that moves only when a hook is late, the host's signal, and all that hooks have kept. */
interface World {
  nowMs: number;
  readonly host: AbortController;
  readonly kept: unknown[];
}

/** Does what a hook does. The same function serves both kinds of hook and both points. */
function behave(behaviour: Behaviour, payload: Json, world: World): unknown {
  world.kept.push(payload);
  if (behaviour.does === "throw") throw new Error("on purpose");
  if (behaviour.does === "abort the host") world.host.abort();
  if (behaviour.does === "hang" || behaviour.does === "be late") world.nowMs += DEADLINE_MS;
  return behaviour.does === "hang" ? new Promise<never>(() => {}) : keep(behaviour.make(payload), world);
}

function keep<T>(value: T, { kept }: World): T {
  kept.push(value);
  return value;
}

function toHook(behaviour: Behaviour, isAsync: boolean, world: World): Hook {
  const call = (payload: unknown): never => behave(behaviour, payload as Json, world) as never;
  const later = async (payload: unknown): Promise<never> => {
    await Promise.resolve();
    return call(payload);
  };
  return isAsync ? { beforeTool: later, approveTool: later } : { beforeTool: call, approveTool: call };
}

function toPort(behaviour: Behaviour, world: World): HookPort {
  return remoteHook(["before_tool", "approve_tool"], (payload) => behave(behaviour, payload as Json, world)).port;
}

/** Changes everything that a hook has kept, at every depth it can reach. */
function spoil(value: unknown, depth = 0): void {
  if (typeof value !== "object" || value === null || value instanceof Promise || depth > 4) return;
  for (const key of Reflect.ownKeys(value)) {
    spoil(Reflect.get(value, key), depth + 1);
    if (key !== "length") Reflect.set(value, key, "spoilt");
  }
}

const args = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), {
  maxKeys: 4,
}) as fc.Arbitrary<Json>;

/** Ways to change a payload in place. */
const edit: fc.Arbitrary<(payload: Json) => void> = fc.oneof(
  fc.tuple(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 })).map(([key, value]) => (payload: Json) => {
    Reflect.set(payload["arguments"] as Json, key, copy(value));
  }),
  fc.nat().map((n) => (payload: Json) => {
    const object = payload["arguments"] as Json;
    Reflect.deleteProperty(object, Object.keys(object)[n % Math.max(1, Object.keys(object).length)] ?? "");
  }),
  fc.jsonValue({ maxDepth: 1 }).map((value) => (payload: Json) => {
    for (const part of Object.values(payload["arguments"] as Json)) {
      if (Array.isArray(part)) part.splice(0, 1, copy(value), part[0]);
      else if (typeof part === "object" && part !== null) Reflect.set(part, "added", copy(value));
    }
  }),
  fc.constantFrom("other", "").map((tool) => (payload: Json) => {
    Object.assign(payload, { tool, meta: "forged", channel: "forged" });
  }),
);

const GARBAGE: readonly unknown[] = [
  null,
  undefined,
  5,
  "deny_tool",
  true,
  [],
  [{ action: "deny_tool" }],
  {},
  { ok: true },
  ...[5, "shred", "Modify", {}].map((action) => ({ action })),
  ...[5, [], "x", { tool: 5 }, { arguments: "x" }].map((call) => ({ call })),
  ...[undefined, null, 5, [], { for_llm: 5 }].map((result) => ({ action: "respond", result })),
  ...["true", 1, null].map((approved) => ({ approved })),
  ...[5, {}].flatMap((reason) => [{ reason }, { action: "deny_tool", reason }, { approved: false, reason }]),
];

const reply: fc.Arbitrary<(payload: Json) => unknown> = fc.oneof(
  fc.constantFrom(...GARBAGE).map((value) => () => value),
  fc
    .record({
      action: fc.constantFrom("continue", "modify", "", "deny_tool", "abort_turn", "hard_abort", null),
      reason: fc.constantFrom("because", "", null),
      call: fc.option(
        fc.record(
          { tool: fc.constantFrom("b", "", null), arguments: args, meta: fc.constant({}) },
          { requiredKeys: [] },
        ),
      ),
    })
    .map((value) => () => copy(value)),
  fc
    .record({
      call: fc.record({ arguments: args }, { requiredKeys: [] }),
      result: fc.record({ for_llm: fc.string(), extra: fc.jsonValue() }),
    })
    .map((value) => () => copy({ action: "respond", ...value })),
  fc.record({ approved: fc.boolean(), reason: fc.constantFrom("no", "", null) }).map((value) => () => ({ ...value })),
  fc
    .tuple(fc.array(edit, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([edits, isReturned]) => (payload: Json) => {
      for (const change of edits) change(payload);
      return isReturned ? { action: "modify", approved: true, call: payload } : { approved: true };
    }),
);

const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 30, arbitrary: reply.map((make) => ({ does: "reply", make }) as const) },
  { weight: 3, arbitrary: fc.constant({ does: "throw" } as const) },
  { weight: 1, arbitrary: fc.constant({ does: "hang" } as const) },
  { weight: 2, arbitrary: reply.map((make) => ({ does: "be late", make }) as const) },
  { weight: 1, arbitrary: reply.map((make) => ({ does: "abort the host", make }) as const) },
);

interface TestHook extends ModelHook {
  readonly isAsync: boolean;
}

const hooks: fc.Arbitrary<TestHook[]> = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("a", "B", "é", "\u{1f600}", "\u{ff5e}", "z1", "z10", "__proto__"),
    priority: fc.integer({ min: -2, max: 2 }),
    isRemote: fc.boolean(),
    isAsync: fc.boolean(),
    behaviour,
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);

async function mountAll(all: readonly TestHook[], world: World): Promise<HookManager> {
  const timeouts = { interceptorMs: DEADLINE_MS, approvalMs: DEADLINE_MS };
  const manager = new HookManager({ timeouts, now: () => world.nowMs });
  for (const { name, priority, isRemote, isAsync, behaviour: how } of all) {
    await manager.mount(isRemote ? toPort(how, world) : toHook(how, isAsync, world), { name, priority });
  }
  return manager;
}

function isAborted(error: unknown): undefined {
  if (isHookgateError(error) && error.code === "ERR_ABORTED") return undefined;
  throw error;
}

function toComparable({ action, reason, call, result, trace }: ToolCallDecision): Json {
  const trail = trace.records.map(({ hook, outcome }) => `${hook}: ${outcome}`);
  return { action, reason, call, result, trail };
}

const createWorld = (): World => ({ nowMs: 0, host: new AbortController(), kept: [] });

describe("the chain does what its specification says", () => {
  test("before_tool agrees with the reference, and nothing a hook keeps reaches the decision", async () => {
    const property = fc.asyncProperty(args, hooks, async (given, all) => {
      const input = { meta: META, tool: "exec", arguments: given, channel: "cli" };
      const untouched = text(input);
      const expected = intercept(input, all);
      const world = createWorld();
      const manager = await mountAll(all, world);
      const decision = await manager.beforeTool(input, { signal: world.host.signal }).catch(isAborted);
      for (const value of world.kept) spoil(value);
      expect(text(input)).toBe(untouched);
      expect(decision && text(toComparable(decision))).toBe(expected && text(expected));
      // A later hook may have put back what an earlier one changed, but not without a word.
      expect(decision === undefined || decision.changed || text(decision.call) === untouched).toBe(true);
    });
    await fc.assert(property, { numRuns: RUNS });
  }, 60_000);

  test("approve_tool agrees with the reference", async () => {
    const property = fc.asyncProperty(args, hooks, async (given, all) => {
      const input = { meta: META, tool: "exec", arguments: given };
      const untouched = text(input);
      const expected = approve(input, all);
      const world = createWorld();
      const manager = await mountAll(all, world);
      const decision = await manager.approveTool(input, { signal: world.host.signal }).catch(isAborted);
      expect(text(input)).toBe(untouched);
      expect(decision && { approved: decision.approved, reason: decision.reason }).toEqual(expected);
    });
    await fc.assert(property, { numRuns: RUNS });
  }, 60_000);
});
