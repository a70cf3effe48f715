import { nearestName } from "../config/index.ts";
import { isHookgateError } from "../errors.ts";
import { approvals } from "./approvals.ts";
import { schema, version } from "./about.ts";
import { parseArgs, UsageError, withHelp } from "./args.ts";
import { call } from "./call.ts";
import { test } from "./cases.ts";
import { doctor } from "./doctor.ts";
import { check } from "./check.ts";
import { type Command, EXIT } from "./command.ts";
import { hooks } from "./hooks.ts";
import { init } from "./init.ts";
import { keys } from "./keys.ts";
import { formatHelp, formatOverview } from "./help.ts";
import type { CliHost } from "./host.ts";
import { records } from "./records.ts";
import { reload } from "./reload.ts";
import { run } from "./run.ts";
import { serve } from "./serve.ts";
import { stdio } from "./stdio.ts";
import { replay } from "./replay.ts";
import { tail } from "./tail.ts";
import { createPaint, toLine } from "./text.ts";
import { trust } from "./trust.ts";

export { type Command, EXIT, type Example } from "./command.ts";
export type {
  ArgOption,
  ArgToken,
  CliHost,
  CliStream,
  FileFacts,
  HttpRequestOptions,
  ProbeOptions,
  ProbeStep,
  ServeOptions,
  StdioServing,
  StopSignal,
  WriteFileOptions,
} from "./host.ts";

/** Every command, in the order in which the help lists them. */
export const commands: readonly Command[] = [
  serve,
  stdio,
  call,
  run,
  hooks,
  check,
  doctor,
  reload,
  tail,
  records,
  replay,
  approvals,
  test,
  trust,
  keys,
  init,
  schema,
  version,
];

const ALIASES: Readonly<Record<string, string>> = {
  "--help": "help",
  "-h": "help",
  "--version": "version",
  "-v": "version",
};

/**
 * Runs a command line, the program's own name not included.
 * @returns the exit code; it never rejects
 */
export async function runCli(argv: readonly string[], host: CliHost): Promise<number> {
  let command: Command | undefined;
  try {
    const [word, ...rest] = argv;
    if (word === undefined) {
      host.stderr.write(formatOverview(commands));
      return EXIT.usage;
    }
    const name = Object.hasOwn(ALIASES, word) ? ALIASES[word] : word;
    if (name === "help") return help(rest[0], host);
    command = findCommand(name ?? word);
    const args = parseArgs(rest, withHelp(command.options), host);
    if (args.has("help")) return help(command.name, host);
    const extra = args.positionals[command.maxPositionals];
    if (extra !== undefined) throw new UsageError(`unexpected word "${toLine(extra)}"`);
    return await command.run(args, host);
  } catch (error) {
    return report(error, command, host);
  }
}

function help(name: string | undefined, host: CliHost): number {
  host.stdout.write(name === undefined ? formatOverview(commands) : formatHelp(findCommand(name)));
  return EXIT.ok;
}

function findCommand(name: string): Command {
  const command = commands.find((known) => known.name === name);
  if (command !== undefined) return command;
  if (name.startsWith("-")) throw new UsageError(`the command comes first, then its flags; got ${toLine(name)}`);
  const names = [...commands.map((known) => known.name), "help"];
  const nearest = nearestName(name, names);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  throw new UsageError(`unknown command "${toLine(name)}"${hint} (known: ${names.join(", ")})`);
}

function report(error: unknown, command: Command | undefined, host: CliHost): number {
  const paint = createPaint(host.stderr, host.env);
  const message = error instanceof Error ? error.message : String(error);
  // A config has many problems, each a line of its own.
  const lines = message.split("\n").map((line) => `${paint("bad", "error:")} ${toLine(line)}\n`);
  host.stderr.write(lines.join(""));
  if (error instanceof UsageError) {
    const name = command === undefined ? "" : ` ${command.name}`;
    host.stderr.write(`hookgate${name} --help says how to use it\n`);
  }
  // The gateway could not be asked, so nobody decided.
  const isUndecided = isHookgateError(error) && (error.code === "ERR_GATEWAY" || error.code === "ERR_HOOK_CALL");
  return isUndecided ? EXIT.noVerdict : EXIT.usage;
}
