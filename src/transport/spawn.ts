import type { Pipe } from "../lines/pipe.ts";

/** How a process ended. */
export interface ExitStatus {
  /** The exit code; null when a signal ended it, or when it never ran. */
  readonly code: number | null;
  /** The signal's name, such as `SIGKILL`. */
  readonly signal: string | null;
  /** Why it could not be started at all, such as `command not found: "gate"`. */
  readonly failure?: string;
}

/** A running process, as a host gives it. */
export interface SpawnedProcess {
  /** The operating system's process id; absent when it could not be started. */
  readonly pid?: number;
  /** Its stdin and stdout. Where there is no faster way, `toPipe` makes it of web streams. */
  readonly pipe: Pipe;
  readonly stderr: ReadableStream<Uint8Array>;
  /**
   * Resolves when the process itself has ended, whether or not a descendant still holds its pipes; never rejects.
   * The host has ended the rest of its process group by then.
   */
  readonly exited: Promise<ExitStatus>;
  /** Sends a signal to the process and its whole group. Does nothing once it has ended. */
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** Lets go of the pipes, whoever still holds their other ends. */
  release(): void;
}

/**
 * Starts the process of one hook; the host injects it, with the command, the directory and the environment fixed.
 * A command that cannot be run is an {@link ExitStatus.failure}; what is thrown is treated the same.
 */
export type Spawn = () => SpawnedProcess;

/** How a process ended, in words that follow "the hook process". */
export function describeExit({ code, signal, failure }: ExitStatus): string {
  if (failure !== undefined) return `could not be started: ${failure}`;
  return signal === null ? `exited with code ${code ?? "unknown"}` : `was ended by ${signal}`;
}
