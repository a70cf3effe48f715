import { type Args, type OptionSpec, type OptionSpecs, UsageError } from "./args.ts";
import type { CliHost } from "./host.ts";
import { isLogLevel, LOG_LEVELS, type LogLevel } from "./log.ts";

/** What the program ends with. */
export const EXIT = { ok: 0, usage: 1, denied: 2, noVerdict: 3 } as const;

/** An example in the help of a command. */
export interface Example {
  readonly line: string;
  readonly help: string;
}

/** A command of the command line. */
export interface Command {
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** The words it takes, as the help shows them. */
  readonly usage: string;
  /** What the help says below the usage, one paragraph each. */
  readonly details: readonly string[];
  readonly options: OptionSpecs;
  /** The most words it takes beside flags. */
  readonly maxPositionals: number;
  readonly examples: readonly Example[];
  /** What it ends with, by exit code. */
  readonly exitCodes: Readonly<Record<number, string>>;
  /** @returns the exit code */
  run(args: Args, host: CliHost): Promise<number>;
}

/** The flag that names the config file. */
export const CONFIG_OPTION: OptionSpec = {
  value: "FILE",
  short: "c",
  help: "The config file. Without it: hooks.json in the current directory.",
};

/** The flag that sets how much is logged. */
export function logLevelOption(fallback: LogLevel): OptionSpec {
  return {
    value: "LEVEL",
    help: `What is logged to stderr: ${LOG_LEVELS.join(", ")}. Without it: ${fallback}.`,
  };
}

/**
 * Reads `--log-level`.
 * @throws {UsageError} when it names no level
 */
export function readLogLevel(args: Args, fallback: LogLevel): LogLevel {
  const level = args.get("log-level") ?? fallback;
  if (!isLogLevel(level)) {
    throw new UsageError(`--log-level: expected one of ${LOG_LEVELS.join(", ")}, got "${level}"`);
  }
  return level;
}
