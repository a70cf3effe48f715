import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type ChainHook, Current, runChain } from "../../src/chain/index.ts";

interface Payload {
  readonly text: string;
}

type Effect = "continue" | "deny" | "abort_turn";

/** What a hook does, after so many milliseconds of a clock that only the test moves. */
interface Plan {
  readonly does: "go on" | "deny" | "throw" | "change" | "hang";
  readonly afterMs: number;
  readonly timeoutMs: number;
  readonly effect: Effect;
  readonly parallel: boolean;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  does: fc.constantFrom("go on", "go on", "deny", "throw", "change", "hang"),
  afterMs: fc.integer({ min: 0, max: 20 }),
  timeoutMs: fc.integer({ min: 1, max: 20 }),
  effect: fc.constantFrom("continue", "continue", "deny", "abort_turn"),
  parallel: fc.boolean(),
});

interface Expected {
  readonly end: string;
  readonly ms: number;
  /** One for each record up to and with the one that ended the chain. */
  readonly trail: readonly string[];
}

/** One hook that starts at `atMs`: what is recorded, when, and whether it ends the chain. */
function one(hook: Plan, atMs: number, budgetMs: number): { outcome: string; endMs: number; ends: string | undefined } {
  const own = atMs + hook.timeoutMs;
  const limit = Math.min(own, budgetMs);
  const late = budgetMs < own ? "budget" : "timeout";
  const fails = (kind: string, endMs: number): ReturnType<typeof one> => ({
    outcome: kind,
    endMs,
    ends: hook.effect === "continue" ? undefined : hook.effect,
  });
  if (atMs >= budgetMs) return fails("budget", atMs);
  const endMs = atMs + hook.afterMs;
  if (hook.does === "hang" || endMs >= limit) return fails(late, limit);
  if (hook.does === "throw") return fails("hook_error", endMs);
  // Every hook of the model is read-only.
  if (hook.does === "change") return fails("bad_result", endMs);
  if (hook.does === "deny") return { outcome: "denied", endMs, ends: "denied" };
  return { outcome: "ok", endMs, ends: undefined };
}

/** The chain as its description has it: groups of neighbours, each hook of a group beginning when the group does. */
function model(hooks: readonly Plan[], budgetMs: number): Expected {
  const trail: string[] = [];
  let nowMs = 0;
  for (let at = 0; at < hooks.length;) {
    let end = at + 1;
    if (hooks[at]?.parallel === true) while (hooks[end]?.parallel === true) end += 1;
    let groupEndMs = nowMs;
    for (const hook of hooks.slice(at, end)) {
      const { outcome, endMs, ends } = one(hook, nowMs, budgetMs);
      trail.push(outcome);
      groupEndMs = Math.max(groupEndMs, endMs);
      if (ends !== undefined) return { end: ends, ms: groupEndMs, trail };
    }
    nowMs = groupEndMs;
    at = end;
  }
  return { end: "through", ms: nowMs, trail };
}

/** A clock and its timers, in the place of the platform's; time passes when nothing else is left to do. */
class Time {
  nowMs = 0;
  readonly #timers = new Map<number, { readonly atMs: number; readonly run: () => void }>();
  #count = 0;

  set(run: () => void, delayMs: number): number {
    this.#timers.set((this.#count += 1), { atMs: this.nowMs + delayMs, run });
    return this.#count;
  }

  clear(id: number): void {
    this.#timers.delete(id);
  }

  get size(): number {
    return this.#timers.size;
  }

  async runUntil(done: () => boolean): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
      if (done()) return;
      const [next] = [...this.#timers].toSorted(([a, x], [b, y]) => x.atMs - y.atMs || a - b);
      if (next === undefined) throw new Error("nothing is left to wait for");
      this.#timers.delete(next[0]);
      this.nowMs = Math.max(this.nowMs, next[1].atMs);
      next[1].run();
    }
  }
}

function toHook({ does, afterMs, timeoutMs, effect, parallel }: Plan, name: string, time: Time): ChainHook<Payload> {
  return {
    name,
    source: "test",
    timeoutMs,
    parallel,
    readOnly: true,
    policy: { effectOf: () => effect },
    async call() {
      if (does === "hang") return new Promise(() => {});
      if (afterMs > 0) await new Promise<void>((resolve) => time.set(resolve, afterMs));
      if (does === "throw") throw new Error("on purpose");
      return does;
    },
  };
}

const rules = {
  point: "test",
  judge: (reply: unknown) =>
    reply === "deny"
      ? { outcome: "denied", halt: "denied" }
      : reply === "change"
        ? { outcome: "modify", next: { text: "changed" } }
        : { outcome: "ok" },
};

test("budgets and parallel calls do what the model says", async () => {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const property = fc.asyncProperty(
    fc.array(plan, { maxLength: 7 }),
    fc.integer({ min: 1, max: 60 }),
    async (plans, budgetMs) => {
      const time = new Time();
      Object.assign(globalThis, {
        setTimeout: (run: () => void, ms: number) => time.set(run, ms),
        clearTimeout: (id: number) => time.clear(id),
      });
      let outcome: Awaited<ReturnType<typeof runChain<Payload, string, ChainHook<Payload>>>> | undefined;
      try {
        const hooks = plans.map((each, index) => toHook(each, `h${index}`, time));
        const options = { rules, budgetMs, whenExhausted: "ask_hooks", now: () => time.nowMs } as const;
        void runChain(hooks, new Current({ text: "x" }), options).then((end) => void (outcome = end));
        await time.runUntil(() => outcome !== undefined);
      } finally {
        Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
      }
      const expected = model(plans, budgetMs);
      const end = outcome?.halt?.verdict ?? outcome?.failure?.effect ?? "through";
      expect([end, time.nowMs]).toEqual([expected.end, expected.ms]);
      const records = outcome?.records ?? [];
      expect(records.slice(0, expected.trail.length).map(({ outcome: name, kind }) => kind ?? name)).toEqual(
        expected.trail,
      );
      expect(records.map(({ hook }) => hook)).toEqual(records.map((_, index) => `h${index}`));
      expect(outcome?.current.value.text).toBe("x");
      // What went on because of a failure is marked, and nothing after the end is.
      expect(records.map(({ failed_open }) => failed_open === true)).toEqual(
        records.map(
          ({ kind }, index) =>
            kind !== undefined && index < expected.trail.length && plans[index]?.effect === "continue",
        ),
      );
    },
  );
  await fc.assert(property, { numRuns: 3000 });
}, 60_000);
