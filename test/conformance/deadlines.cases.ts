import { isHookCallError } from "../../src/errors.ts";
import { type Hook, type HookContext, HookManager, type HookPoint } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, countTimers, createGate, managerOf, outcomesOf, toolCall } from "./fixture.ts";

const SECTION = "PicoClaw hook semantics, section 1";

/** A clock that only moves when it is told to. */
function createClock(): { nowMs: number; readonly now: () => number } {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  return clock;
}

/** A hook that never answers. */
const hanging: Hook = {
  beforeTool: () => new Promise<never>(() => {}),
  approveTool: () => new Promise<never>(() => {}),
};

/** What is there only after a while, but without a timer. */
async function inSomeTicks<T>(value: T): Promise<T> {
  for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
  return value;
}

/** How long each kind of call has, as the hook sees it. */
async function deadlinesOf(timeouts: ConstructorParameters<typeof HookManager>[0]): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  const keep = (point: HookPoint | "event", { remainingMs }: HookContext): void => {
    seen[point] = remainingMs;
  };
  const hook: Hook = {
    beforeTool: (_, context) => keep("before_tool", context),
    approveTool(_, context) {
      keep("approve_tool", context);
      return { approved: true };
    },
    onEvent: (_, context) => keep("event", context),
  };
  const manager = await managerOf({ hook }, { ...timeouts, now: () => 0 });
  await manager.checkTool(toolCall());
  manager.emit({ Kind: "turn_start" });
  await manager.flush(1000);
  return seen;
}

/** Section 1: timeouts. */
export const deadlineCases: readonly Case[] = casesOf(
  { topic: "deadlines", source: SECTION },
  {
    "the-defaults": async () => {
      equal(await deadlinesOf({}), { before_tool: 5000, approve_tool: 60_000, event: 500 });
    },
    "each-class-has-its-own": async () => {
      const timeouts = { observerMs: 1, interceptorMs: 2, approvalMs: 3 };
      equal(await deadlinesOf({ timeouts }), { before_tool: 2, approve_tool: 3, event: 1 });
    },
    "zero-negative-and-absent-keep-the-default": async () => {
      for (const value of [0, -1, -Infinity, undefined, null] as never[]) {
        const timeouts = { observerMs: value, interceptorMs: value, approvalMs: value };
        equal(await deadlinesOf({ timeouts }), { before_tool: 5000, approve_tool: 60_000, event: 500 });
      }
    },
    "a-timeout-no-timer-can-hold-is-an-error-that-names-it": async () => {
      for (const value of [2 ** 31, Infinity, Number.NaN, "5" as never]) {
        let error: unknown;
        try {
          // oxlint-disable-next-line no-new -- the constructor is what is under test
          new HookManager({ timeouts: { approvalMs: value } });
        } catch (thrown) {
          error = thrown;
        }
        ok(error instanceof RangeError && error.message.includes("approvalMs"), `no error for ${value}`);
      }
    },
    "the-longest-timeout-is-no-short-one": async () => {
      const gate = createGate();
      const manager = await managerOf(
        { a: { beforeTool: () => gate.promise } },
        { timeouts: { interceptorMs: 2 ** 31 - 1 } },
      );
      const decision = manager.beforeTool(toolCall());
      setTimeout(gate.open, 5);
      equal(outcomesOf(await decision), ["a: continue"]);
    },
    "a-hook-that-hangs-is-cut-at-its-deadline": async () => {
      const decision = await (await managerOf({ hanging }, { timeouts: { interceptorMs: 5 } })).beforeTool(toolCall());
      equal(outcomesOf(decision), ["hanging: timeout"]);
      ok((decision.trace.records[0]?.ms ?? 0) >= 4, "the deadline came too early");
    },
    "a-hook-that-hangs-is-skipped": async () => {
      const clock = createClock();
      const hangs: Hook = {
        beforeTool() {
          clock.nowMs += 100;
          return new Promise<never>(() => {});
        },
      };
      const next: Hook = { beforeTool: () => ({ action: "deny_tool" }) };
      const manager = await managerOf({ hangs, next }, { timeouts: { interceptorMs: 100 }, now: clock.now });
      const decision = await manager.beforeTool(toolCall());
      equal(outcomesOf(decision), ["hangs: timeout", "next: deny_tool"]);
      equal([decision.trace.records[0]?.failed_open, decision.trace.records[0]?.ms], [true, 100]);
    },
    "each-hook-of-a-chain-has-the-whole-deadline": async () => {
      const { clock, remaining, manager } = await measuring();
      await manager.beforeTool(toolCall());
      equal([remaining, clock.nowMs], [[100, 100, 100], 180]);
    },
    "several-hooks-that-hang-are-each-cut": async () => {
      const manager = await managerOf(
        { a: hanging, b: hanging, c: {}, d: hanging },
        { timeouts: { interceptorMs: 5 } },
      );
      equal(outcomesOf(await manager.beforeTool(toolCall())), ["a: timeout", "b: timeout", "d: timeout"]);
    },
    "each-call-has-its-own-signal": async () => {
      const signals: AbortSignal[] = [];
      const keep: Hook = {
        async beforeTool(_, { signal }) {
          signals.push(signal);
        },
      };
      const manager = await managerOf({ a: keep, b: keep });
      await manager.beforeTool(toolCall());
      await manager.beforeTool(toolCall());
      equal([signals.length, new Set(signals).size, signals.some(({ aborted }) => aborted)], [4, 4, false]);
    },
    "a-call-s-signal-stays-the-same": async () => {
      const manager = await managerOf({
        a: { beforeTool: (_, context) => ({ action: "deny_tool", reason: String(context.signal === context.signal) }) },
      });
      equal((await manager.beforeTool(toolCall())).reason, "true");
    },
    "the-signal-aborts-at-the-deadline": async () => {
      const reason = createGate<unknown>();
      const hook: Hook = {
        beforeTool: (_, { signal }) =>
          new Promise<never>(() => {
            signal.addEventListener("abort", () => reason.open(signal.reason));
          }),
      };
      const decision = (await managerOf({ hook }, { timeouts: { interceptorMs: 5 } })).beforeTool(toolCall());
      const error = await reason.promise;
      ok(isHookCallError(error) && error.kind === "timeout", "the reason is not the deadline");
      equal(outcomesOf(await decision), ["hook: timeout"]);
    },
    "a-hook-that-gives-up-at-its-signal-has-timed-out": async () => {
      const hook: Hook = {
        approveTool: (_, { signal }) =>
          new Promise<never>((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("given up")));
          }),
      };
      const { reason } = await (await managerOf({ hook }, { timeouts: { approvalMs: 5 } })).approveTool(toolCall());
      equal(reason, 'tool approval hook "hook" timed out');
    },
    "a-signal-first-asked-for-after-the-deadline-has-aborted": async () => {
      let context: HookContext | undefined;
      const hook: Hook = {
        beforeTool(_, given) {
          context = given;
          return new Promise<never>(() => {});
        },
      };
      await (await managerOf({ hook }, { timeouts: { interceptorMs: 5 } })).beforeTool(toolCall());
      equal([context?.signal.aborted, context?.remainingMs], [true, 0]);
    },
    "the-signal-of-a-finished-call-stays-quiet": async () => {
      const signals: AbortSignal[] = [];
      const controller = new AbortController();
      const keep: Hook = {
        async beforeTool(_, { signal }) {
          signals.push(signal);
        },
      };
      const aborting: Hook = {
        beforeTool() {
          controller.abort();
        },
      };
      const manager = await managerOf({ keep, aborting });
      await rejects(manager.beforeTool(toolCall(), { signal: controller.signal }), "ERR_ABORTED");
      equal(signals[0]?.aborted, false);
    },
    "a-synchronous-hook-past-its-deadline-has-timed-out": async () => {
      const clock = createClock();
      const blocking: Hook = {
        beforeTool() {
          clock.nowMs += 100;
          return { action: "deny_tool" };
        },
        approveTool() {
          clock.nowMs += 100;
          return { approved: true };
        },
      };
      const timeouts = { interceptorMs: 100, approvalMs: 100 };
      const manager = await managerOf({ blocking }, { timeouts, now: clock.now });
      const decision = await manager.beforeTool(toolCall());
      equal(
        [decision.action, ...outcomesOf(decision), decision.trace.records[0]?.ms],
        ["continue", "blocking: timeout", 100],
      );
      const approval = await manager.approveTool(toolCall());
      equal([approval.approved, approval.reason], [false, 'tool approval hook "blocking" timed out']);
    },
    "a-hook-that-holds-the-loop-past-its-deadline-and-then-throws-has-timed-out": async () => {
      const clock = createClock();
      const throws: Hook = {
        approveTool() {
          clock.nowMs += 100;
          throw new Error("late");
        },
      };
      const throwsLater: Hook = {
        async approveTool() {
          clock.nowMs += 100;
          throw new Error("late");
        },
      };
      for (const gate of [throws, throwsLater]) {
        const manager = await managerOf({ gate }, { timeouts: { approvalMs: 100 }, now: clock.now });
        equal((await manager.approveTool(toolCall())).reason, 'tool approval hook "gate" timed out');
      }
    },
    "an-asynchronous-hook-that-holds-the-loop-past-its-deadline-has-timed-out": async () => {
      const clock = createClock();
      const blocking: Hook = {
        async beforeTool() {
          clock.nowMs += 100;
          return { action: "deny_tool" };
        },
      };
      const manager = await managerOf({ blocking }, { timeouts: { interceptorMs: 100 }, now: clock.now });
      equal(outcomesOf(await manager.beforeTool(toolCall())), ["blocking: timeout"]);
    },
    "a-reply-just-within-the-deadline-counts": async () => {
      const clock = createClock();
      const slow: Hook = {
        async beforeTool() {
          clock.nowMs += 99;
          return { action: "deny_tool" };
        },
      };
      const manager = await managerOf({ slow }, { timeouts: { interceptorMs: 100 }, now: clock.now });
      equal(outcomesOf(await manager.beforeTool(toolCall())), ["slow: deny_tool"]);
    },
    "a-rejection-after-the-deadline-is-harmless": async () => {
      const gate = createGate<never>();
      const manager = await managerOf({ late: { beforeTool: () => gate.promise } }, { timeouts: { interceptorMs: 5 } });
      const decision = await manager.beforeTool(toolCall());
      gate.fail(new Error("too late"));
      await gate.promise.catch(() => {});
      equal(outcomesOf(decision), ["late: timeout"]);
    },
    "a-reply-after-the-deadline-is-dropped": async () => {
      const gate = createGate<{ readonly approved: boolean }>();
      const manager = await managerOf({ late: { approveTool: () => gate.promise } }, { timeouts: { approvalMs: 5 } });
      const decision = await manager.approveTool(toolCall());
      gate.open({ approved: true });
      await gate.promise;
      equal([decision.approved, outcomesOf(decision)], [false, ["late: timeout"]]);
    },
    "no-timer-is-left": async () => {
      const timers = await countTimers(async () => {
        const quick: Hook = {
          beforeTool: () => inSomeTicks(null),
          approveTool: () => inSomeTicks({ approved: true }),
          onEvent: () => inSomeTicks(undefined),
        };
        const quickOnly = await managerOf({ quick });
        await quickOnly.checkTool(toolCall());
        quickOnly.emit({ Kind: "turn_start" });
        await quickOnly.flush(10_000);
        const mixed = await managerOf(
          { quick, hanging, last: quick },
          { timeouts: { interceptorMs: 5, approvalMs: 5 } },
        );
        await mixed.beforeTool(toolCall());
        await mixed.approveTool(toolCall());
        const controller = new AbortController();
        const aborted = mixed.beforeTool(toolCall(), { signal: controller.signal });
        await inSomeTicks(undefined);
        controller.abort();
        await rejects(aborted, "ERR_ABORTED");
      });
      ok(timers.started > 4, "too few timers were counted");
      equal(timers.left, 0);
    },
    "a-synchronous-chain-starts-no-timer": async () => {
      const quick: Hook = { beforeTool: () => null };
      const manager = await managerOf({ a: quick, b: quick });
      const timers = await countTimers(async () => {
        await manager.beforeTool(toolCall());
      });
      equal(timers, { started: 0, left: 0 });
    },
  },
);

async function measuring(): Promise<{ clock: { nowMs: number }; remaining: number[]; manager: HookManager }> {
  const clock = createClock();
  const remaining: number[] = [];
  const slow: Hook = {
    async beforeTool(_, context) {
      remaining.push(context.remainingMs);
      clock.nowMs += 60;
    },
  };
  const options = { timeouts: { interceptorMs: 100 }, now: clock.now };
  return { clock, remaining, manager: await managerOf({ a: slow, b: slow, c: slow }, options) };
}
