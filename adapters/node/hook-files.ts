import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readFile, realpath, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { HookFiles, TrustStore } from "../../src/jcli/index.ts";

/** Options of {@link createHookFiles}. */
export interface HookFilesOptions {
  /** The user's home directory. @default the one of the user this process runs as */
  readonly home?: string | undefined;
}

/** Hook files on disk: the user's in `~/.jdata/agent/hooks.yaml`, a project's in `.jcli/hooks.yaml`. */
export function createHookFiles({ home = homedir() }: HookFilesOptions = {}): HookFiles {
  return {
    userPath: join(home, ".jdata", "agent", "hooks.yaml"),
    projectPaths: (cwd) => ancestors(resolve(cwd)).map((dir) => join(dir, ".jcli", "hooks.yaml")),
    async read(path, maxBytes) {
      try {
        const real = await realpath(path);
        return { path: real, bytes: await readRegularFile(real, maxBytes) };
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
  };
}

function ancestors(dir: string): readonly string[] {
  const parent = dirname(dir);
  return parent === dir ? [dir] : [dir, ...ancestors(parent)];
}

/** A directory, a pipe or a device in the place of a file must not be waited for or read without end. */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error("it is not a regular file");
    if (stat.size > maxBytes) throw new Error(`the file is longer than ${maxBytes} bytes`);
    const bytes = await file.readFile();
    if (bytes.length > maxBytes) throw new Error(`the file is longer than ${maxBytes} bytes`);
    return bytes;
  } finally {
    await file.close();
  }
}

/** Options of {@link createTrustStore}. */
export interface TrustStoreOptions {
  /** The folder of hookgate's own state. @default `hookgate` in `XDG_STATE_HOME`, or in `~/.local/state` */
  readonly stateDir?: string | undefined;
}

/** Keeps which project files are trusted in a file only the user can read, `trusted-hooks.json`. */
export function createTrustStore({ stateDir = defaultStateDir() }: TrustStoreOptions = {}): TrustStore {
  const path = join(stateDir, "trusted-hooks.json");
  return {
    get: async (file) => (await readTrusted(path)).get(file),
    async set(file, sha256) {
      const trusted = new Map(await readTrusted(path)).set(file, sha256);
      await mkdir(stateDir, { recursive: true, mode: 0o700 });
      // Written beside it and renamed, so that a reader never sees half of it.
      const temporary = `${path}.${randomUUID()}`;
      await writeFile(temporary, `${JSON.stringify(Object.fromEntries(trusted), undefined, 2)}\n`, { mode: 0o600 });
      await rename(temporary, path);
    },
  };
}

function defaultStateDir(): string {
  return join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "hookgate");
}

/** A store that is missing or damaged trusts nothing. */
async function readTrusted(path: string): Promise<ReadonlyMap<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch {
    return new Map();
  }
  if (typeof value !== "object" || value === null) return new Map();
  return new Map(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
