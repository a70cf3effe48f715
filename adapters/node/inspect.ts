import { execFile } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import process from "node:process";
import type { FileFacts } from "../../src/cli/index.ts";

/** Looks at a file; undefined when there is none. */
export async function inspectFile(path: string): Promise<FileFacts | undefined> {
  try {
    const facts = await stat(path);
    const can = (mode: number): Promise<boolean> =>
      access(path, mode).then(
        () => true,
        () => false,
      );
    return {
      isFile: facts.isFile(),
      isReadable: await can(constants.R_OK),
      isExecutable: await can(constants.X_OK),
      // Windows has no such bits: what it says there means nothing.
      isWritableByAll: process.platform !== "win32" && (facts.mode & 0o002) !== 0,
    };
  } catch {
    return undefined;
  }
}

/** Where a program would be found: in PATH, or relative to the directory when it has a slash. */
export async function findProgram(name: string, dir: string): Promise<string | undefined> {
  const isPath = /[/\\]/.test(name);
  const places = isPath ? [dir] : (process.env["PATH"] ?? "").split(delimiter);
  const suffixes = process.platform === "win32" ? (process.env["PATHEXT"] ?? ".EXE").split(";") : [""];
  for (const place of places) {
    for (const suffix of suffixes) {
      const path = resolve(place, `${name}${suffix}`);
      const facts = await inspectFile(path);
      // The first one that may be run is taken; one that is named by its path is reported as it is.
      if (facts?.isFile === true && (facts.isExecutable || isPath)) return path;
    }
  }
  return undefined;
}

const VERSION_TIMEOUT_MS = 3000;

/** The first line of what a program says to `--version`; undefined when it says nothing. */
export function versionOf(program: string): Promise<string | undefined> {
  return new Promise((found) => {
    execFile(program, ["--version"], { timeout: VERSION_TIMEOUT_MS }, (error, stdout) => {
      found(error === null ? stdout.split("\n", 1)[0]?.trim() : undefined);
    });
  });
}
