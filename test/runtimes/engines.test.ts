import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cases } from "../conformance/index.ts";

const ROOT = join(import.meta.dirname, "../..");
const TIMEOUT_MS = 120_000;
const run = promisify(execFile);

/** Holds the Worker's bundle beside the config that embeds it. */
const workerdDir = await mkdtemp(join(tmpdir(), "hookgate-workerd-"));

/** Each engine but Node, and how it runs its driver. Deno may use nothing but what is already installed. */
const ENGINES = {
  workerd: ["test", join(workerdDir, "workerd.capnp")],
  bun: ["test/runtimes/bun.ts"],
  // The build of yaml that Deno takes looks at two variables, for debugging.
  deno: [
    "run",
    "--allow-env=LOG_STREAM,LOG_TOKENS",
    "--no-lock",
    "--node-modules-dir=manual",
    "--cached-only",
    "test/runtimes/deno.ts",
  ],
} as const;

interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly lines: readonly string[];
}

const reports: Record<string, Pick<Report, "passed" | "failed">> = {};

async function runEngine(engine: keyof typeof ENGINES): Promise<Report> {
  const bin = join(ROOT, "node_modules/.bin", engine);
  const { stdout, stderr } = await run(bin, ENGINES[engine], { cwd: ROOT, timeout: TIMEOUT_MS }).catch(outputOf);
  const lines = `${stdout}\n${stderr}`.split("\n");
  const passed = lines.filter((line) => line.startsWith("ok ")).length;
  return { passed, failed: cases.length - passed, lines };
}

/** A failed process still has its output; whatever else went wrong is thrown on. */
function outputOf(error: unknown): { stdout: string; stderr: string } {
  if (!(error instanceof Error && "stdout" in error && "stderr" in error)) throw error;
  return { stdout: String(error.stdout), stderr: `${String(error.stderr)}\n${error.message}` };
}

beforeAll(async () => {
  await copyFile(join(import.meta.dirname, "workerd.capnp"), join(workerdDir, "workerd.capnp"));
  await build({
    absWorkingDir: ROOT,
    entryPoints: ["test/runtimes/workerd.ts"],
    outfile: join(workerdDir, "workerd.js"),
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    logLevel: "silent",
  });
});

afterAll(async () => {
  await rm(workerdDir, { recursive: true });
  await mkdir(join(ROOT, "dist"), { recursive: true });
  await writeFile(join(ROOT, "dist/engines.json"), JSON.stringify(reports));
});

describe("conformance on the other engines", () => {
  for (const engine of ["workerd", "bun", "deno"] as const) {
    test(`every case passes on ${engine}`, { timeout: TIMEOUT_MS }, async () => {
      const { passed, failed, lines } = await runEngine(engine);
      reports[engine] = { passed, failed };
      const summary = lines.find((line) => line.startsWith("conformance: "));
      const seen = new Set(lines.filter((line) => line.startsWith("ok ")).map((line) => line.slice("ok ".length)));
      const missing = cases.map(({ id }) => id).filter((id) => !seen.has(id));
      expect(missing, lines.filter((line) => !line.startsWith("ok ")).join("\n")).toEqual([]);
      expect({ passed, summary }).toEqual({
        passed: cases.length,
        summary: `conformance: ${cases.length} passed, 0 failed`,
      });
    });
  }

  test("there are cases, and no two share an id", () => {
    expect(cases.length).toBeGreaterThan(0);
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  });
});
