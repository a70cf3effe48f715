import { type FileHook, readHookFile } from "./file.ts";
import type { CheckHttp, HookType } from "./definition.ts";
import type { HookFileProblem } from "./problem.ts";

/** Where hook files are and what they hold; the host injects it. */
export interface HookFiles {
  /** Where the user's own file is. */
  readonly userPath: string;
  /** Where a project's file may be, seen from a directory: there, then in each directory above, the nearest first. */
  projectPaths(cwd: string): readonly string[];
  /**
   * Reads a file.
   * @returns its path with every link resolved, and its bytes; undefined when there is no such file
   * @throws {Error} when it is there and cannot be read, is no regular file, or is longer than `maxBytes`
   */
  read(path: string, maxBytes: number): Promise<{ readonly path: string; readonly bytes: Uint8Array } | undefined>;
}

/** Which project files a person has read and trusts; the host keeps it in the user's own folder. */
export interface TrustStore {
  /** The SHA-256 a path is trusted with, in hex; undefined when it is not. */
  get(path: string): Promise<string | undefined>;
  /** Trusts a path for as long as its file has this SHA-256, in hex. */
  set(path: string, sha256: string): Promise<void>;
}

/** Options of {@link loadHookFiles}. */
export interface LoadHookFilesOptions {
  readonly files: HookFiles;
  readonly trust: TrustStore;
  /** Where to look for the project's file from. */
  readonly cwd: string;
  /** The user's file. A path that is written in the gateway's own config is trusted by that. @default the usual place */
  readonly user?: string | undefined;
  /** The project's file, trusted as above. @default the nearest one upward, loaded only when it is trusted */
  readonly project?: string | undefined;
  /** The types that can run here. @default bash and llm */
  readonly types?: readonly HookType[];
  /** Checks the hooks of type http. @default only their form is checked */
  readonly checkHttp?: CheckHttp | undefined;
}

/** A file that was looked at. */
export interface LoadedHookFile {
  readonly path: string;
  /** The hooks that can be used. */
  readonly hooks: readonly FileHook[];
  readonly problems: readonly HookFileProblem[];
  /** Whether it is a project's file that is not loaded because nobody has trusted what it says now. */
  readonly isUntrusted: boolean;
}

/** What {@link loadHookFiles} found, by level; absent where there is no file. */
export interface LoadedHookFiles {
  readonly user?: LoadedHookFile;
  readonly project?: LoadedHookFile;
}

/** The longest hook file that is read, in bytes. */
const MAX_FILE_BYTES = 1_048_576;

/**
 * Reads the user's and the project's hook files. It never rejects for what is in a file: that is a problem of the file.
 * A project's file comes with a cloned repository and runs commands, so one that was found by looking upward is loaded
 * only when its very bytes are trusted under its very path.
 */
export async function loadHookFiles(options: LoadHookFilesOptions): Promise<LoadedHookFiles> {
  const { files, cwd } = options;
  const user = await load(options.user ?? files.userPath, { ...options, isNeeded: options.user !== undefined });
  let project: LoadedHookFile | undefined;
  if (options.project !== undefined) project = await load(options.project, { ...options, isNeeded: true });
  for (const path of options.project === undefined ? files.projectPaths(cwd) : []) {
    project = await load(path, { ...options, isChecked: true });
    if (project !== undefined) break;
  }
  return { ...(user && { user }), ...(project && { project }) };
}

/**
 * Trusts a project's file as it is now.
 * @returns its path with every link resolved, and the SHA-256 that was recorded
 * @throws {Error} when the file is not there or cannot be read
 */
export async function trustHookFile(
  path: string,
  { files, trust }: { readonly files: HookFiles; readonly trust: TrustStore },
): Promise<{ readonly path: string; readonly sha256: string }> {
  const file = await files.read(path, MAX_FILE_BYTES);
  if (file === undefined) throw new Error(`there is no file "${path}"`);
  const sha256 = await digest(file.bytes);
  await trust.set(file.path, sha256);
  return { path: file.path, sha256 };
}

interface LoadOptions extends LoadHookFilesOptions {
  /** Whether it is a problem when the file is not there. */
  readonly isNeeded?: boolean;
  /** Whether the file has to be trusted. */
  readonly isChecked?: boolean;
}

async function load(path: string, options: LoadOptions): Promise<LoadedHookFile | undefined> {
  const { files, trust, types, checkHttp, isNeeded = false, isChecked = false } = options;
  let file;
  try {
    file = await files.read(path, MAX_FILE_BYTES);
  } catch (error) {
    return toUnread(path, error instanceof Error ? error.message : String(error));
  }
  if (file === undefined) return isNeeded ? toUnread(path, "there is no such file") : undefined;
  if (isChecked) {
    const trusted = await trust.get(file.path);
    // The bytes that are hashed are the bytes that are read: nobody can change the file in between.
    if (trusted !== (await digest(file.bytes))) return toUntrusted(file.path, trusted !== undefined);
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(file.bytes);
  } catch {
    return toUnread(file.path, "the file is not UTF-8");
  }
  return { path: file.path, ...readHookFile(text, { ...(types && { types }), checkHttp }), isUntrusted: false };
}

function toUnread(path: string, message: string): LoadedHookFile {
  return { path, hooks: [], problems: [{ severity: "error", path: "$", message }], isUntrusted: false };
}

function toUntrusted(path: string, isChanged: boolean): LoadedHookFile {
  const state = isChanged ? "has changed since it was trusted" : "is new here";
  const message = `the project's hook file ${state} and is not loaded; read it, then run: hookgate trust ${quote(path)}`;
  return { path, hooks: [], problems: [{ severity: "error", path: "$", message }], isUntrusted: true };
}

/** A path as a shell reads it as one word. */
function quote(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

async function digest(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
