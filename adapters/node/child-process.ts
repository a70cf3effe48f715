import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import type { ExitStatus, Spawn, SpawnedProcess } from "../../src/transport/spawn.ts";
import { toByteSource, toNodePipe } from "./byte-streams.ts";
import { killGroup, trackGroup, untrackGroup } from "./process-groups.ts";

/** Options of {@link createSpawn}. */
export interface ChildProcessOptions {
  /**
   * The command and its arguments, at least one. It is looked up in PATH and run as it stands: no shell reads it, so
   * nothing in it is expanded or interpreted.
   */
  readonly command: readonly string[];
  /** The directory the process runs in; a command with a slash in it is relative to it. @default the current one */
  readonly cwd?: string | undefined;
  /** Variables set on top of this process's own and of `PYTHONUNBUFFERED=1`. @default none */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether the command's name or the directory may be a secret, as when they came from the environment: a failure to
   * start then names neither. @default false
   */
  readonly hasSecretName?: boolean | undefined;
}

/**
 * Makes the function that starts a hook's process with `node:child_process`. On POSIX each process leads a group of its
 * own, which ends with it, and with this process whichever way that ends, SIGKILL excepted.
 * @throws {RangeError} when the command is empty
 */
export function createSpawn({ command, ...options }: ChildProcessOptions): Spawn {
  const [file, ...args] = command;
  if (file === undefined || file === "") throw new RangeError("command must have at least one word, got none");
  return () => start(file, args, options);
}

function start(
  file: string,
  args: readonly string[],
  { cwd, env, hasSecretName = false }: Omit<ChildProcessOptions, "command">,
): SpawnedProcess {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, PYTHONUNBUFFERED: "1", ...env },
    stdio: "pipe",
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const { pid } = child;
  // Without a file descriptor to spare Node makes no pipes, whatever its types say; the error event comes later.
  if (child.stdin === undefined) {
    child.on("error", () => {});
    throw new Error("could not be started: too many open files");
  }
  if (pid !== undefined) trackGroup(pid);
  let isRunning = pid !== undefined;
  const exited = new Promise<ExitStatus>((resolve) => {
    // Not `close`: that waits for everyone who holds the pipes, and a grandchild can hold them for ever.
    child.on("exit", (code, signal) => {
      isRunning = false;
      if (pid !== undefined) {
        killGroup(pid, "SIGKILL");
        untrackGroup(pid);
      }
      resolve({ code, signal });
    });
    // A process that never ran has an `error` and no `exit`. Later errors are of a signal that could not be sent.
    child.on("error", (error) => {
      if (pid === undefined)
        resolve({ code: null, signal: null, failure: describeFailure(error, { file, cwd, hasSecretName }) });
    });
  });
  return {
    ...(pid === undefined ? {} : { pid }),
    pipe: toNodePipe(child),
    stderr: toByteSource(child.stderr),
    exited,
    kill(signal) {
      if (pid !== undefined && isRunning) killGroup(pid, signal);
    },
    release() {
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

interface FailureSite {
  readonly file: string;
  readonly cwd: string | undefined;
  readonly hasSecretName: boolean;
}

function describeFailure(error: Error, { file, cwd, hasSecretName }: FailureSite): string {
  const code = "code" in error ? String(error.code) : undefined;
  const toName = (name: string): string => (hasSecretName ? "its name is from the environment" : `"${name}"`);
  // The system reports a missing directory as it does a missing command.
  if (code === "ENOENT" && cwd !== undefined && !existsSync(cwd)) return `ENOENT, directory not found: ${toName(cwd)}`;
  if (code === "ENOENT") return `ENOENT, command not found: ${toName(file)}`;
  if (code === "EACCES") return `EACCES, command cannot be executed: ${toName(file)}`;
  // The system's own message names the command.
  return hasSecretName ? `${code ?? "it failed"}: ${toName(file)}` : `${error.message} ("${file}")`;
}
