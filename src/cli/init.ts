import { HookgateError } from "../errors.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import type { CliHost } from "./host.ts";
import { readFile } from "./load.ts";
import {
  createBunStarter,
  createDenoStarter,
  createLambdaStarter,
  createNodeStarter,
  createWorkersStarter,
} from "./starter/javascript.ts";
import { createPythonStarter } from "./starter/python.ts";
import { type Starter, STARTER_RUNTIMES, type StarterOptions, type StarterRuntime } from "./starter/starter.ts";
import { toLine } from "./text.ts";

/** `hookgate init`: the beginning of a hook endpoint. */
export const init: Command = {
  name: "init",
  summary: "Writes the beginning of a hook endpoint, with a test.",
  usage: "init endpoint --runtime RUNTIME [--dir DIR] [--name NAME]",
  details: [
    `RUNTIME is one of ${STARTER_RUNTIMES.join(", ")}. The endpoint verifies that calls are the gateway's, decides by a policy that is yours to replace, and signs what it answers.`,
    "No file that is there is replaced: if one is, nothing is written.",
  ],
  options: {
    runtime: { value: "RUNTIME", help: `Where it is to run: ${STARTER_RUNTIMES.join(", ")}.` },
    dir: { value: "DIR", help: "The directory it is written to. Without it: the endpoint's name." },
    name: { value: "NAME", help: "The endpoint's name, of letters, digits and dashes. Without it: approvals." },
  },
  maxPositionals: 1,
  examples: [
    { line: "hookgate init endpoint --runtime node", help: "a server, in the directory approvals" },
    { line: "hookgate init endpoint --runtime workers --dir desk --name risk-desk", help: "a Cloudflare Worker" },
  ],
  exitCodes: { 0: "written", 1: "the command line is not good, or a file is there already or cannot be written" },
  run: runInit,
};

const STARTERS: Readonly<Record<StarterRuntime, (options: StarterOptions) => Starter | Promise<Starter>>> = {
  workers: createWorkersStarter,
  node: createNodeStarter,
  lambda: createLambdaStarter,
  deno: createDenoStarter,
  bun: createBunStarter,
  python: createPythonStarter,
};

const NAME = /^[a-z][a-z\d-]{0,62}$/;

async function runInit(args: Args, host: CliHost): Promise<number> {
  if (args.positionals[0] !== "endpoint") throw new UsageError("what is to be begun? expected endpoint");
  const runtime = STARTER_RUNTIMES.find((name) => name === args.get("runtime"));
  if (runtime === undefined) throw new UsageError(`--runtime: expected one of ${STARTER_RUNTIMES.join(", ")}`);
  const name = args.get("name") ?? "approvals";
  if (!NAME.test(name)) throw new UsageError("--name: expected lower-case letters, digits and dashes, a letter first");
  const dir = args.get("dir") ?? name;
  const { version } = host;
  const readExample = (file: string): Promise<string> => host.readExample(file);
  const { files, next } = await STARTERS[runtime]({ name, version, readExample });
  const paths = Object.entries(files).map(([file, text]) => [`${dir}/${file}`, text] as const);
  for (const [path] of paths) {
    if ((await readFile(path, host)) !== undefined) throw new HookgateError("ERR_CONFIG", `${path} is there already`);
  }
  for (const [path, text] of paths) await write(path, text, host);
  const steps = [`cd ${dir}`, ...next].map((line) => `  ${toLine(line)}\n`);
  host.stdout.write(`${paths.map(([path]) => `${toLine(path)}\n`).join("")}\nnext:\n${steps.join("")}`);
  return EXIT.ok;
}

async function write(path: string, text: string, host: CliHost): Promise<void> {
  try {
    await host.writeFile(path, text, { isSecret: false, replaces: false });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HookgateError("ERR_CONFIG", `cannot write ${path}: ${why}`, { cause });
  }
}
