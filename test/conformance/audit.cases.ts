import type { ObservedDecision } from "../../src/chain/index.ts";
import { type Hook, HookManager } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, createGate, META, outcomesOf, toolCall } from "./fixture.ts";
import { denies, failingWith, mountAll } from "./operation-fixture.ts";

/** Hooks whose verdicts are only recorded. */
export const auditCases: readonly Case[] = casesOf(
  { topic: "audit", source: "docs/config.md, Audit" },
  {
    "a-verdict-is-recorded-and-not-applied": async () => {
      const manager = await mountAll({
        a: { hook: { beforeTool: () => ({ action: "deny_tool", reason: "no" }) }, mode: "audit" },
        b: { hook: { beforeTool: () => ({ call: { tool: "rm" } }) }, mode: "audit" },
        c: { hook: failingWith("hook_error"), mode: "audit", policy: { onError: "deny" } },
      });
      const { action, changed, call, trace } = await manager.beforeTool(toolCall());
      equal([action, changed, call.tool], ["continue", false, "exec"]);
      equal(
        trace.records.map(({ outcome, would, failed_open }) => [outcome, would, failed_open]),
        [
          ["audit", "deny_tool: no", undefined],
          ["audit", "modify", undefined],
          ["no_verdict", "deny", undefined],
        ],
      );
    },
    "an-approver-in-audit-mode-denies-nothing": async () => {
      const manager = await mountAll({ a: { hook: denies, mode: "audit" } });
      const { approved, trace } = await manager.approveTool(toolCall());
      equal([approved, trace.records[0]?.would], [true, "denied: no"]);
    },
    "a-detached-hook-is-called-after-the-verdict": async () => {
      const gate = createGate<{ action: "deny_tool" }>();
      const seen: string[] = [];
      const shadow: Hook = { beforeTool: ({ tool }) => (seen.push(tool), gate.promise) };
      const late: unknown[] = [];
      const manager = await mountAll(
        {
          a: { hook: { beforeTool: () => ({ call: { tool: "rm" } }) } },
          shadow: { hook: shadow, mode: "audit", detached: true },
          b: { hook: { beforeTool: () => ({ call: { tool: "mv" } }) } },
        },
        { onDetached: ({ hook, would }) => late.push([hook, would]) },
      );
      const decision = await manager.beforeTool(toolCall());
      equal([decision.call.tool, outcomesOf(decision)], ["mv", ["a: modify", "b: modify"]]);
      gate.open({ action: "deny_tool" });
      await manager.flush(1000);
      equal([seen, late, manager.hooks()[1]?.calls], [["rm"], [["shadow", "deny_tool"]], 1]);
    },
    "what-a-detached-hook-would-have-done-is-a-record-of-its-own": async () => {
      const decisions: ObservedDecision[] = [];
      const manager = await mountAll(
        {
          shadow: {
            hook: { beforeTool: () => ({ action: "deny_tool", reason: "no" }) },
            mode: "audit",
            detached: true,
          },
        },
        { onDecision: (decision) => void decisions.push(decision) },
      );
      const { trace } = await manager.beforeTool(toolCall());
      await manager.flush(1000);
      equal(
        decisions.map(({ action, reason, records }) => [action, reason, records.map(({ would }) => would)]),
        [
          ["continue", "", []],
          ["detached", `after decision ${trace.id}`, ["deny_tool: no"]],
        ],
      );
      equal(decisions[0]?.traceId, decisions[1]?.traceId);
      ok(decisions[0]?.id !== decisions[1]?.id, "they have one id");
    },
    "what-waits-after-verdicts-is-bounded-and-counted": async () => {
      const gate = createGate();
      const manager = await mountAll(
        { a: { hook: { beforeTool: () => gate.promise }, mode: "audit", detached: true } },
        { maxQueuedEvents: 2 },
      );
      for (let index = 0; index < 10; index += 1) await manager.beforeTool(toolCall());
      equal(manager.hooks()[0]?.detached_dropped, 7);
      gate.open();
      await manager.flush(1000);
      equal(manager.hooks()[0]?.calls, 3);
    },
  },
);

interface Counting {
  readonly hook: Hook;
  count: number;
}

function answering(reply: (count: number) => unknown): Counting {
  const counting: Counting = {
    count: 0,
    hook: {
      beforeTool: () => reply((counting.count += 1)) as never,
      approveTool: () => reply((counting.count += 1)) as never,
    },
  };
  return counting;
}

const CACHE = { ttl_ms: 1000, key: ["arguments"] };

/** Verdicts that are used again. */
export const cacheCases: readonly Case[] = casesOf(
  { topic: "cache", source: "docs/config.md, Cache" },
  {
    "approvals-and-denials-are-used-again-for-the-same-key": async () => {
      for (const approved of [true, false]) {
        const counting = answering(() => ({ approved, reason: "r", cache: CACHE }));
        const manager = await mountAll({ a: { hook: counting.hook, cache: { maxTtlMs: 60_000 } } });
        await manager.approveTool(toolCall({ a: 1, b: [1] }));
        const again = await manager.approveTool(toolCall({ b: [1], a: 1 }));
        equal([again.approved, again.trace.records[0]?.cached, counting.count], [approved, true, 1]);
        ok(!("cache" in again), "the hint stays here");
        await manager.approveTool(toolCall({ a: 1, b: ["[]", 1] }));
        await manager.approveTool({ ...toolCall({ a: 1, b: [1] }), tool: "other" });
        equal([counting.count, manager.hooks()[0]?.cached], [3, 1]);
      }
    },
    "nothing-is-kept-unless-the-config-allows-it": async () => {
      const counting = answering(() => ({ approved: true, cache: CACHE }));
      const manager = await mountAll({ a: { hook: counting.hook } });
      await manager.approveTool(toolCall());
      await manager.approveTool(toolCall());
      equal(counting.count, 2);
    },
    "no-verdicts-changes-and-bad-hints-are-not-kept": async () => {
      const replies: readonly unknown[] = [
        { approved: "yes", cache: CACHE },
        { call: { tool: "rm" }, cache: CACHE },
        { action: "abort_turn", cache: CACHE },
        { action: "shred", cache: CACHE },
        { approved: true, cache: { ttl_ms: 1000, key: [] } },
        { approved: true, cache: { ttl_ms: 1000, key: ["argumnets"] } },
        { approved: true, cache: { ttl_ms: 0, key: ["arguments"] } },
        { approved: true, cache: { ttl_ms: "1000", key: ["arguments"] } },
        { approved: true, cache: { ttl_ms: 1000, key: "arguments" } },
      ];
      for (const reply of replies) {
        const counting = answering(() => reply);
        const manager = await mountAll({ a: { hook: counting.hook, cache: { maxTtlMs: 60_000 } } });
        const isApproval = typeof reply === "object" && reply !== null && "approved" in reply;
        for (let call = 0; call < 2; call += 1) {
          await (isApproval ? manager.approveTool(toolCall()) : manager.beforeTool(toolCall()));
        }
        equal([reply, counting.count], [reply, 2]);
      }
    },
    "a-verdict-ends-with-the-shorter-of-both-times": async () => {
      let nowMs = 0;
      const counting = answering(() => ({ approved: true, cache: { ttl_ms: 5000, key: ["tool"] } }));
      const manager = await mountAll({ a: { hook: counting.hook, cache: { maxTtlMs: 100 } } }, { now: () => nowMs });
      await manager.approveTool(toolCall());
      nowMs = 99;
      await manager.approveTool(toolCall());
      nowMs = 100;
      await manager.approveTool(toolCall());
      equal(counting.count, 2);
    },
    "the-least-recently-used-goes-first": async () => {
      const counting = answering(() => ({ approved: true, cache: CACHE }));
      const manager = await mountAll({ a: { hook: counting.hook, cache: { maxTtlMs: 60_000, maxEntries: 2 } } });
      for (const n of [1, 2, 1, 3, 1, 2]) await manager.approveTool(toolCall({ n }));
      equal(counting.count, 4);
    },
    "a-hook-mounted-anew-begins-empty": async () => {
      const counting = answering(() => ({ approved: true, cache: CACHE }));
      const manager = new HookManager();
      for (let generation = 0; generation < 2; generation += 1) {
        await manager.mount(counting.hook, { name: "a", cache: { maxTtlMs: 60_000 } });
        await manager.approveTool(toolCall());
      }
      equal(counting.count, 2);
    },
  },
);

/** How many calls of a hook may be under way. */
export const concurrencyCases: readonly Case[] = casesOf(
  { topic: "concurrency", source: "docs/config.md, Overload" },
  {
    "what-has-no-room-waits-within-its-deadline": async () => {
      const gate = createGate();
      const manager = await mountAll({
        a: { hook: { beforeTool: () => gate.promise }, maxConcurrency: 1, timeoutMs: 50 },
      });
      const calls = [manager.beforeTool(toolCall()), manager.beforeTool(toolCall())];
      equal(manager.hooks()[0]?.concurrency, { running: 1, waiting: 1, max: 1 });
      equal(outcomesOf(await manager.beforeTool(toolCall())), ["a: overloaded"]);
      const decisions = await Promise.all(calls);
      equal(decisions.map(outcomesOf), [["a: timeout"], ["a: timeout"]]);
      equal(manager.hooks()[0]?.concurrency, { running: 0, waiting: 0, max: 1 });
      gate.open();
    },
    "approvals-go-before-events-that-have-waited-longer": async () => {
      const order: string[] = [];
      const gates = [createGate(), createGate(), createGate(), createGate()];
      const take = async <T>(name: string, reply: T): Promise<T> => {
        const gate = gates[order.push(name) - 1];
        await gate?.promise;
        return reply;
      };
      const hook: Hook = {
        beforeTool: () => take("interceptor", undefined),
        approveTool: () => take("approval", { approved: true }),
        onEvent: () => take("event", undefined),
      };
      const manager = await mountAll({ a: { hook, maxConcurrency: 2 } });
      const running = [manager.beforeTool(toolCall()), manager.beforeTool(toolCall())];
      manager.emit({ Kind: "turn_start", Meta: META });
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      const approval = manager.approveTool(toolCall());
      equal(manager.hooks()[0]?.concurrency, { running: 2, waiting: 2, max: 2 });
      gates[0]?.open();
      await running[0];
      equal(order, ["interceptor", "interceptor", "approval"]);
      for (const gate of gates) gate.open();
      equal((await approval).approved, true);
      await running[1];
      await manager.flush(1000);
      equal(order, ["interceptor", "interceptor", "approval", "event"]);
    },
    "a-hook-that-is-full-holds-up-no-other": async () => {
      const gate = createGate();
      const manager = await mountAll({
        slow: { hook: { beforeTool: () => gate.promise }, maxConcurrency: 1, match: { tool: ["slow"] } },
        quick: { hook: { beforeTool: () => {} }, maxConcurrency: 1 },
      });
      const stuck = manager.beforeTool({ ...toolCall(), tool: "slow" });
      for (let call = 0; call < 5; call += 1) {
        equal(outcomesOf(await manager.beforeTool(toolCall())), ["quick: continue"]);
      }
      gate.open();
      await stuck;
    },
  },
);
