import type { Hook } from "../../src/picoclaw/index.ts";
import { type Case, equal } from "./case.ts";
import { casesOf, managerOf, outcomesOf, toolCall } from "./fixture.ts";

/** A clock that only moves when it is told to. */
function createClock(): { nowMs: number; readonly now: () => number } {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  return clock;
}

/** What a host that is itself waited for may allow for a whole call. */
export const callLimitCases: readonly Case[] = casesOf(
  { topic: "call-limit", source: "PicoClaw hook semantics, section 1" },
  {
    "what-the-call-may-take-bounds-the-chain": async () => {
      const clock = createClock();
      const seen: number[] = [];
      const slow: Hook = {
        beforeTool(_, { remainingMs }) {
          seen.push(remainingMs);
          clock.nowMs += 60;
        },
      };
      const manager = await managerOf({ a: slow, b: slow, c: slow }, { now: clock.now });
      const decision = await manager.beforeTool(toolCall(), { timeoutMs: 100 });
      equal(outcomesOf(decision), ["a: continue", "b: timeout", "c: timeout"]);
      equal(seen, [100, 40]);
      equal(decision.action, "continue");
    },
    "what-the-call-may-take-is-shared-by-check-tool": async () => {
      const clock = createClock();
      const hook: Hook = {
        beforeTool() {
          clock.nowMs += 100;
        },
        approveTool: () => ({ approved: true }),
      };
      const manager = await managerOf({ hook }, { now: clock.now });
      const decision = await manager.checkTool(toolCall(), { timeoutMs: 100 });
      equal([decision.approved, outcomesOf(decision)], [false, ["hook: timeout", "hook: timeout"]]);
      const inTime = await manager.checkTool(toolCall(), { timeoutMs: 101 });
      equal([inTime.approved, outcomesOf(inTime)], [true, ["hook: continue", "hook: approved"]]);
    },
  },
);
