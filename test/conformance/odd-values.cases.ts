import type { Hook, ToolCall } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { at, casesOf, managerOf, nested, outcomesOf, remoteHook, toolCall } from "./fixture.ts";

/** What an in-process hook returned, by name: the reply, and what it must come to. */
const ODD: Readonly<Record<string, readonly [() => unknown, string]>> = {
  "ten-thousand-levels": [() => nested(10_000), "bad_result"],
  "ten-thousand-levels-of-lists": [
    () => ({ list: JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`) as unknown }),
    "bad_result",
  ],
  "a-cycle": [() => cyclic(), "bad_result"],
  "a-function": [() => ({ f: () => {} }), "bad_result"],
  "a-symbol": [() => ({ s: Symbol("s") }), "bad_result"],
  "a-bigint": [() => ({ n: 1n }), "bad_result"],
  "a-promise": [() => ({ p: Promise.resolve(1) }), "bad_result"],
  "a-getter-that-throws": [
    () => ({
      get x(): never {
        throw new Error("no");
      },
    }),
    "hook_error",
  ],
  "a-deep-class-instance": [() => ({ node: deepNode(10_000) }), "bad_result"],
  "a-class-instance": [() => ({ point: new Point(1, 2) }), "modify"],
  "an-object-without-a-prototype": [() => Object.assign(Object.create(null) as object, { a: 1 }), "modify"],
  "a-key-that-is-a-symbol": [() => ({ [Symbol("s")]: 1, a: 1 }), "modify"],
};

class Point {
  readonly x: number;
  readonly y: number;

  constructor(x: number, y: number) {
    this.x = x;
    this.y = y;
  }
}

class Node {
  readonly next: Node | undefined;

  constructor(next: Node | undefined) {
    this.next = next;
  }
}

function deepNode(levels: number): Node | undefined {
  let node: Node | undefined;
  for (let level = 0; level < levels; level += 1) node = new Node(node);
  return node;
}

function cyclic(): Record<string, unknown> {
  const parent: Record<string, unknown> = { leaf: { a: 1 } };
  parent["children"] = [1, 2, 3].map((n) => ({ n, parent, siblings: parent["leaf"] }));
  parent["self"] = parent;
  return parent;
}

/** What cannot be part of a payload, and what can although it looks odd. */
export const oddValueCases: readonly Case[] = [
  ...Object.entries(ODD).flatMap(([name, [make, outcome]]) =>
    casesOf(
      { topic: "odd-values", source: "PicoClaw hook semantics, section 3" },
      {
        [`${name}-returned`]: async () => {
          const hook: Hook = { beforeTool: () => ({ call: { arguments: make() as Record<string, unknown> } }) };
          const decision = await (await managerOf({ hook })).beforeTool(toolCall());
          equal([decision.action, ...outcomesOf(decision)], ["continue", `hook: ${outcome}`]);
          if (outcome !== "modify") equal(decision.call, toolCall());
        },
        [`${name}-put-in-place`]: async () => {
          const hook: Hook = {
            beforeTool(call) {
              at(call, "arguments")["odd"] = make();
              return { call };
            },
          };
          const decision = await (await managerOf({ hook })).beforeTool(toolCall());
          equal([decision.action, ...outcomesOf(decision)], ["continue", `hook: ${outcome}`]);
        },
        [`${name}-in-a-denial`]: async () => {
          const hook: Hook = { approveTool: () => ({ approved: false, reason: "no", odd: make() }) };
          equal((await (await managerOf({ hook })).approveTool(toolCall())).approved, false);
        },
      },
    ),
  ),
  ...casesOf(
    { topic: "odd-values", source: "PicoClaw hook semantics, section 3" },
    {
      "a-class-instance-is-its-own-keys": async () => {
        class Args {
          readonly command: unknown;
          constructor(call: ToolCall) {
            this.command = at(call, "arguments")["list"];
          }
        }
        const hook: Hook = { beforeTool: (call) => ({ call: { arguments: new Args(call) as never } }) };
        const decision = await (await managerOf({ hook })).beforeTool(toolCall({ list: [{ n: 1 }] }));
        equal(decision.call.arguments, { command: [{ n: 1 }] });
      },
      "a-payload-that-is-no-json-is-handed-to-in-process-hooks": async () => {
        const when = new Date(5);
        const seen: unknown[] = [];
        const hook: Hook = {
          beforeTool(call) {
            const got = at(call, "arguments")["when"] as Date;
            seen.push(got instanceof Date, got.getTime());
            got.setTime(6);
            return { call };
          },
        };
        const decision = await (await managerOf({ hook })).beforeTool(toolCall({ when }));
        equal([seen, when.getTime()], [[true, 5], 5]);
        equal(at(decision.call, "arguments")["when"], new Date(6));
      },
      "a-cyclic-payload-of-the-host-is-no-crash": async () => {
        const hook: Hook = { beforeTool: (call) => ({ call: { ...call, tool: "b" } }) };
        const decision = await (await managerOf({ hook })).beforeTool(toolCall(cyclic()));
        equal([decision.call.tool, ...outcomesOf(decision)], ["b", "hook: modify"]);
      },
      "a-deep-payload-of-the-host-is-no-crash": async () => {
        const hook: Hook = { beforeTool: (call) => ({ call: { ...call, tool: "b" } }) };
        const far = remoteHook(["before_tool"], () => null);
        const decision = await (await managerOf({ hook, far: far.port })).beforeTool(toolCall(nested(100_000)));
        // Whether it can be written as text is the engine's affair.
        equal([decision.call.tool, decision.trace.records.length], ["b", 2]);
      },
      "a-reply-that-is-the-payload-itself-changes-nothing": async () => {
        const hook: Hook = { beforeTool: (call) => call as never };
        const decision = await (await managerOf({ hook })).beforeTool(toolCall());
        ok(!decision.changed, "the payload was taken for a reply");
      },
    },
  ),
];
