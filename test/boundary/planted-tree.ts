import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** The checkout. */
export const ROOT: string = join(import.meta.dirname, "../..");

const COPIED = ["package.json", "tsconfig.json", ".oxlintrc.json", "src/errors.ts", "src/log.ts"] as const;
const TIMEOUT_MS = 60_000;

/** What a tool says about each file: the codes or rules it was refused for. */
export type Refusals = ReadonlyMap<string, ReadonlySet<string>>;

/** A checkout in a temporary folder with the walls of the real one and other modules behind them. */
export interface PlantedTree {
  readonly dir: string;
  remove(): Promise<void>;
}

/** Plants files, by path, beside a copy of the walls. */
export async function plantTree(files: ReadonlyMap<string, string>): Promise<PlantedTree> {
  const dir = await mkdtemp(join(tmpdir(), "hookgate-boundary-"));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  };
  await mkdir(join(dir, "src"));
  await symlink(join(ROOT, "node_modules"), join(dir, "node_modules"));
  await Promise.all(COPIED.map((path) => copyFile(join(ROOT, path), join(dir, path))));
  await write("adapters/node/planted.ts", "export const planted: number = 1;\n");
  await Promise.all([...files].map(([path, text]) => write(path, `${text}\n`)));
  return { dir, remove: () => rm(dir, { recursive: true }) };
}

/** Compiles a tree with the core's tsconfig and collects the codes of each file. */
export async function compile({ dir }: PlantedTree): Promise<Refusals> {
  const { stdout } = await tool("tsc", ["-p", ".", "--pretty", "false"], dir);
  const refusals = new Map<string, Set<string>>();
  for (const [, file, code] of stdout.matchAll(/^(\S+?)\(\d+,\d+\): error (TS\d+):/gm)) add(refusals, file, code);
  return refusals;
}

/** Lists every file of the program that a folder's tsconfig makes. */
export async function listProgram(dir: string): Promise<readonly string[]> {
  const { stdout } = await tool("tsc", ["-p", ".", "--listFilesOnly"], dir);
  return stdout.split("\n").filter((line) => line !== "");
}

/** Lints a tree with the project's rules and collects the rules each file breaks. */
export async function lint({ dir }: PlantedTree): Promise<Refusals> {
  const { stdout } = await tool(
    "oxlint",
    ["-f", "json", "--no-error-on-unmatched-pattern", "src", "adapters", "test"],
    dir,
  );
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { filename: string; code?: string; severity: string }[];
  };
  const refusals = new Map<string, Set<string>>();
  for (const { filename, code, severity } of diagnostics)
    if (severity === "error") add(refusals, filename, code ?? "syntax");
  return refusals;
}

function add(refusals: Map<string, Set<string>>, file = "", code = ""): void {
  refusals.set(file, (refusals.get(file) ?? new Set()).add(code));
}

/** Runs a tool to its end. It refuses with a non-zero exit, so only a run without output is an error here. */
async function tool(name: string, args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  try {
    return await promisify(execFile)(join(ROOT, "node_modules/.bin", name), args, {
      cwd,
      timeout: TIMEOUT_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch (error) {
    if (error instanceof Error && "stdout" in error && typeof error.stdout === "string" && error.stdout !== "") {
      return { stdout: error.stdout };
    }
    throw error;
  }
}
