import { HookCallError } from "../errors.ts";
import type { ShellCommand } from "../jcli/port.ts";
import type { TransportScope } from "./contract.ts";
import { describeExit, type ExitStatus } from "./spawn.ts";

/** What a shell command came to. */
export interface CommandOutcome {
  /** How the shell ended; absent when it wrote too much and its end was not waited for. */
  readonly exit?: ExitStatus;
  /** Everything it wrote to stdout, up to the limit. */
  readonly stdout: Uint8Array;
  /** The end of what it wrote to stderr, 2 KiB or less. */
  readonly stderrTail: Uint8Array;
}

/** A shell command that was started. */
export interface RunningCommand {
  /**
   * Resolves when the shell has ended and what was written until then has been read, whoever still holds its pipes, or at
   * once when it has written more than it may; never rejects. What the command left running in the background after a
   * normal end goes on.
   */
  readonly outcome: Promise<CommandOutcome>;
  /** Ends the shell and its whole process group: SIGTERM now, SIGKILL after a second. Does nothing once it has ended. */
  terminate(): void;
}

/** Starts `sh -c` with a command; the host injects it. The command's input is written and closed without waiting. */
export type StartCommand = (command: ShellCommand, limits: { readonly maxOutputBytes: number }) => RunningCommand;

/** Options of {@link createCommandTransport}. */
export interface CommandTransportOptions {
  readonly start: StartCommand;
  /**
   * The longest output that is read, in bytes, 1 or more. It bounds the memory a command can make the host use.
   * @default 1048576 (1 MiB)
   */
  readonly maxOutputBytes?: number | undefined;
}

/**
 * Runs shell commands, each once, for its output. A call that is cut ends the command's whole process group; the caller
 * settles the deadline and need not wait for that.
 * @throws {RangeError} when the bound is out of range
 * @see YAML hook system, section 4
 */
export function createCommandTransport({
  start,
  maxOutputBytes = 1_048_576,
}: CommandTransportOptions): (command: ShellCommand, scope: TransportScope) => Promise<string> {
  if (!Number.isSafeInteger(maxOutputBytes) || maxOutputBytes < 1) {
    throw new RangeError(`maxOutputBytes must be an integer of 1 or more, got ${maxOutputBytes}`);
  }
  return async (command, scope) => {
    const running = start(command, { maxOutputBytes });
    scope.onAbort(() => running.terminate());
    return readOutcome(await running.outcome, maxOutputBytes);
  };
}

function readOutcome({ exit, stdout, stderrTail }: CommandOutcome, maxOutputBytes: number): string {
  if (exit === undefined) {
    throw new HookCallError("too_large", `the command wrote more than ${maxOutputBytes} bytes to stdout`);
  }
  if (exit.failure !== undefined) throw new HookCallError("not_running", `the command ${describeExit(exit)}`);
  if (exit.code !== 0) {
    const tail = toOneLine(stderrTail);
    throw new HookCallError("exited", `the command ${describeExit(exit)}${tail === "" ? "" : `: ${tail}`}`);
  }
  try {
    return strict.decode(stdout);
  } catch (cause) {
    throw new HookCallError("bad_json", "stdout is not UTF-8", { cause });
  }
}

const strict = new TextDecoder("utf-8", { fatal: true });

/** What fits beside the reason in a record's message. */
const MAX_TAIL_CHARS = 200;
const CONTROL = /\p{Cc}+/gu;

function toOneLine(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(CONTROL, " ").trim().slice(-MAX_TAIL_CHARS);
}
