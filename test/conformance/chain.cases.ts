import type { Hook, HookManager } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import {
  answering,
  CALLS,
  casesOf,
  createGate,
  keepingLog,
  managerOf,
  META,
  outcomesOf,
  POINTS,
  remoteHook,
  toolCall,
} from "./fixture.ts";

const RESULT = { for_llm: "from the hook", silent: false, is_error: false, async: false };

/** Section 3: how verdicts combine. */
export const chainCases: readonly Case[] = casesOf(
  { topic: "chain", source: "PicoClaw hook semantics, section 3" },
  {
    "no-hooks-continue": async () => {
      for (const point of POINTS) {
        const { action, reason, changed, trace } = await CALLS[point](await managerOf({}));
        equal([action, reason, changed, trace.records], ["continue", "", false, []]);
      }
    },
    "an-absent-or-empty-action-continues": async () => {
      for (const action of [undefined, "", null]) {
        const manager = await answering("before_tool", { action }, { action, call: { tool: "b" } });
        const decision = await manager.beforeTool(toolCall());
        equal(
          [decision.action, decision.call.tool, ...outcomesOf(decision)],
          ["continue", "b", "h0: continue", "h1: modify"],
        );
      }
    },
    "continue-with-a-payload-is-modify": async () => {
      for (const action of ["continue", "modify"]) {
        const decision = await (await answering("before_tool", { action, call: { tool: "b" } })).beforeTool(toolCall());
        equal([decision.action, decision.changed, decision.call.tool], ["continue", true, "b"]);
      }
    },
    "the-final-action-is-continue-even-after-modify": async () => {
      const manager = await answering("before_tool", { action: "modify", call: { tool: "b" } }, { action: "continue" });
      const decision = await manager.beforeTool(toolCall());
      equal([decision.action, decision.call.tool], ["continue", "b"]);
    },
    "a-later-hook-sees-what-an-earlier-one-made": async () => {
      const first = remoteHook(["before_tool"], () => ({ action: "modify", call: { arguments: { n: 1 } } }));
      const second = remoteHook(["before_tool"], () => null);
      await (await managerOf({ first: first.port, second: second.port })).beforeTool(toolCall());
      equal(second.read(0), toolCall({ n: 1 }));
    },
    "the-host-s-own-payload-is-not-changed": async () => {
      const call = toolCall({ deep: { list: [1] } });
      const before = structuredClone(call);
      await (await answering("before_tool", { action: "modify", call: { tool: "x", arguments: {} } })).beforeTool(call);
      equal(call, before);
    },
    "modify-without-a-payload-changes-nothing": async () => {
      for (const reply of [{ action: "modify" }, { action: "modify", call: null }, { action: "modify", call: {} }]) {
        const decision = await (await answering("before_tool", reply)).beforeTool(toolCall());
        equal([decision.action, decision.changed, decision.call], ["continue", false, toolCall()]);
      }
    },
    "the-payload-of-another-point-is-not-read": async () => {
      const reply = { action: "modify", request: { tool: "x" }, response: { tool: "x" }, result: { tool: "x" } };
      const decision = await (await answering("before_tool", reply)).beforeTool(toolCall());
      equal([decision.changed, decision.call.tool], [false, "exec"]);
    },
    "a-missing-key-is-unchanged": async () => {
      const manager = await answering("before_tool", { action: "modify", call: { arguments: { b: 2 } } });
      equal((await manager.beforeTool(toolCall({ a: 1 }))).call, toolCall({ b: 2 }));
    },
    "a-key-with-an-empty-value-is-a-change": async () => {
      const request = { model: "", messages: [], tools: [], options: {} };
      const full = {
        meta: META,
        model: "m",
        messages: [{ role: "user" }],
        tools: [{ type: "function", function: { name: "f" } }],
        options: { a: 1 },
      };
      const empties = await answering("before_llm", { request });
      equal((await empties.beforeLlm(full)).request, { meta: META, ...request });
      const nulls = await answering("before_llm", {
        request: { model: null, messages: null, tools: null, options: null },
      });
      equal((await nulls.beforeLlm(full)).request, { meta: META, ...request });
      const call = await (
        await answering("before_tool", { call: { tool: "", arguments: null } })
      ).beforeTool(toolCall());
      equal([call.call.tool, call.call.arguments], ["", {}]);
    },
    "payloads-replace-and-never-merge": async () => {
      const manager = await answering("before_tool", { call: { arguments: { b: { y: 2 } } } });
      equal((await manager.beforeTool(toolCall({ a: 1, b: { x: 1 } }))).call.arguments, { b: { y: 2 } });
    },
    "what-is-the-same-as-before-is-no-change": async () => {
      const manager = await answering("before_tool", {
        action: "modify",
        call: { tool: "exec", arguments: { b: [1], a: 1 } },
      });
      const decision = await manager.beforeTool(toolCall({ a: 1, b: [1] }));
      equal([decision.changed, ...outcomesOf(decision)], [false, "h0: continue"]);
    },
    "the-host-s-own-fields-are-never-taken-from-a-reply": async () => {
      const evil = { meta: { AgentID: "evil" }, channel: "evil", chat_id: "evil", context: "evil", tool: "b" };
      const first = remoteHook(["before_tool"], () => ({ action: "modify", call: evil }));
      const second = remoteHook(["before_tool"], () => null);
      const manager = await managerOf({ first: first.port, second: second.port });
      const call = { ...toolCall(), context: { inbound: "host" } };
      const decision = await manager.beforeTool(call);
      equal(
        [decision.call, second.read(0)],
        [
          { ...call, tool: "b" },
          { ...call, tool: "b" },
        ],
      );
    },
    "unknown-keys-of-the-host-pass-through": async () => {
      const call = { ...toolCall(), later: { version: [1] }, meta: { ...META, Extra: 1 } };
      const hook = remoteHook(["before_tool"], () => ({ call: { tool: "b" } }));
      const decision = await (await managerOf({ h: hook.port })).beforeTool(call);
      equal([hook.read(0), decision.call], [call, { ...call, tool: "b" }]);
    },
    "deny-stops": async () => {
      const later = remoteHook(["before_tool"], () => null);
      const deny = remoteHook(["before_tool"], () => ({ action: "deny_tool", reason: "rm" }));
      const decision = await (await managerOf({ deny: deny.port, later: later.port })).beforeTool(toolCall());
      equal([decision.action, decision.reason, later.sent.length], ["deny_tool", "rm", 0]);
    },
    "deny-drops-payload": async () => {
      for (const action of ["deny_tool", "abort_turn", "hard_abort"]) {
        const manager = await answering(
          "before_tool",
          { action: "modify", call: { tool: "b" } },
          { action, reason: "r", call: { tool: "c" }, result: RESULT },
        );
        const decision = await manager.beforeTool(toolCall());
        equal([decision.action, decision.reason, decision.call.tool], [action, "r", "b"]);
        equal([decision.changed, decision.result], [true, undefined]);
      }
    },
    "abort-stops-at-every-point": async () => {
      for (const point of POINTS) {
        const manager = await answering(point, { action: "hard_abort", reason: "stop" }, { action: "abort_turn" });
        const decision = await CALLS[point](manager);
        equal([decision.action, decision.reason, ...outcomesOf(decision)], ["hard_abort", "stop", "h0: hard_abort"]);
      }
    },
    "an-action-in-another-case-is-unsupported": async () => {
      for (const action of ["Modify", "MODIFY", "Deny_Tool", "deny_tool ", "deny-tool", "x"]) {
        const decision = await (await answering("before_tool", { action, call: { tool: "b" } })).beforeTool(toolCall());
        equal(
          [decision.action, decision.call.tool, ...outcomesOf(decision)],
          ["continue", "exec", "h0: unsupported_action"],
        );
      }
    },
    "an-unsupported-action-is-recorded-and-the-chain-goes-on": async () => {
      const { log, warnings } = keepingLog();
      const odd = remoteHook(["before_tool"], () => ({ action: "shred" }));
      const deny = remoteHook(["before_tool"], () => ({ action: "deny_tool" }));
      const decision = await (await managerOf({ odd: odd.port, deny: deny.port }, { log })).beforeTool(toolCall());
      equal(outcomesOf(decision), ["odd: unsupported_action", "deny: deny_tool"]);
      equal(decision.trace.records[0]?.error, 'unsupported action "shred" at before_tool');
      equal(warnings[0]?.fields["kind"], "unsupported_action");
    },
    "no-verdict-is-recorded-and-skipped": async () => {
      const { log, warnings } = keepingLog();
      const broken: Hook = {
        beforeTool() {
          throw new Error("broken");
        },
      };
      const manager = await managerOf({ broken, next: { beforeTool: () => ({ call: { tool: "b" } }) } }, { log });
      const decision = await manager.beforeTool(toolCall());
      equal([decision.action, decision.call.tool], ["continue", "b"]);
      const { hook, source, point, outcome, kind, error, attempt, failed_open } =
        decision.trace.records[0] ?? ({} as never);
      equal([hook, source, point, outcome], ["broken", "in-process", "before_tool", "no_verdict"]);
      equal([kind, error, attempt, failed_open], ["hook_error", "broken", 1, true]);
      equal(warnings.length, 1);
    },
    "a-throw-of-anything-is-no-verdict": async () => {
      const hostile = new Proxy({}, { has: () => trap(), get: () => trap(), getPrototypeOf: () => trap() });
      const oddMessage = Object.assign(new Error("x"), { message: { code: 5 } });
      for (const thrown of [
        null,
        undefined,
        5,
        "text",
        Symbol("s"),
        {},
        () => {},
        oddMessage,
        hostile,
        Object.create(null),
      ]) {
        const rejected = { beforeTool: () => Promise.reject(thrown as Error) };
        const threw: Hook = {
          beforeTool() {
            throw thrown;
          },
        };
        const decision = await (await managerOf({ rejected, threw })).beforeTool(toolCall());
        equal(outcomesOf(decision), ["rejected: hook_error", "threw: hook_error"]);
        ok(
          decision.trace.records.every(({ error }) => typeof error === "string"),
          "an error is no text",
        );
      }
    },
    "an-error-text-is-bounded": async () => {
      const manager = await managerOf({ a: { beforeTool: () => Promise.reject(new Error("x".repeat(10_000))) } });
      equal((await manager.beforeTool(toolCall())).trace.records[0]?.error?.length, 300);
    },
    "a-trace-has-its-own-id": async () => {
      const manager = await managerOf({});
      const [a, b] = [await manager.beforeTool(toolCall()), await manager.beforeTool(toolCall())];
      ok(a.trace.id !== "" && a.trace.id !== b.trace.id, "two calls share an id");
    },
    "a-thenable-is-waited-for": async () => {
      // oxlint-disable-next-line unicorn/no-thenable -- the case is about one
      const thenable = { then: (resolve: (value: unknown) => void) => resolve({ action: "deny_tool" }) };
      const manager = await managerOf({ a: { beforeTool: () => thenable as unknown as Promise<never> } });
      equal((await manager.beforeTool(toolCall())).action, "deny_tool");
    },
    "a-thenable-that-gives-a-promise-is-waited-for-to-the-end": async () => {
      const deny = Promise.resolve({ action: "deny_tool" });
      // oxlint-disable-next-line unicorn/no-thenable -- the case is about one
      const thenable = { then: (resolve: (value: unknown) => void) => resolve(deny) };
      const manager = await managerOf({ a: { beforeTool: () => thenable as unknown as Promise<never> } });
      equal((await manager.beforeTool(toolCall())).action, "deny_tool");
    },
    "calls-do-not-wait-for-each-other": async () => {
      const gate = createGate();
      let calls = 0;
      const manager = await managerOf({ a: { beforeTool: () => ((calls += 1) === 1 ? gate.promise : undefined) } });
      const first = manager.beforeTool(toolCall());
      await manager.beforeTool(toolCall());
      gate.open();
      await first;
    },
    "a-hook-may-call-its-own-manager": async () => {
      const manager: HookManager = await managerOf({
        outer: {
          async beforeTool(call) {
            if (call.tool !== "exec") return undefined;
            const { call: inner } = await manager.beforeTool({ ...call, tool: "inner" });
            return { call: { tool: inner.tool } };
          },
        },
      });
      equal((await manager.beforeTool(toolCall())).call.tool, "inner");
    },
    "a-host-that-aborts-ends-the-chain": async () => {
      const later = remoteHook(["before_tool"], () => null);
      const controller = new AbortController();
      const aborting: Hook = {
        async beforeTool() {
          controller.abort();
          return { action: "deny_tool" };
        },
      };
      const manager = await managerOf({ aborting, later: later.port });
      await rejects(manager.beforeTool(toolCall(), { signal: controller.signal }), "ERR_ABORTED");
      equal(later.sent.length, 0);
    },
  },
);

function trap(): never {
  throw new Error("trap");
}
