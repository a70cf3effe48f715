import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createEventFilter, createRemotePort, HookManager } from "../../../src/picoclaw/index.ts";
import { META, toolCall } from "../../conformance/fixture.ts";
import { startHook } from "./real-hook.ts";

const command = ["python3", fileURLToPath(new URL("../../../examples/review_gate.py", import.meta.url))];

describe("examples/review_gate.py", () => {
  test("denies what the list names, approves the rest, and sees events", async (context) => {
    const { transport, log } = startHook(context, { command, env: { REVIEW_DENY: "exec, write_file" } });
    const manager = new HookManager();
    const port = createRemotePort(transport, {
      source: "stdio",
      points: new Set(["before_tool", "approve_tool"]),
      observes: createEventFilter(["*"]),
    });
    await manager.mount(port, { name: "review" });
    expect(await manager.beforeTool(toolCall())).toMatchObject({ action: "continue", changed: false });
    expect(await manager.approveTool(toolCall())).toMatchObject({
      approved: false,
      reason: "exec is on the deny list",
    });
    expect(await manager.approveTool({ ...toolCall(), tool: "read_file" })).toMatchObject({ approved: true });
    await log.line(/exec is called with \['command'\]/);
    manager.emit({ Kind: "turn_start", Meta: META, Payload: {} });
    await log.line(/event turn_start/);
    await manager.close();
  });
});
