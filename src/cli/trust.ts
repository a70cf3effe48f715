import { HookgateError } from "../errors.ts";
import { trustHookFile } from "../jcli/index.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import type { CliHost } from "./host.ts";
import { toLine } from "./text.ts";

/** `hookgate trust`: a project's hook file may be loaded. */
export const trust: Command = {
  name: "trust",
  summary: "Trusts a project's hooks.yaml as it is now.",
  usage: "trust FILE",
  details: [
    "A project's file comes with a cloned repository and runs commands on this machine, so it is loaded only when you have read it and said so. Its SHA-256 is recorded for its path in your own state folder; once the file changes, it is not loaded until you trust it again.",
  ],
  options: {},
  maxPositionals: 1,
  examples: [{ line: "hookgate trust .jcli/hooks.yaml", help: "after reading it" }],
  exitCodes: { 0: "recorded", 1: "there is no such file, or it cannot be read" },
  run: runTrust,
};

async function runTrust(args: Args, host: CliHost): Promise<number> {
  const [file] = args.positionals;
  if (file === undefined) throw new UsageError("which file? such as .jcli/hooks.yaml");
  const { files, trust: store } = host.yaml;
  if (files === undefined || store === undefined) throw new HookgateError("ERR_CONFIG", "there are no hook files here");
  const { path, sha256 } = await trustHookFile(file, { files, trust: store });
  host.stdout.write(`trusted ${toLine(path)} (SHA-256 ${sha256})\n`);
  return EXIT.ok;
}
