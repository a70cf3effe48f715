import { describe, expect, test } from "vitest";
import { nearestName } from "../src/nearest.ts";

describe("nearestName", () => {
  test.each([
    ["sdtio", ["http", "stdio"], "stdio"],
    ["STDIO", ["stdio"], "stdio"],
    ["before_tools", ["before_llm", "before_tool", "after_tool"], "before_tool"],
    ["beforeTool", ["before_tool"], "before_tool"],
    ["comand", ["command", "config"], "command"],
    ["", ["stdio"], undefined],
    ["webhook", ["stdio", "http"], undefined],
    ["tools", ["hooks"], undefined],
  ])("%j among %j is %j", (given, known, nearest) => {
    expect(nearestName(given, known)).toBe(nearest);
  });
});
