import { compareRank } from "../../src/chain/index.ts";
import { type Hook, HookManager, type HookPort } from "../../src/picoclaw/index.ts";
import { type Case, equal } from "./case.ts";
import { casesOf, createGate, managerOf, META, outcomesOf, remoteHook, toolCall } from "./fixture.ts";

const SECTION = "PicoClaw hook semantics, section 2";

/** A hook that writes its name down. */
function noting(names: string[], name: string): Hook {
  return {
    beforeTool() {
      names.push(name);
    },
  };
}

function notingRemote(names: string[], name: string): HookPort {
  return remoteHook(["before_tool"], () => {
    names.push(name);
    return null;
  }).port;
}

/** Mounts hooks given as `name`, priority and whether they are remote, and tells the order in which they are called. */
async function orderOf(
  hooks: readonly (readonly [name: string, priority: number, remote?: boolean])[],
): Promise<string[]> {
  const names: string[] = [];
  const manager = new HookManager();
  for (const [name, priority, remote = false] of hooks) {
    const hook = remote ? notingRemote(names, name) : noting(names, name);
    await manager.mount(hook, { name, priority });
  }
  await manager.beforeTool(toolCall());
  equal(
    manager.hooks().map((hook) => hook.name),
    names,
  );
  return names;
}

/** In what order hooks are called. */
export const orderCases: readonly Case[] = casesOf(
  { topic: "order", source: SECTION },
  {
    "lower-priority-first": async () => {
      equal(
        await orderOf([
          ["a", 5],
          ["b", 1],
          ["c", 3],
        ]),
        ["b", "c", "a"],
      );
    },
    "negative-priority-is-allowed": async () => {
      equal(
        await orderOf([
          ["a", 0],
          ["b", -1],
          ["c", -1.5],
        ]),
        ["c", "b", "a"],
      );
    },
    "in-process-before-all-others": async () => {
      equal(
        await orderOf([
          ["far", 0, true],
          ["near", 0],
        ]),
        ["near", "far"],
      );
    },
    "priority-never-crosses-the-group-border": async () => {
      equal(
        await orderOf([
          ["far", -100, true],
          ["near", 100],
          ["far2", -200, true],
        ]),
        ["near", "far2", "far"],
      );
    },
    "all-transports-are-one-group": async () => {
      const ranked = [
        { name: "s", source: "stdio", priority: 2 },
        { name: "h", source: "http", priority: 1 },
        { name: "m", source: "memory", priority: 3 },
      ];
      equal(
        ranked.toSorted(compareRank).map(({ name }) => name),
        ["h", "s", "m"],
      );
    },
    "then-name-in-code-unit-order": async () => {
      // U+FF5E comes after U+1F600 in code units (D83D) and before it in code points.
      equal(
        await orderOf([
          ["b", 0],
          ["\u{ff5e}", 0],
          ["a", 0],
          ["\u{1f600}", 0],
          ["B", 0],
          ["é", 0],
        ]),
        ["B", "a", "b", "é", "\u{1f600}", "\u{ff5e}"],
      );
    },
    "equal-ranks-compare-equal": async () => {
      const rank = { name: "a", source: "stdio", priority: 0 };
      equal(compareRank(rank, { ...rank }), 0);
      // Minus zero is no lower than zero.
      equal(compareRank({ ...rank, priority: -0 }, { ...rank, name: "b", priority: 0 }), -1);
    },
    "priority-defaults-to-zero": async () => {
      const manager = new HookManager();
      await manager.mount({}, { name: "a" });
      equal(manager.hooks()[0]?.priority, 0);
    },
    "a-hook-is-called-only-at-its-points": async () => {
      const names: string[] = [];
      const { port, sent } = remoteHook(["after_tool"], () => null);
      const manager = await managerOf({ near: noting(names, "near"), far: port });
      await manager.beforeTool(toolCall());
      await manager.beforeLlm({ meta: META, model: "m" });
      await manager.afterLlm({ meta: META, model: "m" });
      await manager.approveTool(toolCall());
      equal([names, sent.length], [["near"], 0]);
      await manager.afterTool({ ...toolCall(), tool: "exec", duration: 1 });
      equal(
        sent.map(({ method }) => method),
        ["hook.after_tool"],
      );
    },
    "a-hook-mounted-mid-call-is-not-seen-by-it": async () => {
      const names: string[] = [];
      const manager = new HookManager();
      await manager.mount(
        {
          async beforeTool() {
            await manager.mount(noting(names, "late"), { name: "late" });
          },
        },
        { name: "first", priority: -1 },
      );
      await manager.beforeTool(toolCall());
      equal(names, []);
      equal(outcomesOf(await manager.beforeTool(toolCall())), ["first: continue", "late: continue"]);
    },
    "a-hook-unmounted-mid-call-is-still-reached-by-it": async () => {
      const names: string[] = [];
      const manager = await managerOf({
        first: {
          async beforeTool() {
            await manager.unmount("second");
          },
        },
        second: noting(names, "second"),
      });
      await manager.beforeTool(toolCall());
      equal(names, ["second"]);
      await manager.beforeTool(toolCall());
      equal(names, ["second"]);
    },
    "a-hook-replaced-mid-call-is-the-old-one-for-it": async () => {
      const names: string[] = [];
      const manager = await managerOf({
        first: {
          async beforeTool() {
            await manager.mount(noting(names, "new"), { name: "second", priority: 1 });
          },
        },
        second: noting(names, "old"),
      });
      await manager.beforeTool(toolCall());
      await manager.beforeTool(toolCall());
      equal(names, ["old", "new"]);
    },
    "what-a-replaced-hook-did-is-not-counted-on-the-new-one": async () => {
      const gate = createGate();
      const manager = await managerOf({ a: { beforeTool: () => gate.promise } });
      const call = manager.beforeTool(toolCall());
      await manager.mount({ beforeTool: () => {} }, { name: "a" });
      gate.open();
      await call;
      equal(manager.hooks()[0]?.calls, 0);
    },
  },
);
