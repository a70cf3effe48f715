import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compile, lint, listProgram, plantTree, type PlantedTree, type Refusals, ROOT } from "./planted-tree.ts";
import { controls, violations } from "./violations.ts";

const HOOK_TIMEOUT_MS = 90_000;

const planted = violations.map((violation, index) => ({
  ...violation,
  path: `${violation.folder ?? "src/chain"}/${violation.file ?? `planted-${index}.ts`}`,
}));
const clean = new Map(
  controls.map(({ folder, file, source }, index) => [
    `${folder ?? "src/chain"}/${file ?? `control-${index}.ts`}`,
    source,
  ]),
);
const trees: PlantedTree[] = [];

async function refusalsOf(by: "tsc" | "oxlint", judge: (tree: PlantedTree) => Promise<Refusals>): Promise<Refusals> {
  const files = planted.filter((violation) => violation.by === by).map(({ path, source }) => [path, source] as const);
  const tree = await plantTree(new Map([...clean, ...files]));
  trees.push(tree);
  return await judge(tree);
}

async function bundle(entry: string, absWorkingDir: string): Promise<number> {
  const { outputFiles } = await build({
    absWorkingDir,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    platform: "neutral",
    write: false,
    logLevel: "silent",
  });
  return outputFiles.length;
}

afterAll(async () => {
  await Promise.all(trees.map((tree) => tree.remove()));
});

for (const [by, judge] of [
  ["tsc", compile],
  ["oxlint", lint],
] as const) {
  describe(`what ${by} refuses`, () => {
    let refusals: Refusals = new Map();

    beforeAll(async () => {
      refusals = await refusalsOf(by, judge);
    }, HOOK_TIMEOUT_MS);

    for (const { path, source, rule } of planted.filter((violation) => violation.by === by)) {
      test(`${path}: ${source.slice(0, 100)}`, () => {
        expect([...(refusals.get(path) ?? [])]).toContain(rule);
      });
    }

    test("nothing that is clean", () => {
      expect([...clean.keys(), "src/errors.ts", "src/log.ts"].filter((path) => refusals.has(path))).toEqual([]);
    });
  });
}

describe("the program of the core", () => {
  test("holds no ambient types", async () => {
    const files = await listProgram(ROOT);
    expect(files.some((file) => file.endsWith("/src/errors.ts"))).toBe(true);
    expect(files.filter((file) => file.includes("/@types/"))).toEqual([]);
  });

  test("would show a package that brings the Node types", async () => {
    const tree = await plantTree(new Map([["src/chain/planted.ts", `export { Agent } from "undici";`]]));
    trees.push(tree);
    const files = await listProgram(tree.dir);
    expect(files.some((file) => file.includes("/@types/node/"))).toBe(true);
  });
});

describe("a bundle for no platform", async () => {
  const folders = await readdir(join(ROOT, "src"), { withFileTypes: true });
  const entries = folders.filter((entry) => entry.isDirectory()).map(({ name }) => `src/${name}/index.ts`);

  for (const entry of ["src/index.ts", ...entries].filter((path) => existsSync(join(ROOT, path)))) {
    test(`${entry} bundles`, async () => {
      expect(await bundle(entry, ROOT)).toBe(1);
    });
  }

  test("a Node import does not", async () => {
    const dir = await mkdtemp(join(ROOT, "dist/boundary-"));
    await writeFile(join(dir, "planted.ts"), `export { readFileSync } from "node:fs";`);
    await expect(bundle("planted.ts", dir)).rejects.toThrow("node:fs");
    await rm(dir, { recursive: true });
  });
});
