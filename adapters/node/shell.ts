import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import type { Readable } from "node:stream";
import type { CommandOutcome, RunningCommand, StartCommand } from "../../src/transport/command.ts";
import { hasGroup, killGroup, trackGroup, untrackGroup } from "./process-groups.ts";

const KILL_AFTER_MS = 1000;
const TAIL_BYTES = 2048;
/** Turns of the event loop without a byte after which an ended process has nothing more in its pipes. */
const IDLE_TURNS = 2;

/** Options of {@link createShell}. */
export interface ShellOptions {
  /** Variables set on top of this process's own, and under those of a command. @default none */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * Makes the function that runs shell commands with `node:child_process`. On POSIX each leads a process group of its own,
 * which ends with this process whichever way that ends, SIGKILL excepted, for as long as the command itself runs.
 */
export function createShell({ env }: ShellOptions = {}): StartCommand {
  return ({ command, cwd, env: own, input }, { maxOutputBytes }) => {
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawn("sh", ["-c", command], {
        cwd,
        env: { ...process.env, ...env, ...own },
        stdio: "pipe",
        detached: process.platform !== "win32",
        windowsHide: true,
      });
    } catch (error) {
      // Such as a NUL character in the command or the directory.
      return toFailed(error instanceof Error ? error.message : String(error));
    }
    if (child.stdin === undefined) {
      child.on("error", () => {});
      return toFailed("too many open files");
    }
    const running = new ShellProcess(child, { cwd, maxOutputBytes });
    // A command that does not read its input gives EPIPE, which is no error.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    return running;
  };
}

function toFailed(failure: string): RunningCommand {
  const exit = { code: null, signal: null, failure };
  const outcome = { exit, stdout: new Uint8Array(0), stderrTail: new Uint8Array(0) };
  return { outcome: Promise.resolve(outcome), terminate() {} };
}

class ShellProcess implements RunningCommand {
  readonly outcome: Promise<CommandOutcome>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #maxOutputBytes: number;
  readonly #chunks: Buffer[] = [];
  #outputBytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #receivedBytes = 0;
  #hasEnded = false;
  #killTimer: NodeJS.Timeout | undefined;
  #resolve: (outcome: CommandOutcome) => void = () => {};

  constructor(
    child: ChildProcessWithoutNullStreams,
    { cwd, maxOutputBytes }: { readonly cwd: string; readonly maxOutputBytes: number },
  ) {
    this.#child = child;
    this.#maxOutputBytes = maxOutputBytes;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (child.pid !== undefined) trackGroup(child.pid);
    child.stdout.on("data", (chunk: Buffer) => this.#onOutput(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#onError(chunk));
    // Not `close`: that waits for everyone who holds the pipes, and a daemon can hold them for ever.
    child.on("exit", (code, signal) => {
      this.#onEnd();
      this.#drain(() => this.#settle({ code, signal }));
    });
    child.on("error", (error) => {
      if (child.pid === undefined) this.#settle({ code: null, signal: null, failure: describeFailure(error, cwd) });
    });
  }

  terminate(): void {
    const { pid } = this.#child;
    if (pid === undefined || this.#hasEnded || this.#killTimer !== undefined) return;
    killGroup(pid, "SIGTERM");
    this.#killTimer = setTimeout(() => {
      killGroup(pid, "SIGKILL");
      untrackGroup(pid);
    }, KILL_AFTER_MS);
    // This process may end before: then the group, which is still tracked, ends with it.
    this.#killTimer.unref();
  }

  #onEnd(): void {
    const { pid } = this.#child;
    this.#hasEnded = true;
    if (pid === undefined) return;
    // The shell has left on SIGTERM, but what it started may not have.
    if (this.#killTimer !== undefined && hasGroup(pid)) return;
    clearTimeout(this.#killTimer);
    untrackGroup(pid);
  }

  #onOutput(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    this.#outputBytes += chunk.length;
    if (this.#outputBytes <= this.#maxOutputBytes) {
      this.#chunks.push(chunk);
      return;
    }
    this.terminate();
    this.#settle(undefined);
  }

  #onError(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    this.#tail = Buffer.concat([this.#tail, chunk.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
  }

  /**
   * Reads what the process wrote before it ended. All of it is in the pipes by now, so turns of the event loop that bring
   * nothing mean that there is no more; their end may never come.
   */
  #drain(done: () => void): void {
    const { stdout, stderr } = this.#child;
    let seenBytes = this.#receivedBytes;
    let idleTurns = 0;
    const turn = (): void => {
      idleTurns = this.#receivedBytes === seenBytes ? idleTurns + 1 : 0;
      seenBytes = this.#receivedBytes;
      if ((isDone(stdout) && isDone(stderr)) || idleTurns > IDLE_TURNS) done();
      else setImmediate(turn);
    };
    turn();
  }

  #settle(exit: CommandOutcome["exit"]): void {
    const stdout = exit === undefined ? Buffer.alloc(0) : Buffer.concat(this.#chunks);
    this.#resolve({ ...(exit && { exit }), stdout, stderrTail: this.#tail });
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }
}

function isDone(readable: Readable): boolean {
  return readable.readableEnded || readable.destroyed;
}

function describeFailure(error: Error, cwd: string): string {
  const code = "code" in error ? error.code : undefined;
  // The system reports a missing directory as it does a missing command.
  if (code === "ENOENT" && !existsSync(cwd)) return `ENOENT, directory not found: "${cwd}"`;
  return code === "ENOENT" ? 'ENOENT, command not found: "sh"' : error.message;
}
