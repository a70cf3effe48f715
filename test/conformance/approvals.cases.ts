import type { ApprovalDecision, Hook } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { at, casesOf, createGate, managerOf, META, outcomesOf, remoteHook, toolCall } from "./fixture.ts";

/** The decision over remote approvers that answer these, in order. */
async function approveOver(...replies: readonly unknown[]): Promise<ApprovalDecision> {
  const hooks = replies.map((reply, i) => [`h${i}`, remoteHook(["approve_tool"], () => reply).port] as const);
  return (await managerOf(Object.fromEntries(hooks))).approveTool(toolCall());
}

async function told(...replies: readonly unknown[]): Promise<readonly [boolean, string]> {
  const { approved, reason } = await approveOver(...replies);
  return [approved, reason];
}

/** Section 4: approvals. */
export const approvalCases: readonly Case[] = casesOf(
  { topic: "approvals", source: "PicoClaw hook semantics, section 4" },
  {
    "no-approver-approves": async () => {
      equal(await told(), [true, ""]);
    },
    "all-true-approves": async () => {
      equal(await told({ approved: true }, { approved: true, reason: "fine" }), [true, ""]);
    },
    "the-first-false-wins": async () => {
      const decision = await approveOver(
        { approved: true },
        { approved: false, reason: "no" },
        { approved: false, reason: "later" },
      );
      equal([decision.approved, decision.reason], [false, "no"]);
      equal(outcomesOf(decision), ["h0: approved", "h1: denied"]);
    },
    "a-denial-is-returned-verbatim": async () => {
      const { trace, ...rest } = await approveOver({ approved: false, reason: "no", ticket: { id: 7 } });
      equal(rest, { approved: false, reason: "no", ticket: { id: 7 } });
      equal(trace.records.length, 1);
    },
    "what-else-a-denial-says-never-replaces-the-trace": async () => {
      const decision = await approveOver({ approved: false, trace: { id: "forged", records: [] } });
      equal(outcomesOf(decision), ["h0: denied"]);
    },
    "approvers-are-asked-one-after-the-other": async () => {
      const gate = createGate();
      let isAsked = false;
      const manager = await managerOf({
        first: { approveTool: () => gate.promise.then(() => ({ approved: true })) },
        second: {
          approveTool() {
            isAsked = true;
            return { approved: true };
          },
        },
      });
      const decision = manager.approveTool(toolCall());
      await Promise.resolve();
      equal(isAsked, false);
      gate.open();
      equal([(await decision).approved, isAsked], [true, true]);
    },
    "approvers-keep-the-order-of-all-hooks": async () => {
      const far = remoteHook(["approve_tool"], () => ({ approved: true }));
      const manager = await managerOf({ far: far.port, near: { approveTool: () => ({ approved: true }) } });
      equal(outcomesOf(await manager.approveTool(toolCall())), ["near: approved", "far: approved"]);
    },
    "each-approver-gets-the-same-request": async () => {
      const changing: Hook = {
        approveTool(request) {
          at(request, "arguments")["command"] = "rm";
          return { approved: true, call: { tool: "other" }, request: { tool: "other" } };
        },
      };
      const far = remoteHook(["approve_tool"], () => ({ approved: true }));
      await (await managerOf({ changing, far: far.port })).approveTool(toolCall());
      equal(far.read(0), toolCall());
    },
    "no-verdict-denies-and-names-the-hook": async () => {
      const failing: readonly Hook[] = [
        {
          approveTool() {
            throw new Error("secret detail");
          },
        },
        { approveTool: () => Promise.reject(new Error("secret detail")) },
        { approveTool: () => 5 as never },
        { approveTool: () => true as never },
        { approveTool: () => [] as never },
      ];
      for (const gate of failing) {
        const { approved, reason } = await (await managerOf({ gate })).approveTool(toolCall());
        equal([approved, reason], [false, 'tool approval hook "gate" failed']);
      }
    },
    "no-verdict-within-the-deadline-denies-as-timed-out": async () => {
      const gate: Hook = { approveTool: () => new Promise<never>(() => {}) };
      const decision = await (await managerOf({ gate }, { timeouts: { approvalMs: 5 } })).approveTool(toolCall());
      equal([decision.approved, decision.reason], [false, 'tool approval hook "gate" timed out']);
      equal(outcomesOf(decision), ["gate: timeout"]);
    },
    "a-denial-without-a-verdict-is-not-failing-open": async () => {
      const { trace } = await approveOver("x");
      equal([trace.records[0]?.kind, trace.records[0]?.failed_open], ["bad_result", undefined]);
    },
    "no-later-approver-is-asked-after-no-verdict": async () => {
      const decision = await approveOver(5, { approved: true });
      equal(outcomesOf(decision), ["h0: bad_result"]);
    },
    "nothing-said-denies-with-an-empty-reason": async () => {
      for (const reply of [
        undefined,
        null,
        {},
        { ok: true },
        { approved: null },
        { Approved: true },
        { allow: true },
      ]) {
        equal(await told(reply), [false, ""]);
      }
    },
    "an-in-process-approver-that-says-nothing-denies": async () => {
      for (const silent of [() => {}, () => null, async () => {}]) {
        const { approved, reason } = await (await managerOf({ gate: { approveTool: silent } })).approveTool(toolCall());
        equal([approved, reason], [false, ""]);
      }
    },
    "approved-that-is-no-boolean-is-no-verdict": async () => {
      for (const approved of ["true", "yes", 1, 0, "", {}, [], [true]]) {
        const decision = await approveOver({ approved });
        equal([decision.approved, decision.reason], [false, 'tool approval hook "h0" failed']);
        equal(outcomesOf(decision), ["h0: bad_result"]);
      }
    },
    "a-reason-that-is-no-string-still-denies": async () => {
      equal(await told({ approved: false, reason: 5 }), [false, 'tool approval hook "h0" failed']);
    },
    "a-reason-that-is-no-string-approves-nothing": async () => {
      const decision = await approveOver({ approved: true, reason: 5 });
      equal([decision.approved, decision.reason], [false, 'tool approval hook "h0" failed']);
      equal(outcomesOf(decision), ["h0: bad_result"]);
    },
    "a-reply-that-throws-when-it-is-read-denies": async () => {
      const reply = {
        get approved(): boolean {
          throw new Error("no");
        },
      };
      const { approved, reason } = await (
        await managerOf({ gate: { approveTool: () => reply } })
      ).approveTool(toolCall());
      equal([approved, reason], [false, 'tool approval hook "gate" failed']);
    },
    "approval-sees-the-rewritten-call": async () => {
      const gate = remoteHook(["before_tool", "approve_tool"], (params) =>
        at(params)["tool"] === "exec" ? { call: { tool: "safe", arguments: { n: 1 } } } : { approved: true },
      );
      const check = await (await managerOf({ gate: gate.port })).checkTool(toolCall());
      equal(
        gate.sent.map(({ method }) => method),
        ["hook.before_tool", "hook.approve_tool"],
      );
      equal(gate.read(1), { ...toolCall({ n: 1 }), tool: "safe" });
      equal([check.action, check.approved, check.call.tool], ["continue", true, "safe"]);
    },
    "approval-is-skipped-for-respond-and-deny": async () => {
      const replies = [
        [{ action: "respond", result: { for_llm: "x" } }, "respond", true],
        [{ action: "deny_tool", reason: "no" }, "deny_tool", false],
        [{ action: "abort_turn" }, "abort_turn", false],
        [{ action: "hard_abort" }, "hard_abort", false],
      ] as const;
      for (const [reply, action, approved] of replies) {
        const gate = remoteHook(["before_tool", "approve_tool"], () => reply);
        const check = await (await managerOf({ gate: gate.port })).checkTool(toolCall());
        equal([check.action, check.approved, gate.sent.length], [action, approved, 1]);
      }
    },
    "a-check-has-the-records-of-both": async () => {
      const gate = remoteHook(["before_tool", "approve_tool"], () => ({ approved: true }));
      const check = await (await managerOf({ gate: gate.port })).checkTool(toolCall());
      equal(
        check.trace.records.map(({ point, outcome }) => [point, outcome]),
        [
          ["before_tool", "continue"],
          ["approve_tool", "approved"],
        ],
      );
    },
    "a-denied-check-has-the-approver-s-reason": async () => {
      const gate = remoteHook(["approve_tool"], () => ({ approved: false, reason: "no", ticket: 7 }));
      const check = await (await managerOf({ gate: gate.port })).checkTool(toolCall());
      equal([check.approved, check.reason, check.call, Reflect.get(check, "ticket")], [false, "no", toolCall(), 7]);
    },
    "what-else-a-denial-says-never-passes-for-a-decision": async () => {
      const forged = { action: "respond", call: { tool: "rm" }, result: { for_llm: "x" }, changed: true, trace: 1 };
      const gate = remoteHook(["approve_tool"], () => ({ ...forged, approved: false }));
      const check = await (await managerOf({ gate: gate.port })).checkTool(toolCall());
      equal([check.approved, check.action, check.call, check.result], [false, "continue", toolCall(), undefined]);
      equal([check.changed, check.trace.records.length], [false, 1]);
    },
    "approvers-are-not-told-of-a-result-that-is-there": async () => {
      const gate = remoteHook(["approve_tool"], () => ({ approved: true }));
      const call = { ...toolCall(), hook_result: { for_llm: "x" } };
      const manager = await managerOf({ gate: gate.port });
      await manager.approveTool(call);
      await manager.checkTool(call);
      equal([gate.read(0), gate.read(1)], [toolCall(), toolCall()]);
    },
    "a-request-without-arguments-has-empty-ones": async () => {
      const gate = remoteHook(["approve_tool"], () => ({ approved: true }));
      await (await managerOf({ gate: gate.port })).approveTool({ tool: "exec", meta: META });
      equal(gate.read(0), { meta: META, tool: "exec", arguments: {} });
    },
    "approvers-never-change-the-host-s-payload": async () => {
      const call = toolCall({ deep: { n: 1 } });
      const gate: Hook = {
        approveTool(request) {
          at(request, "arguments", "deep")["n"] = 2;
          return { approved: true };
        },
      };
      const check = await (await managerOf({ gate })).checkTool(call);
      equal([call.arguments, check.call.arguments], [{ deep: { n: 1 } }, { deep: { n: 1 } }]);
      ok(!check.changed, "an approver changed the call");
    },
  },
);
