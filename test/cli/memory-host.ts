import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type CliHost, runCli } from "../../src/cli/index.ts";
import type { Ran, RunOptions } from "./run.ts";

/** Options of {@link runInMemory}. */
export interface MemoryOptions extends RunOptions {
  readonly isTTY?: boolean;
}

function refuse(): never {
  throw new Error("this host cannot do that");
}

/** Runs a command line without a process: nothing can be started, served or signalled. */
export async function runInMemory(args: readonly string[], options: MemoryOptions): Promise<Ran> {
  const { cwd, stdin = "", env = {}, isTTY = false } = options;
  let stdout = "";
  let stderr = "";
  const host: CliHost = {
    version: "1.2.3",
    env,
    stdout: { isTTY, write: (text) => void (stdout += text) },
    stderr: { isTTY, write: (text) => void (stderr += text) },
    fetch: refuse,
    request: refuse,
    ports: {},
    yaml: { cwd, fetch: refuse },
    fetchKeys: refuse,
    now: () => performance.now(),
    tokenize: (words, flags) =>
      parseArgs({ args: [...words], options: flags, strict: false, tokens: true, allowPositionals: true }).tokens,
    readFile: (path) =>
      readFile(join(cwd, path), "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      }),
    directoryOf: (path) => resolve(cwd, path, ".."),
    writeFile: refuse,
    readExample: refuse,
    serveStdio: refuse,
    probe: refuse,
    readStdin: () => Promise.resolve(stdin),
    serve: refuse,
    onSignal: refuse,
    inspectFile: refuse,
    findProgram: refuse,
    versionOf: refuse,
    onHangup: refuse,
    watchFile: refuse,
    exit: refuse,
  };
  const code = await runCli(args, host);
  return { code, stdout, stderr };
}
