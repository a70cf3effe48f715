import { cp } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeDir, removeDir, run } from "./run.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONFIG = ["--config", "examples/hooks.json"];

describe("examples/hooks.json", () => {
  test("is good, and every hook in it comes up", async () => {
    const { code, stdout } = await run(["check", ...CONFIG], { cwd: ROOT });
    expect(stdout).toMatch(/^examples\/hooks\.json: 5 hooks, good\n/);
    expect(code).toBe(0);
  });

  test("works from any directory", async () => {
    const { code } = await run(["check", "--config", join(ROOT, "examples/hooks.json")], { cwd: join(ROOT, "docs") });
    expect(code).toBe(0);
  });

  test("is what the package's own scripts use where there is no hooks.json, and nobody else", async () => {
    const dir = await makeDir({});
    await cp(join(ROOT, "examples/hooks.json"), join(dir, "examples/hooks.json"));
    const call = ["call", "before_tool", "--tool", "exec_all"];
    const env = { npm_package_name: "hookgate", npm_lifecycle_event: "start" };
    const own = await run(call, { cwd: dir, env });
    expect(own.stdout).toMatch(/^denied by deny_tools: this gateway never lets that tool run\n/);
    expect(own.code).toBe(2);
    const other = await run(call, { cwd: dir, env: { ...env, npm_package_name: "other" } });
    expect(other).toMatchObject({ code: 1, stdout: "" });
    await removeDir(dir);
  });
});
