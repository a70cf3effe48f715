import { describe, expect, test } from "vitest";
import type { LogFields } from "../../src/log.ts";
import { silentLog } from "../../src/log.ts";
import { BuiltinRegistry, createBuiltinRegistry, HookManager } from "../../src/picoclaw/index.ts";

async function managerWith(name: string, config: unknown, log = silentLog): Promise<HookManager> {
  const manager = new HookManager();
  await manager.mount(createBuiltinRegistry().create(name, config, { log }), { name });
  return manager;
}

describe("deny_tools", () => {
  test.each([
    ["bash", "bash", true],
    ["bash", "bash2", false],
    ["bash", "Bash", false],
    ["exec_*", "exec_", true],
    ["exec_*", "exec", false],
    ["*_exec", "my_exec", true],
    ["*", "anything", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["a*a", "a", false],
    ["a**b", "ab", true],
    ["*ab*b", "ab", false],
    ["a.c", "abc", false],
  ])("%s for %s denies: %j", async (pattern, tool, isDenied) => {
    const manager = await managerWith("deny_tools", { tools: ["other", pattern] });
    const { action, reason } = await manager.beforeTool({ tool });
    expect([action, reason]).toEqual(isDenied ? ["deny_tool", `tool "${tool}" is not allowed`] : ["continue", ""]);
  });

  test("says the reason it was given", async () => {
    const manager = await managerWith("deny_tools", { tools: ["bash"], reason: "no shell here" });
    expect(await manager.checkTool({ tool: "bash" })).toMatchObject({ approved: false, reason: "no shell here" });
  });

  test("takes no time over a name made to be slow", async () => {
    const manager = await managerWith("deny_tools", { tools: [`${"a*".repeat(50)}b`] });
    expect(await manager.beforeTool({ tool: "a".repeat(20_000) })).toMatchObject({ action: "continue" });
  });
});

describe("log", () => {
  test("names the call and says nothing of its payload, and stands in nobody's way", async () => {
    const lines: unknown[] = [];
    const info = (message: string, fields?: LogFields): void => void lines.push([message, fields]);
    const manager = await managerWith("log", {}, { ...silentLog, info });
    const meta = { TurnID: "t1" };
    await manager.beforeLlm({ model: "m", messages: [{ role: "user", content: "s3cret" }], meta });
    expect(await manager.checkTool({ tool: "bash", arguments: { command: "s3cret" }, meta })).toMatchObject({
      action: "continue",
      approved: true,
    });
    manager.emit({ Kind: "tool_exec_start", Meta: meta, Payload: { Tool: "bash", Arguments: { command: "s3cret" } } });
    manager.emit({ Kind: "turn_end", Meta: meta, Payload: "s3cret" });
    await manager.flush(1000);
    expect(lines).toEqual([
      ["before_llm", { model: "m", turn: "t1" }],
      ["before_tool", { tool: "bash", turn: "t1" }],
      ["tool_exec_start", { tool: "bash", turn: "t1" }],
      ["turn_end", { turn: "t1" }],
    ]);
  });
});

describe("a registry", () => {
  test("hands the config to the factory, checked where there is a schema", () => {
    const registry = new BuiltinRegistry();
    const seen: unknown[] = [];
    registry.register("mine", (config) => {
      seen.push(config);
      return {};
    });
    registry.create("mine", { a: 1 }, { log: silentLog });
    registry.create("mine", undefined, { log: silentLog });
    expect(seen).toEqual([{ a: 1 }, {}]);
    expect(() => createBuiltinRegistry().create("deny_tools", { tools: 5 }, { log: silentLog })).toThrow(/tools/);
  });

  test("refuses a name that is empty, taken or not there", () => {
    const registry = createBuiltinRegistry();
    expect(registry.names).toEqual(["deny_tools", "log"]);
    expect(() => registry.register("", () => ({}))).toThrow(TypeError);
    expect(() => registry.register("log", () => ({}))).toThrow('the built-in hook "log" is there already');
    expect(() => registry.create("nope", {}, { log: silentLog })).toThrow('no built-in hook is called "nope"');
  });
});
