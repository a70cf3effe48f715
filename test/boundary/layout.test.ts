import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const TOP_LEVEL = new Set(
  `package.json package-lock.json tsconfig.json wrangler.toml README.md LICENSE CHANGELOG.md
  src adapters test docs examples`.split(/\s+/),
);
const ADAPTER_LINES = 150;
/** Cloudflare's has two Durable Objects besides, which can be defined nowhere else. */
const CLOUDFLARE_LINES = 250;

const BUILT = new Set(["node_modules", "dist"]);

const files = globSync("{src,adapters,test,examples}/**/*.ts", { cwd: ROOT });
const manifest = readJson("package.json") as {
  exports: Record<string, string | { types: string; default: string }>;
  allowScripts: Record<string, boolean>;
};

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}

function codeLines(path: string): number {
  const code = readFileSync(join(ROOT, path), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
  return code.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("//")).length;
}

function limitOf(adapter: string): number {
  return adapter === "cloudflare" ? CLOUDFLARE_LINES : ADAPTER_LINES;
}

describe("the layout", () => {
  test("has nothing new at the top level", () => {
    const names = readdirSync(ROOT).filter((name) => !name.startsWith(".") && !BUILT.has(name));
    expect(names.filter((name) => !TOP_LEVEL.has(name))).toEqual([]);
  });

  test("has no drawers for odds and ends", () => {
    expect(files.filter((path) => /(^|\/)(utils?|helpers?|common|types)(\/|\.ts$)/.test(path))).toEqual([]);
  });

  test("keeps an adapter other than Node's small", () => {
    const lines: Record<string, number> = {};
    for (const path of globSync("adapters/*/**/*.ts", { cwd: ROOT })) {
      const name = path.split("/")[1] ?? "";
      if (name !== "node") lines[name] = (lines[name] ?? 0) + codeLines(path);
    }
    expect(Object.entries(lines).filter(([name, count]) => count > limitOf(name))).toEqual([]);
  });

  test("gives every folder of src its row of the dependency direction", () => {
    const { overrides } = readJson(".oxlintrc.json") as { overrides: { files: string[] }[] };
    const rows = new Set(overrides.flatMap((override) => override.files));
    const folders = new Set(files.flatMap((path) => /^src\/([^/]+)\//.exec(path)?.[1] ?? []));
    expect([...folders].filter((folder) => !rows.has(`src/${folder}/**`))).toEqual([]);
  });
});

describe("the manifest", () => {
  test("exports only what the sources have", () => {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === "string" ? [] : [[target.types, ".d.ts"] as const, [target.default, ".js"] as const],
    );
    const sources = targets.map(([path, suffix]) =>
      path.replace("./dist/", "").replace(new RegExp(`\\${suffix}$`), ".ts"),
    );
    expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test("decides on every install script there is", () => {
    const { packages } = readJson("package-lock.json") as { packages: Record<string, { hasInstallScript?: boolean }> };
    const names = Object.entries(packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([path]) => path.replace(/^.*node_modules\//, ""));
    expect(names.filter((name) => !(name in manifest.allowScripts))).toEqual([]);
  });
});
