import { isHookgateError } from "../../src/errors.ts";
import { LifecycleManager } from "../../src/jcli/index.ts";
import { createCompositeHost, type Hook } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, CountingSignal, createGate, managerOf, outcomesOf, remoteHook, toolCall } from "./fixture.ts";

/** A deadline that no case waits for. */
const DAY_MS = 86_400_000;

/** A hook that never answers. */
const hanging: Hook = {
  beforeTool: () => new Promise<never>(() => {}),
  approveTool: () => new Promise<never>(() => {}),
};

/** Sections 1 and 3: the host's own signal. */
export const abortCases: readonly Case[] = casesOf(
  { topic: "abort", source: "PicoClaw hook semantics, sections 1 and 3" },
  {
    "before-the-call-no-hook-is-asked": async () => {
      const hook = remoteHook(["before_llm", "after_llm", "before_tool", "approve_tool", "after_tool"], () => null);
      const manager = await managerOf({ hook: hook.port });
      const options = { signal: AbortSignal.abort(new Error("gone")) };
      await rejects(manager.beforeLlm({ model: "m" }, options), "ERR_ABORTED");
      await rejects(manager.afterLlm({ model: "m" }, options), "ERR_ABORTED");
      await rejects(manager.beforeTool(toolCall(), options), "ERR_ABORTED");
      await rejects(manager.approveTool(toolCall(), options), "ERR_ABORTED");
      await rejects(manager.checkTool(toolCall(), options), "ERR_ABORTED");
      await rejects(manager.afterTool(toolCall(), options), "ERR_ABORTED");
      equal(hook.sent, []);
    },
    "before-the-call-also-without-hooks": async () => {
      await rejects((await managerOf({})).beforeTool(toolCall(), { signal: AbortSignal.abort() }), "ERR_ABORTED");
    },
    "it-counts-also-where-the-options-are-an-object-of-a-class": async () => {
      const controller = new AbortController();
      const options = new (class {
        get signal(): AbortSignal {
          return controller.signal;
        }
      })();
      const manager = await managerOf({ hanging }, { timeouts: { interceptorMs: DAY_MS, approvalMs: DAY_MS } });
      const host = createCompositeHost({ hooks: manager, lifecycle: new LifecycleManager() });
      const calls = [manager, host].flatMap((one) => [
        one.beforeTool(toolCall(), options),
        one.approveTool(toolCall(), options),
        one.checkTool(toolCall(), options),
      ]);
      controller.abort();
      for (const call of calls) await rejects(call, "ERR_ABORTED");
    },
    "during-a-call-it-ends-at-once-and-no-later-hook-is-asked": async () => {
      const later = remoteHook(["before_tool", "approve_tool"], () => null);
      const manager = await managerOf({ hanging, later: later.port });
      for (const call of [
        manager.beforeTool.bind(manager),
        manager.approveTool.bind(manager),
        manager.checkTool.bind(manager),
      ]) {
        const controller = new AbortController();
        const decision = call(toolCall(), { signal: controller.signal });
        controller.abort();
        await rejects(decision, "ERR_ABORTED");
      }
      equal(later.sent, []);
    },
    "the-host-s-reason-is-the-cause": async () => {
      const controller = new AbortController();
      const decision = (await managerOf({ hanging })).beforeTool(toolCall(), { signal: controller.signal });
      const reason = new Error("user left");
      controller.abort(reason);
      const error: unknown = await decision.catch((thrown: unknown) => thrown);
      ok(isHookgateError(error) && error.cause === reason, "the cause is lost");
    },
    "the-hook-s-signal-aborts-with-the-host-s": async () => {
      const seen = createGate<unknown>();
      const hook: Hook = {
        beforeTool: (_, { signal }) =>
          new Promise<never>(() => {
            signal.addEventListener("abort", () => seen.open(signal.reason));
          }),
      };
      const controller = new AbortController();
      const decision = (await managerOf({ hook })).beforeTool(toolCall(), { signal: controller.signal });
      controller.abort();
      await rejects(decision, "ERR_ABORTED");
      const reason = await seen.promise;
      ok(isHookgateError(reason) && reason.code === "ERR_ABORTED", "the reason is not the host's");
    },
    "a-synchronous-verdict-of-an-aborted-call-is-not-given": async () => {
      const controller = new AbortController();
      const hook: Hook = {
        beforeTool() {
          controller.abort();
          return { action: "respond", result: { for_llm: "x" } };
        },
        approveTool() {
          controller.abort();
          return { approved: false };
        },
      };
      const manager = await managerOf({ hook });
      await rejects(manager.beforeTool(toolCall(), { signal: controller.signal }), "ERR_ABORTED");
      await rejects(manager.approveTool(toolCall(), { signal: controller.signal }), "ERR_ABORTED");
    },
    "between-the-two-halves-of-a-check-approvers-are-not-asked": async () => {
      const controller = new AbortController();
      const gate = remoteHook(["approve_tool"], () => ({ approved: true }));
      const aborting: Hook = {
        beforeTool() {
          controller.abort();
        },
      };
      const manager = await managerOf({ aborting, gate: gate.port });
      await rejects(manager.checkTool(toolCall(), { signal: controller.signal }), "ERR_ABORTED");
      equal(gate.sent, []);
    },
    "after-the-call-nothing-happens": async () => {
      const controller = new AbortController();
      const decision = await (
        await managerOf({ a: { beforeTool: async () => null } })
      ).beforeTool(toolCall(), {
        signal: controller.signal,
      });
      controller.abort();
      equal([decision.action, outcomesOf(decision)], ["continue", ["a: continue"]]);
    },
    "a-hook-aborted-by-itself-is-a-hook-without-a-verdict": async () => {
      const hook: Hook = { beforeTool: () => Promise.reject(new DOMException("own", "AbortError")) };
      const decision = await (
        await managerOf({ hook })
      ).beforeTool(toolCall(), { signal: new AbortController().signal });
      equal(outcomesOf(decision), ["hook: hook_error"]);
    },
    "no-listener-is-left-on-the-host-s-signal": async () => {
      const quick: Hook = {
        beforeTool: async () => null,
        approveTool: (_, { signal }) => {
          signal.addEventListener("abort", () => {});
          return { approved: true };
        },
      };
      const runs: readonly [Record<string, Hook>, boolean][] = [
        [{ quick }, false],
        [{ quick, hanging, last: quick }, false],
        [{ hanging }, true],
        [{}, false],
      ];
      for (const [hooks, abort] of runs) {
        const host = new CountingSignal();
        const manager = await managerOf(hooks, { timeouts: { interceptorMs: 5, approvalMs: 5 } });
        const check = manager.checkTool(toolCall(), { signal: host.signal });
        if (abort) host.abort("gone");
        await check.catch(() => {});
        equal(host.listening, 0);
      }
    },
    "one-listener-serves-a-whole-chain": async () => {
      const quick: Hook = {
        async beforeTool() {
          for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
        },
      };
      const host = new CountingSignal();
      await (await managerOf({ a: quick, b: quick, c: quick })).beforeTool(toolCall(), { signal: host.signal });
      equal([host.added, host.listening], [1, 0]);
    },
  },
);
