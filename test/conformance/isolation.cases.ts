import type { Hook, HookPort, ToolCall } from "../../src/picoclaw/index.ts";
import { type Case, equal } from "./case.ts";
import {
  at,
  casesOf,
  createGate,
  DEEP,
  deepFreeze,
  managerOf,
  META,
  outcomesOf,
  remoteHook,
  toolCall,
} from "./fixture.ts";

function spoil(payload: object): void {
  for (const key of Object.keys(payload)) Reflect.set(payload, key, "spoilt");
  Reflect.set(payload, "extra", 1);
}

/** Section 3: a hook is isolated. */
export const isolationCases: readonly Case[] = casesOf(
  { topic: "isolation", source: "PicoClaw hook semantics, section 3" },
  {
    "every-point-hands-out-a-private-payload": async () => {
      const far = remoteHook(["before_llm", "after_llm", "before_tool", "approve_tool", "after_tool"], () => ({
        approved: true,
      }));
      const approveTool = (payload: object): { approved: boolean } => {
        spoil(payload);
        return { approved: true };
      };
      const spoiler: Hook = { beforeLlm: spoil, afterLlm: spoil, beforeTool: spoil, afterTool: spoil, approveTool };
      const manager = await managerOf({ spoiler, far: far.port });
      const [request, response] = [
        { meta: META, model: "m" },
        { content: "c", finish_reason: "stop" },
      ];
      await manager.beforeLlm(request);
      await manager.afterLlm({ ...request, response });
      await manager.beforeTool(toolCall());
      await manager.approveTool(toolCall());
      const outcome = {
        ...toolCall(),
        result: { for_llm: "", silent: false, is_error: false, async: false },
        duration: 1,
      };
      await manager.afterTool(outcome);
      const expected = [request, { ...request, response }, toolCall(), toolCall(), outcome];
      equal(
        expected.map((_, n) => far.read(n)),
        expected,
      );
    },
    "a-reference-kept-and-changed-later-changes-nothing": async () => {
      let kept: ToolCall | undefined;
      const own = { deep: { n: 1 } };
      const keeping: Hook = {
        beforeTool(call) {
          kept = call;
          Reflect.set(call.arguments ?? {}, "own", own);
          return { action: "modify", call };
        },
      };
      const gate = createGate();
      const far = remoteHook(["before_tool"], () => null);
      const manager = await managerOf({ keeping, slow: { beforeTool: () => gate.promise }, far: far.port });
      const decision = manager.beforeTool(toolCall({ ...structuredClone(DEEP) }));
      own.deep.n = 99;
      at(kept, "arguments", "map", "x")["y"] = 99;
      at(kept, "arguments", "own", "deep")["n"] = 99;
      at(kept)["tool"] = "evil";
      gate.open();
      const expected = toolCall({ ...DEEP, own: { deep: { n: 1 } } });
      equal([(await decision).call, far.read(0)], [expected, expected]);
    },
    "a-reply-kept-and-changed-later-changes-nothing": async () => {
      const args = { list: [{ n: 1 }] };
      const result = { for_llm: "ok", media: [{ n: 1 }] };
      const manager = await managerOf({
        a: { beforeTool: () => ({ action: "respond", call: { arguments: args }, result }) },
      });
      const decision = await manager.beforeTool(toolCall());
      at(args, "list", 0)["n"] = 2;
      at(result, "media", 0)["n"] = 2;
      equal([decision.call.arguments, decision.result?.media], [{ list: [{ n: 1 }] }, [{ n: 1 }]]);
    },
    "a-denial-kept-and-changed-later-changes-nothing": async () => {
      const reply = { approved: false, reason: "no", ticket: { id: 1 } };
      const decision = await (await managerOf({ a: { approveTool: () => reply } })).approveTool(toolCall());
      reply.ticket.id = 2;
      equal(decision["ticket"], { id: 1 });
    },
    "what-the-host-does-to-a-decision-never-reaches-a-hook-s-own-objects": async () => {
      const own = { list: [1] };
      const manager = await managerOf({ a: { beforeTool: () => ({ call: { arguments: own } }) } });
      const decision = await manager.beforeTool(toolCall());
      (at(decision.call, "arguments")["list"] as unknown[]).push(2);
      equal(own, { list: [1] });
    },
    "a-hook-that-answers-after-its-deadline-changes-nothing": async () => {
      const gate = createGate();
      let nowMs = 0;
      const late: Hook = {
        async beforeTool(call) {
          nowMs += 100;
          await gate.promise;
          at(call, "arguments", "map")["x"] = 99;
          return { action: "modify", call };
        },
      };
      const far = remoteHook(["before_tool"], () => null);
      const manager = await managerOf({ late, far: far.port }, { timeouts: { interceptorMs: 100 }, now: () => nowMs });
      const decision = await manager.beforeTool(toolCall(DEEP));
      gate.open();
      await gate.promise;
      equal([decision.call, far.read(0), DEEP.map.x.y.z], [toolCall(DEEP), toolCall(DEEP), 1]);
    },
    "a-payload-frozen-while-hooks-run-is-read-all-the-same": async () => {
      const args = structuredClone(DEEP);
      const manager = await managerOf({
        a: {
          async beforeTool(call) {
            const list = call.arguments?.["list"] as { n: number }[];
            deepFreeze(args);
            await Promise.resolve();
            list.push({ n: 3 });
            return { call: { arguments: { list, keys: Object.keys(call.arguments ?? {}) } } };
          },
        },
      });
      const decision = await manager.beforeTool(toolCall(args));
      equal(decision.call.arguments, { list: [...DEEP.list, { n: 3 }], keys: ["list", "map"] });
    },
    "a-property-that-cannot-be-redefined-is-read-all-the-same": async () => {
      const args = Object.defineProperty({ other: 1 }, "fixed", { value: { n: 1 }, enumerable: true });
      const manager = await managerOf({
        a: { beforeTool: (call) => ({ call: { arguments: { ...call.arguments, other: 2 } } }) },
      });
      equal((await manager.beforeTool(toolCall(args))).call.arguments, { other: 2, fixed: { n: 1 } });
    },
    "a-private-payload-reads-like-the-real-one": async () => {
      const manager = await managerOf({
        a: {
          beforeTool(call) {
            const args = at(call, "arguments");
            const list = args["list"] as (typeof DEEP)["list"];
            equal(
              [Object.keys(args), "map" in args, "no" in args, args["no"]],
              [["list", "map"], true, false, undefined],
            );
            equal(
              [Array.isArray(list), list.length, list.map(({ n }) => n), list.slice(-1)[0]?.n],
              [true, 2, [1, 2], 2],
            );
            equal([...list].length, list.concat(list).length - 2);
            equal([list.includes(list[0]!), list.indexOf(list[1]!)], [true, 1]);
            equal({ ...args }, DEEP);
            equal(Object.entries(at(args, "map", "x")), [["y", { z: 1 }]]);
            equal(Object.getOwnPropertyDescriptor(args, "no"), undefined);
            equal([Object.hasOwn(args, "map"), Object.getPrototypeOf(args) === Object.prototype], [true, true]);
            equal(JSON.stringify(args), JSON.stringify(DEEP));
            return { action: "deny_tool", reason: "read" };
          },
        },
      });
      const decision = await manager.beforeTool(toolCall(structuredClone(DEEP)));
      equal([decision.reason, outcomesOf(decision)], ["read", ["a: deny_tool"]]);
    },
    "a-spread-of-the-payload-is-no-change": async () => {
      const spread: Hook = {
        beforeTool: (call) => ({ action: "modify", call: { ...call, arguments: { ...call.arguments } } }),
      };
      const decision = await (await managerOf({ spread })).beforeTool(toolCall(DEEP));
      equal([decision.changed, decision.call], [false, toolCall(DEEP)]);
    },
    "a-key-named-proto-is-a-key": async () => {
      const args = JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":2}}') as Record<string, unknown>;
      const hooks = {
        reads: { beforeTool: (call: ToolCall) => ({ call: { arguments: { ...call.arguments, n: 1 } } }) },
        writes: {
          beforeTool(call: ToolCall) {
            Reflect.set(at(call, "arguments", "a"), "__proto__", { polluted: 2 });
            return { call };
          },
        },
        far: remoteHook(["before_tool"], () => null).port,
      };
      const decision = await (await managerOf(hooks)).beforeTool(toolCall(args));
      equal(
        JSON.stringify(decision.call.arguments),
        '{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":2}},"n":1}',
      );
      equal(
        [Reflect.get({}, "polluted"), Object.getPrototypeOf(decision.call.arguments) === Object.prototype],
        [undefined, true],
      );
    },
    "a-remote-reply-with-a-key-named-proto-pollutes-nothing": async () => {
      const reply: unknown = JSON.parse(
        '{"call":{"__proto__":{"tool":"evil"},"arguments":{"__proto__":{"x":1}}},"__proto__":{"action":"deny_tool"}}',
      );
      const port: HookPort = { ...remoteHook(["before_tool"], () => null).port, call: async () => reply };
      const decision = await (await managerOf({ h: port })).beforeTool(toolCall());
      equal([decision.action, decision.call.tool], ["continue", "exec"]);
      equal(JSON.stringify(decision.call.arguments), '{"__proto__":{"x":1}}');
      equal(Reflect.get({}, "x"), undefined);
    },
  },
);
