import { type Config, type HttpConfig, type StartedHook } from "../config/index.ts";
import type { Log } from "../log.ts";
import type { Args } from "./args.ts";
import { checkYaml, formatCheckedYaml } from "./check-yaml.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { diagnose, type Step } from "./diagnosis.ts";
import { formatHooks } from "./hook-table.ts";
import type { CliHost } from "./host.ts";
import { disabledHooks, loadConfig, type LoadedConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { startHooks } from "./start-hooks.ts";
import { type Cell, createPaint, formatMs, formatTable, type Paint, toLine, toSafeJson } from "./text.ts";

/** `hookgate check`: whether a config is good and every hook in it comes up. */
export const check: Command = {
  name: "check",
  summary: "Reads the config, starts every hook and shakes hands with it.",
  usage: "check [--config FILE] [--online] [--json]",
  details: [
    "Prints each hook with its transport, the points it is called at, and how long it took to come up, or why it did not. Nothing listens, and no hook is asked anything.",
    "A hook over HTTP is looked at step by step, each with its milliseconds and, where something is wrong, what to do: dns, connect, tls, hello (the greeting), signature (of its reply), clock (how far apart the two are).",
    "Of each hooks.yaml every problem is printed with its line and column: what cannot be loaded, commands that are not found, placeholders that are not known, filters that can never match. A project's file that is not trusted counts as one.",
  ],
  options: {
    config: CONFIG_OPTION,
    online: { help: "Connects to the model that hooks of hooks.yaml ask." },
    json: { help: "Prints one JSON object instead of a table." },
    "log-level": logLevelOption("warn"),
  },
  maxPositionals: 0,
  examples: [
    { line: "hookgate check", help: "checks hooks.json" },
    { line: "hookgate check --config hooks.json --json", help: "for scripts" },
  ],
  exitCodes: {
    0: "the config is good, every enabled hook is up and no hook file has an error",
    1: "the config is not good, a hook did not come up, or a hook file has an error",
  },
  run: runCheck,
};

/** A hook as it was found. */
export interface CheckedHook extends StartedHook {
  /** Only for hooks over HTTP. */
  readonly steps?: readonly Step[];
}

async function runCheck(args: Args, host: CliHost): Promise<number> {
  const log = createTextLog(host, readLogLevel(args, "warn"));
  const loaded = await loadConfig(args.get("config"), host);
  const { config, file } = loaded;
  const { yaml: own, ...rest } = config;
  const isOnline = args.has("online");
  const yaml = own && (await checkYaml({ ...loaded, config: { ...rest, yaml: own } }, { host, isOnline }));
  const hooks = await checkHooks({ ...loaded, config: rest }, { host, log });
  const failedCount = hooks.filter(({ state }) => state !== "ready").length;
  const isGood = failedCount === 0 && yaml?.ok !== false;
  const disabled = disabledHooks(config);
  if (args.has("json")) {
    const report = { ok: isGood, config: file, hooks, disabled, notes: config.notes, ...(yaml && { yaml }) };
    host.stdout.write(`${toSafeJson(report)}\n`);
  } else {
    const paint = createPaint(host.stdout, host.env);
    const verdict = failedCount === 0 ? paint("good", "good") : paint("bad", `${failedCount} not up`);
    const count = `${hooks.length} hook${hooks.length === 1 ? "" : "s"}`;
    host.stdout.write(`${toLine(file)}: ${count}, ${verdict}\n`);
    if (hooks.length > 0) host.stdout.write(`\n${formatHooks(hooks, paint)}`);
    for (const hook of hooks) host.stdout.write(formatSteps(hook, paint));
    if (yaml !== undefined) host.stdout.write(`\n${formatCheckedYaml(yaml, paint)}`);
    if (disabled.length > 0) host.stdout.write(`\nnot enabled: ${toLine(disabled.join(", "))}\n`);
    for (const note of config.notes) host.stdout.write(`note: ${note}\n`);
  }
  return isGood ? EXIT.ok : EXIT.usage;
}

interface Tools {
  readonly host: CliHost;
  readonly log: Log;
}

/** Starts the hooks that are not called over HTTP and looks at those that are, all at the same time. */
export async function checkHooks(loaded: LoadedConfig, tools: Tools): Promise<readonly CheckedHook[]> {
  const { config } = loaded;
  const { hooks } = config;
  const entries = Object.entries(hooks.processes);
  const remote = entries.flatMap(([name, entry]) =>
    hooks.enabled && entry.enabled && entry.transport === "http" ? [{ name, entry }] : [],
  );
  const others = Object.fromEntries(entries.filter(([, { transport }]) => transport !== "http"));
  const local: Config = { ...config, hooks: { ...hooks, processes: others } };
  const starting = startHooks({ ...loaded, config: local }, tools).then(async ({ manager, started }) => {
    await manager.close();
    return started;
  });
  // The config's own problems come first: nobody waits for a diagnosis to hear of them.
  const [started, ...found] = await Promise.all([
    starting,
    ...remote.map((hook) => checkRemote(hook, { ...tools, config })),
  ]);
  return [...started, ...found];
}

async function checkRemote(
  { name, entry }: { readonly name: string; readonly entry: HttpConfig },
  { host, log, config }: Tools & { readonly config: Config },
): Promise<CheckedHook> {
  const startedAtMs = host.now();
  const steps = await diagnose({ name, entry, gateway: config.gateway }, { host, log });
  const failed = steps.find(({ outcome }) => outcome === "failed");
  const { intercept: points, observe, required } = entry;
  const base = { name, transport: "http", points, observe, required, ms: host.now() - startedAtMs, steps };
  if (failed === undefined) return { ...base, state: "ready" };
  return { ...base, state: "failed", reason: `${failed.step}: ${failed.found}` };
}

const TONES = { ok: "good", failed: "bad", skipped: "dim" } as const;

function formatSteps({ name, steps = [] }: CheckedHook, paint: Paint): string {
  if (steps.length === 0) return "";
  const rows = steps.map(({ step, outcome, ms, found, hint }): readonly Cell[] => [
    step,
    { text: outcome, tone: TONES[outcome] },
    formatMs(ms),
    hint === undefined ? found : `${found}; ${hint}`,
  ]);
  return `\n${paint("strong", toLine(name))}\n${formatTable(["STEP", "OUTCOME", "MS", "FOUND"], rows, paint)}`;
}
