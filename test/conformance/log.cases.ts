import { type Case, equal } from "./case.ts";
import { casesOf, keepingLog, managerOf, remoteHook, toolCall } from "./fixture.ts";

/** What is logged of what happens again and again. */
export const logCases: readonly Case[] = casesOf(
  { topic: "log", source: "docs/operations.md, What fails how" },
  {
    "a-hook-that-always-fails-is-logged-once-an-interval-and-counted-each-time": async () => {
      const { log, warnings } = keepingLog();
      let nowMs = 0;
      const broken = remoteHook(["before_tool", "approve_tool"], () => {
        throw new Error("broken");
      });
      const manager = await managerOf({ broken: broken.port }, { log, now: () => nowMs });
      const callMany = async (count: number): Promise<void> => {
        for (let index = 0; index < count; index += 1) await manager.beforeTool(toolCall());
      };
      const seen = (): unknown =>
        warnings.map(({ message, fields }) => [message, fields["point"], fields["kind"], fields["suppressed"]]);
      await callMany(100);
      equal(seen(), [["hook gave no verdict", "before_tool", "hook_error", undefined]]);
      nowMs = 59_000;
      await callMany(1);
      equal(warnings.length, 1);
      nowMs = 61_000;
      await callMany(100);
      equal(seen(), [
        ["hook gave no verdict", "before_tool", "hook_error", undefined],
        ["hook gave no verdict", "before_tool", "hook_error", 100],
      ]);
      await manager.approveTool(toolCall());
      equal(warnings.length, 3);
      equal(manager.hooks()[0]?.no_verdicts, { hook_error: 202 });
      await manager.close();
      equal(
        warnings.slice(3).map(({ fields }) => [fields["point"], fields["suppressed"]]),
        [["before_tool", 99]],
      );
    },
  },
);
