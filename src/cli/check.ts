import { createManagerFromConfig } from "../config/index.ts";
import type { Args } from "./args.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { formatHooks } from "./hook-table.ts";
import type { CliHost } from "./host.ts";
import { disabledHooks, loadConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { createPaint, toLine, toSafeJson } from "./text.ts";

/** `hookgate check`: whether a config is good and every hook in it comes up. */
export const check: Command = {
  name: "check",
  summary: "Reads the config, starts every hook and shakes hands with it.",
  usage: "check [--config FILE] [--json]",
  details: [
    "Prints each hook with its transport, the points it is called at, and how long it took to come up, or why it did not. Nothing listens, and no hook is asked anything.",
  ],
  options: {
    config: CONFIG_OPTION,
    json: { help: "Prints one JSON object instead of a table." },
    "log-level": logLevelOption("warn"),
  },
  maxPositionals: 0,
  examples: [
    { line: "hookgate check", help: "checks hooks.json" },
    { line: "hookgate check --config hooks.json --json", help: "for scripts" },
  ],
  exitCodes: {
    0: "the config is good and every enabled hook is up",
    1: "the config is not good, or a hook did not come up",
  },
  run: runCheck,
};

async function runCheck(args: Args, host: CliHost): Promise<number> {
  const log = createTextLog(host, readLogLevel(args, "warn"));
  const { config, file, baseDir, builtins } = await loadConfig(args.get("config"), host);
  const options = { spawn: host.spawn, builtins, log, baseDir, now: () => host.now() };
  const { manager, started } = await createManagerFromConfig(config, options);
  await manager.close();
  const failedCount = started.filter(({ state }) => state !== "ready").length;
  const disabled = disabledHooks(config);
  if (args.has("json")) {
    const report = { ok: failedCount === 0, config: file, hooks: started, disabled, notes: config.notes };
    host.stdout.write(`${toSafeJson(report)}\n`);
  } else {
    const paint = createPaint(host.stdout, host.env);
    const verdict = failedCount === 0 ? paint("good", "good") : paint("bad", `${failedCount} not up`);
    const count = `${started.length} hook${started.length === 1 ? "" : "s"}`;
    host.stdout.write(`${toLine(file)}: ${count}, ${verdict}\n`);
    if (started.length > 0) host.stdout.write(`\n${formatHooks(started, paint)}`);
    if (disabled.length > 0) host.stdout.write(`\nnot enabled: ${toLine(disabled.join(", "))}\n`);
    for (const note of config.notes) host.stdout.write(`note: ${note}\n`);
  }
  return failedCount === 0 ? EXIT.ok : EXIT.usage;
}
