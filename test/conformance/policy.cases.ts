import { causeOf, type FailureEffect, type FailureRules, NO_VERDICT_KINDS } from "../../src/index.ts";
import { type Hook, HookManager, type HookPort } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { CALLS, casesOf, createGate, META, outcomesOf, POINTS, remoteHook, toolCall } from "./fixture.ts";
import { approves, denies, failingWith, hangs, mountAll } from "./operation-fixture.ts";

const RULES: Readonly<Record<ReturnType<typeof causeOf>, keyof FailureRules>> = {
  error: "onError",
  timeout: "onTimeout",
  invalid: "onInvalid",
  unreachable: "onUnreachable",
};
const EFFECTS: readonly FailureEffect[] = ["continue", "deny", "abort_turn"];

/** What no-verdicts mean. */
export const policyCases: readonly Case[] = casesOf(
  { topic: "policy", source: "docs/config.md, Failure policy" },
  {
    "each-kind-asks-the-rule-of-its-cause-and-no-other": async () => {
      for (const kind of NO_VERDICT_KINDS) {
        const cause = causeOf(kind);
        const others = Object.fromEntries(Object.values(RULES).map((name) => [name, "abort_turn" as const]));
        const policy = { ...others, [RULES[cause]]: "continue" } as FailureRules;
        const manager = await mountAll({ a: { hook: failingWith(kind), policy } });
        const { approved, trace } = await manager.approveTool(toolCall());
        equal([kind, approved, trace.records[0]?.failed_open], [kind, true, true]);
      }
    },
    "an-interceptor-does-what-its-policy-says-at-every-point": async () => {
      for (const point of POINTS) {
        for (const effect of EFFECTS) {
          const manager = await mountAll({ a: { hook: failingWith("hook_error"), policy: { onError: effect } } });
          const { action, trace } = await CALLS[point](manager);
          const denial = point === "before_tool" ? "deny_tool" : "abort_turn";
          const expected = { continue: "continue", deny: denial, abort_turn: "abort_turn" }[effect];
          const isOpen = effect === "continue" ? true : undefined;
          equal([point, effect, action, trace.records[0]?.failed_open], [point, effect, expected, isOpen]);
        }
      }
    },
    "an-approver-that-may-continue-is-as-if-it-were-absent": async () => {
      const manager = await mountAll({
        a: { hook: failingWith("unreachable"), policy: { onUnreachable: "continue" } },
        b: { hook: denies },
      });
      equal((await manager.approveTool(toolCall())).reason, "no");
      await manager.unmount("b");
      equal((await manager.approveTool(toolCall())).approved, true);
      equal(manager.hooks()[0]?.failed_open_by, [{ point: "approve_tool", kind: "unreachable", count: 2 }]);
    },
    "an-approver-that-aborts-the-turn-does-not-approve": async () => {
      const manager = await mountAll({ a: { hook: failingWith("exited"), policy: { onError: "abort_turn" } } });
      const { approved, action } = await manager.approveTool(toolCall());
      equal([approved, action], [false, "abort_turn"]);
      const check = await manager.checkTool(toolCall());
      equal([check.approved, check.action], [false, "abort_turn"]);
    },
    "a-hook's-own-rule-comes-before-that-of-its-class": async () => {
      const policies = {
        interceptors: { onError: "deny", onTimeout: "deny" },
        approvals: { onError: "continue" },
      } as const;
      const manager = await mountAll(
        {
          a: { hook: failingWith("hook_error") },
          b: { hook: failingWith("hook_error"), policy: { onError: "continue" } },
        },
        { policies },
      );
      equal((await manager.beforeTool(toolCall())).action, "deny_tool");
      equal((await manager.approveTool(toolCall())).approved, true);
      await manager.unmount("a");
      equal((await manager.beforeTool(toolCall())).action, "continue");
    },
    "a-verdict-is-never-overridden": async () => {
      const policy = {
        onError: "continue",
        onTimeout: "continue",
        onInvalid: "continue",
        onUnreachable: "continue",
      } as const;
      const manager = await mountAll({ a: { hook: denies, policy } });
      const { approved, trace } = await manager.approveTool(toolCall());
      equal([approved, trace.records[0]?.failed_open], [false, undefined]);
    },
    "a-budget-cuts-the-running-hook-and-says-so": async () => {
      const manager = await mountAll({ a: { hook: hangs } }, { budgets: { interceptorMs: 20 } });
      const decision = await manager.beforeTool(toolCall());
      equal([decision.action, outcomesOf(decision)], ["continue", ["a: budget"]]);
    },
    "an-approver-not-reached-has-not-approved": async () => {
      const policy = { onTimeout: "continue" } as const;
      const manager = await mountAll(
        { a: { hook: hangs, policy }, b: { hook: approves } },
        { budgets: { approvalMs: 20 } },
      );
      const decision = await manager.approveTool(toolCall());
      equal([decision.approved, decision.reason], [false, 'tool approval hook "b" timed out']);
      equal(
        decision.trace.records.map(({ hook, kind, attempt }) => [hook, kind, attempt]),
        [
          ["a", "budget", 1],
          ["b", "budget", 0],
        ],
      );
      equal(manager.hooks()[1]?.calls, 0);
    },
    "what-is-left-of-the-budget-is-what-the-hook-is-told": async () => {
      let nowMs = 0;
      const left: number[] = [];
      const spend: Hook = {
        beforeTool: (_call, { remainingMs }) => {
          left.push(remainingMs);
          nowMs += 40;
        },
      };
      const manager = await mountAll(
        { a: { hook: spend }, b: { hook: spend }, c: { hook: spend } },
        { budgets: { interceptorMs: 100 }, now: () => nowMs },
      );
      await manager.beforeTool(toolCall());
      equal(left, [100, 60, 20]);
    },
    "a-hook's-own-deadline-comes-before-that-of-its-class": async () => {
      const manager = await mountAll({ a: { hook: hangs, timeoutMs: 10 } });
      equal(outcomesOf(await manager.beforeTool(toolCall())), ["a: timeout"]);
    },
    "what-contradicts-itself-is-not-mounted": async () => {
      const { port: observer } = remoteHook([], () => null, { observe: ["*"] });
      const wrong: readonly (readonly [Hook | HookPort, object])[] = [
        [{ beforeTool: () => {} }, { parallel: true }],
        [{ beforeTool: () => {} }, { readOnly: true, grants: ["respond"] }],
        [{ beforeTool: () => {} }, { detached: true }],
        [{ beforeTool: () => {} }, { match: { model: ["x"] } }],
        [{ beforeTool: () => {} }, { match: { tool: ["a", "!*"] } }],
        [{ beforeTool: () => {} }, { policy: { onError: "maybe" } }],
        [{ beforeTool: () => {} }, { timeoutMs: 0 }],
        [{ beforeTool: () => {} }, { maxConcurrency: 0 }],
        [{ beforeTool: () => {} }, { cache: { maxTtlMs: 0 } }],
        [observer, { cache: { maxTtlMs: 5 } }],
        [observer, { policy: { onError: "deny" } }],
      ];
      for (const [hook, options] of wrong) {
        const manager = new HookManager();
        const got = await manager.mount(hook, { name: "a", ...options }).then(
          () => "mounted",
          (error: Error) => error.name,
        );
        ok(got === "TypeError" || got === "RangeError", `${JSON.stringify(options)}: ${got}`);
        equal(manager.hooks(), []);
      }
    },
  },
);

/** A hook that notes when it is called. */
function noting(called: string[], name: string, reply?: unknown): Hook {
  const note = (): never => {
    called.push(name);
    return reply as never;
  };
  return { beforeTool: note, approveTool: note };
}

/** Which calls a hook is made for. */
export const matchCases: readonly Case[] = casesOf(
  { topic: "match", source: "docs/config.md, Match" },
  {
    "every-field-must-match-exactly-or-by-glob": async () => {
      const called: string[] = [];
      const manager = await mountAll({
        exact: { hook: noting(called, "exact"), match: { tool: ["exec"] } },
        glob: { hook: noting(called, "glob"), match: { tool: ["e*c", "x"], channel: ["cli"] } },
        other: { hook: noting(called, "other"), match: { tool: ["exec"], channel: ["web"] } },
        not: { hook: noting(called, "not"), match: { tool: ["*", "!ex*"] } },
        agent: { hook: noting(called, "agent"), match: { agent: ["main"], session: ["cli:*"] } },
        absent: { hook: noting(called, "absent"), match: { channel: ["!web"] } },
      });
      const decision = await manager.beforeTool(toolCall());
      equal(called, ["exact", "glob", "agent", "absent"]);
      equal(decision.trace.records.length, 4);
      equal(
        manager.hooks().map(({ skipped }) => skipped),
        [0, 0, 1, 1, 0, 0],
      );
    },
    "what-an-earlier-hook-made-of-the-call-is-matched": async () => {
      const called: string[] = [];
      const manager = await mountAll({
        renames: { hook: { beforeTool: () => ({ call: { tool: "rm" } }) } },
        guard: { hook: noting(called, "guard", { action: "deny_tool" }), match: { tool: ["rm"] } },
        old: { hook: noting(called, "old"), match: { tool: ["exec"] } },
      });
      equal((await manager.beforeTool(toolCall())).action, "deny_tool");
      equal(called, ["guard"]);
    },
    "skipped-calls-are-counted-however-many-kinds-there-are": async () => {
      const manager = await mountAll({ a: { hook: { beforeTool: () => {} }, match: { tool: ["x"] } } });
      for (let index = 0; index < 1500; index += 1) await manager.beforeTool({ ...toolCall(), tool: `t${index}` });
      await manager.beforeTool({ ...toolCall(), tool: "y".repeat(600) });
      equal([manager.hooks()[0]?.skipped, manager.hooks()[0]?.calls], [1501, 0]);
    },
    "a-point-without-the-field-is-not-called": async () => {
      const called: string[] = [];
      const hook: Hook = { ...noting(called, "a"), beforeLlm: () => void called.push("llm") };
      const manager = await mountAll({ a: { hook, match: { tool: ["!rm"] } } });
      await manager.beforeLlm({ meta: META, model: "m" });
      await manager.beforeTool(toolCall());
      equal([called, manager.hooks()[0]?.points], [["a"], ["before_tool", "approve_tool"]]);
    },
    "a-matched-model": async () => {
      const called: string[] = [];
      const hook = remoteHook(["before_llm"], () => void called.push("remote")).port;
      const manager = await mountAll({ a: { hook, match: { model: ["gpt-*"] } } });
      await manager.beforeLlm({ meta: META, model: "gpt-5" });
      await manager.beforeLlm({ meta: META, model: "other" });
      equal(called, ["remote"]);
    },
  },
);

/** Hooks that are called at the same time. */
export const parallelCases: readonly Case[] = casesOf(
  { topic: "parallel", source: "docs/config.md, Parallel" },
  {
    "neighbours-are-called-at-once-and-recorded-in-order": async () => {
      const gates = [createGate<{ approved: boolean }>(), createGate<{ approved: boolean }>()] as const;
      const manager = await mountAll({
        a: { hook: { approveTool: () => gates[0].promise }, parallel: true },
        b: { hook: { approveTool: () => gates[1].promise }, parallel: true },
      });
      const call = manager.approveTool(toolCall());
      gates[1].open({ approved: true });
      gates[0].open({ approved: true });
      const decision = await call;
      equal([decision.approved, outcomesOf(decision)], [true, ["a: approved", "b: approved"]]);
    },
    "the-first-denial-in-order-wins-and-the-rest-are-cut": async () => {
      const gate = createGate<{ approved: boolean; reason: string }>();
      let isCut = false;
      const stuck: Hook = {
        approveTool: (_request, { signal }) =>
          new Promise(() => signal.addEventListener("abort", () => void (isCut = true))),
      };
      const manager = await mountAll({
        a: { hook: { approveTool: () => gate.promise }, parallel: true },
        b: { hook: { approveTool: async () => ({ approved: false, reason: "second" }) }, parallel: true },
        c: { hook: stuck, parallel: true },
        d: { hook: approves },
      });
      const call = manager.approveTool(toolCall());
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      equal(isCut, true);
      gate.open({ approved: false, reason: "first" });
      const decision = await call;
      equal([decision.reason, outcomesOf(decision)], ["first", ["a: denied", "b: denied", "c: superseded"]]);
      equal(manager.hooks()[2]?.no_verdicts, {});
    },
    "a-read-only-hook-that-changes-something-gave-no-verdict": async () => {
      for (const reply of [{ call: { tool: "rm" } }, { action: "respond", result: { for_llm: "x" } }]) {
        const hook = remoteHook(["before_tool"], () => reply).port;
        for (const parallel of [true, false]) {
          const manager = await mountAll({
            a: { hook, readOnly: true, parallel },
            b: { hook: { beforeTool: () => {} }, readOnly: true, parallel },
          });
          const decision = await manager.beforeTool(toolCall());
          equal([decision.call.tool, decision.action], ["exec", "continue"]);
          equal(outcomesOf(decision).toSorted(), ["a: bad_result", "b: continue"]);
        }
      }
    },
    "each-has-its-own-deadline-and-policy": async () => {
      const manager = await mountAll({
        a: { hook: hangs, parallel: true, readOnly: true, timeoutMs: 10, policy: { onTimeout: "continue" } },
        b: { hook: hangs, parallel: true, readOnly: true, timeoutMs: 15 },
      });
      const decision = await manager.approveTool(toolCall());
      equal(
        [decision.reason, outcomesOf(decision)],
        ['tool approval hook "b" timed out', ["a: timeout", "b: timeout"]],
      );
      equal(decision.trace.records[0]?.failed_open, true);
    },
  },
);
