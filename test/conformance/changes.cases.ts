import type { ToolCall } from "../../src/picoclaw/index.ts";
import { type Case, equal } from "./case.ts";
import { at, casesOf, DEEP, deepFreeze, managerOf, outcomesOf, toolCall } from "./fixture.ts";

/** A hook that changes its call in place, and one after it that keeps what it sees. */
async function afterChange(
  change: (call: ToolCall) => unknown,
  args: Record<string, unknown>,
): Promise<{ readonly seen: unknown; readonly decided: unknown; readonly outcomes: readonly string[] }> {
  let seen: unknown;
  const manager = await managerOf({
    first: { beforeTool: (call) => change(call) as null },
    second: {
      beforeTool(call) {
        seen = JSON.parse(JSON.stringify(call.arguments));
      },
    },
  });
  const decision = await manager.beforeTool(toolCall(args));
  return { seen, decided: JSON.parse(JSON.stringify(decision.call.arguments)), outcomes: outcomesOf(decision) };
}

type Change = readonly [(args: Record<string | number, unknown>) => unknown, unknown];

/** Ways to change a payload in place, and what each leaves in the changer's own hands. */
const CHANGES: Readonly<Record<string, Change>> = {
  "set-a-deep-key": [(args) => (at(args, "map", "x", "y")["z"] = 2), { ...DEEP, map: { x: { y: { z: 2 } } } }],
  "add-a-key": [(args) => (at(args, "map")["new"] = { a: [1] }), { ...DEEP, map: { ...DEEP.map, new: { a: [1] } } }],
  "delete-a-key": [(args) => delete at(args, "map", "x")["y"], { ...DEEP, map: { x: {} } }],
  push: [(args) => (args["list"] as unknown[]).push({ n: 3 }), { ...DEEP, list: [...DEEP.list, { n: 3 }] }],
  pop: [(args) => (args["list"] as unknown[]).pop(), { ...DEEP, list: DEEP.list.slice(0, 1) }],
  splice: [
    (args) => (args["list"] as unknown[]).splice(0, 1, { n: 9 }, { n: 8 }),
    { ...DEEP, list: [{ n: 9 }, { n: 8 }, DEEP.list[1]] },
  ],
  sort: [
    // oxlint-disable-next-line unicorn/no-array-sort -- the case is about sorting in place
    (args) => (args["list"] as { n: number }[]).sort((a, b) => b.n - a.n),
    { ...DEEP, list: [DEEP.list[1], DEEP.list[0]] },
  ],
  "sort-then-change": [
    (args) => {
      (args["list"] as { n: number }[]).reverse();
      at(args, "list", 0)["n"] = 20;
    },
    { ...DEEP, list: [{ n: 20, tags: [] }, DEEP.list[0]] },
  ],
  "unshift-a-part-of-the-payload": [
    (args) => (args["list"] as unknown[]).unshift(at(args, "map", "x")),
    { ...DEEP, list: [DEEP.map.x, ...DEEP.list] },
  ],
  "delete-an-item": [(args) => delete at(args, "list")[0], { ...DEEP, list: [null, DEEP.list[1]] }],
  truncate: [(args) => (at(args, "list")["length"] = 0), { ...DEEP, list: [] }],
  fill: [(args) => (args["list"] as unknown[]).fill(0), { ...DEEP, list: [0, 0] }],
  "copy-within": [
    (args) => (args["list"] as unknown[]).copyWithin(0, 1),
    { ...DEEP, list: [DEEP.list[1], DEEP.list[1]] },
  ],
  assign: [(args) => Object.assign(at(args, "map", "x"), { y: 0, w: 1 }), { ...DEEP, map: { x: { y: 0, w: 1 } } }],
  "define-a-property": [
    (args) =>
      Object.defineProperty(at(args, "map"), "x", { value: 5, writable: true, enumerable: true, configurable: true }),
    { ...DEEP, map: { x: 5 } },
  ],
  swap: [(args) => ([args["list"], args["map"]] = [args["map"], args["list"]]), { list: DEEP.map, map: DEEP.list }],
  "set-and-set-back": [
    (args) => {
      const { x } = at(args, "map");
      at(args, "map")["x"] = 1;
      at(args, "map")["x"] = x;
    },
    DEEP,
  ],
};

function changed(call: ToolCall, [change, expected]: Change): unknown {
  change(at(call, "arguments"));
  equal(JSON.parse(JSON.stringify(call.arguments)), expected);
  return { action: "modify", call };
}

/** Section 3: what a hook does to its payload in place. */
export const changeCases: readonly Case[] = Object.entries(CHANGES).flatMap(([name, [change, expected]]) =>
  casesOf(
    { topic: "isolation", source: "PicoClaw hook semantics, section 3" },
    {
      [`${name}-in-place-stays-with-the-hook-that-did-it`]: async () => {
        for (const args of [structuredClone(DEEP), deepFreeze(structuredClone(DEEP))]) {
          equal(await afterChange((call) => void change(at(call, "arguments")), args), {
            seen: DEEP,
            decided: DEEP,
            outcomes: ["first: continue", "second: continue"],
          });
          equal(args, DEEP);
        }
      },
      [`${name}-in-place-and-returned-is-a-change`]: async () => {
        for (const args of [structuredClone(DEEP), deepFreeze(structuredClone(DEEP))]) {
          const first = expected === DEEP ? "first: continue" : "first: modify";
          equal(await afterChange((call) => changed(call, [change, expected]), args), {
            seen: expected,
            decided: expected,
            outcomes: [first, "second: continue"],
          });
          equal(args, DEEP);
        }
      },
    },
  ),
);
