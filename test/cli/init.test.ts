import { existsSync } from "node:fs";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeDir, removeDir, run } from "./run.ts";

const ROOT = join(import.meta.dirname, "../..");

let cwd: string;

beforeEach(async () => {
  cwd = await makeDir({});
});

afterEach(async () => {
  await removeDir(cwd);
});

/** Lets a starter import this package from its sources: what a runtime loads is not under node_modules. */
async function install(dir: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { readonly exports: object };
  const exported = JSON.stringify(manifest.exports)
    .replaceAll("./dist/", "./")
    .replaceAll('.js"', '.ts"')
    .replaceAll('.d.ts"', '.ts"');
  const source = join(cwd, "hookgate-source");
  await mkdir(source, { recursive: true });
  await writeFile(
    join(source, "package.json"),
    JSON.stringify({ name: "hookgate", type: "module", exports: JSON.parse(exported) as unknown }),
  );
  for (const folder of ["src", "adapters", "node_modules"]) await symlink(join(ROOT, folder), join(source, folder));
  await mkdir(join(dir, "node_modules/@types"), { recursive: true });
  await symlink(source, join(dir, "node_modules/hookgate"));
  const { devDependencies = {} } = JSON.parse(await readFile(join(dir, "package.json"), "utf8")) as {
    readonly devDependencies?: object;
  };
  for (const name of Object.keys(devDependencies))
    await symlink(join(ROOT, "node_modules", name), join(dir, "node_modules", name));
}

/** Runs a program of the toolchain in a starter. */
async function runIn(
  dir: string,
  [file = "", ...args]: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  const PATH = [join(ROOT, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const env = { PATH, HOME: dir, DENO_DIR: join(dir, ".deno"), NO_COLOR: "1" };
  const child = spawn(file, args, { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number];
  return { code, output };
}

const TESTS: readonly (readonly [runtime: string, command: readonly string[], passed: RegExp])[] = [
  ["node", ["node", "--test"], /pass 3\b/],
  ["workers", ["node", "--test"], /pass 3\b/],
  ["lambda", ["node", "--test"], /pass 3\b/],
  ["deno", ["deno", "test", "--allow-env"], /3 passed/],
  ["bun", ["bun", "test"], /3 pass\b/],
  ["python", ["python3", "-m", "unittest", "test_endpoint"], /Ran 3 tests.*OK/s],
];

describe("hookgate init endpoint", () => {
  test.each(TESTS)(
    "--runtime %s writes a starter whose test passes",
    { timeout: 60_000 },
    async (runtime, command, passed) => {
      const { code, stdout, stderr } = await run(
        ["init", "endpoint", "--runtime", runtime, "--dir", "desk", "--name", "risk-desk"],
        { cwd },
      );
      expect([code, stderr]).toEqual([0, ""]);
      const dir = join(cwd, "desk");
      for (const path of stdout.split("\n\n")[0]?.split("\n") ?? [])
        expect(existsSync(join(cwd, path)), path).toBe(true);
      expect(stdout).toMatch(/\n\nnext:\n {2}cd desk\n/);
      expect(await readFile(join(dir, "README.md"), "utf8")).toContain("risk-desk");
      if (runtime !== "python") await install(dir);
      const tested = await runIn(dir, command);
      expect(tested.code, tested.output).toBe(0);
      expect(tested.output).toMatch(passed);
    },
  );

  test("the Worker is one for wrangler", { timeout: 60_000 }, async () => {
    await run(["init", "endpoint", "--runtime", "workers"], { cwd });
    const dir = join(cwd, "approvals");
    await install(dir);
    const bundled = await runIn(dir, ["wrangler", "deploy", "--dry-run", "--outdir", "out"]);
    expect(bundled.code, bundled.output).toBe(0);
    expect(existsSync(join(dir, "out/worker.js"))).toBe(true);
  });

  test("the Lambda function is one file", { timeout: 60_000 }, async () => {
    await run(["init", "endpoint", "--runtime", "lambda"], { cwd });
    const dir = join(cwd, "approvals");
    await install(dir);
    const { scripts } = JSON.parse(await readFile(join(dir, "package.json"), "utf8")) as {
      readonly scripts: { readonly build: string };
    };
    const built = await runIn(dir, scripts.build.split(" "));
    expect(built.code, built.output).toBe(0);
    await cp(join(dir, "dist/index.mjs"), join(cwd, "alone.mjs"));
    const env = { HOOK_SECRET: "0123456789abcdef0123456789abcdef", HOOK_URL: "https://desk.test/", HOOK_GATEWAY: "g" };
    const line = `node -e 'import("./alone.mjs").then(({ handler }) => handler({ requestContext: { http: { method: "GET" } } })).then(({ statusCode }) => console.log(statusCode))'`;
    expect(await run(line, { cwd, env })).toMatchObject({ code: 0, stdout: "405\n" });
  });

  test("replaces nothing", async () => {
    await mkdir(join(cwd, "approvals"));
    await writeFile(join(cwd, "approvals/hook.ts"), "mine");
    const { code, stdout, stderr } = await run(["init", "endpoint", "--runtime", "bun"], { cwd });
    expect([code, stdout, stderr]).toEqual([1, "", "error: approvals/hook.ts is there already\n"]);
    expect(existsSync(join(cwd, "approvals/package.json"))).toBe(false);
    expect(await readFile(join(cwd, "approvals/hook.ts"), "utf8")).toBe("mine");
  });

  test.each([
    ["", "what is to be begun? expected endpoint"],
    ["gateway", "what is to be begun? expected endpoint"],
    ["endpoint", "--runtime: expected one of workers, node, lambda, deno, bun, python"],
    ["endpoint --runtime java", "--runtime: expected one of workers, node, lambda, deno, bun, python"],
    ["endpoint --runtime node --name ../x", "--name: expected lower-case letters, digits and dashes"],
  ])("refuses init %s", async (flags, message) => {
    const { code, stderr } = await run(["init", ...flags.split(" ").filter((word) => word !== "")], { cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});
