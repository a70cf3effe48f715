import { type HookResult, type HostContext, LIFECYCLE, type LifecycleOutcome } from "../jcli/index.ts";
import { HookgateError } from "../errors.ts";
import { type Args, UsageError } from "./args.ts";
import { connect } from "./call.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { CONTEXT_OPTIONS, readContext } from "./context.ts";
import type { CliHost } from "./host.ts";
import { loadConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { startHooks } from "./start-hooks.ts";
import { type Cell, createPaint, formatMs, formatTable, type Paint, toLine, toSafeJson } from "./text.ts";

const FLUSH_MS = 60_000;

/** `hookgate run`: the hooks of one event of `hooks.yaml`. */
export const run: Command = {
  name: "run",
  summary: "Runs the hooks of one event of hooks.yaml and says what they change.",
  usage: "run EVENT [--config FILE | --url URL] [context flags] [--diff] [--json]",
  details: [
    'The hook files of the config, or those at the usual places where it has no "yaml", are loaded and their hooks of that event are called; with --url those of a running gateway are called instead.',
    "Prints the result, then each hook that was called, what it changed and in how many milliseconds. With --diff each changed field is shown before and after.",
    "The hooks of an event that only tells, such as session_start, are waited for.",
  ],
  options: {
    config: CONFIG_OPTION,
    url: { value: "URL", help: "A gateway to ask, such as http://127.0.0.1:8787." },
    "token-env": { value: "NAME", help: "The environment variable that holds the gateway's token." },
    "allow-insecure": { help: "Allows plain http to another machine: anyone on the way could read and decide." },
    ...CONTEXT_OPTIONS,
    diff: { help: "Shows each changed field before and after." },
    json: { help: "Prints the result as JSON, as a gateway sends it." },
    "log-level": logLevelOption("error"),
  },
  maxPositionals: 1,
  examples: [
    { line: "hookgate run pre_send_message --user-input 'hello' --diff", help: "what becomes of a message" },
    {
      line: `hookgate run pre_tool_execution --tool Bash --arguments '{"command": "ls"}'`,
      help: "may the tool run?",
    },
    { line: `echo '{"event": "stop"}' | hookgate run --context -`, help: "a context from stdin" },
  ],
  exitCodes: {
    0: "the hooks let it go on",
    1: "the command line, the context or the config is not good",
    2: "a hook ended the step: stop or skip",
    3: "the step is ended because a hook with on_error: abort gave no verdict, or the gateway gave none",
  },
  run: runEvent,
};

interface Ran extends LifecycleOutcome {
  /** What each hook changed, by its name; only where the hooks ran in this process. */
  readonly changes: ReadonlyMap<string, HookResult>;
}

async function runEvent(args: Args, host: CliHost): Promise<number> {
  if (args.has("config") && args.has("url")) throw new UsageError("--config and --url exclude each other");
  const stray = ["token-env", "allow-insecure"].find((name) => args.has(name) && !args.has("url"));
  if (stray !== undefined) throw new UsageError(`--${stray} is for --url`);
  const context = await readContext(args.positionals[0], args, host);
  const ran = await (args.has("url") ? runThere(context, args, host) : runHere(context, args, host));
  const { result, halted, trace } = ran;
  const text = args.has("json")
    ? `${toSafeJson({ ...result, halted, trace })}\n`
    : format(ran, context, { isDiff: args.has("diff"), paint: createPaint(host.stdout, host.env) });
  host.stdout.write(text);
  if (result.action === undefined) return EXIT.ok;
  return trace.records.at(-1)?.outcome === "no_verdict" ? EXIT.noVerdict : EXIT.denied;
}

async function runHere(context: HostContext, args: Args, host: CliHost): Promise<Ran> {
  const log = createTextLog(host, readLogLevel(args, "error"));
  const { config, ...loaded } = await loadConfig(args.get("config"), host);
  // The other system has no part in it, and need not be started.
  const { yaml = { allow_session_bash: false } } = config;
  const own = { ...config, yaml, hooks: { ...config.hooks, enabled: false } };
  const made = await startHooks({ ...loaded, config: own }, { host, log });
  const changes = new Map<string, HookResult>();
  try {
    const { lifecycle } = made.yaml ?? {};
    if (lifecycle === undefined) throw new HookgateError("ERR_INTERNAL", "the hook files were not loaded");
    const outcome = await lifecycle.run(context, { onResult: (hook, result) => void changes.set(hook, result) });
    await lifecycle.flush(FLUSH_MS);
    return { ...outcome, changes };
  } finally {
    await made.host.close();
  }
}

async function runThere(context: HostContext, args: Args, host: CliHost): Promise<Ran> {
  const client = connect(args, host);
  try {
    return { ...(await client.run(context)), changes: new Map() };
  } finally {
    await client.close();
  }
}

interface FormatOptions {
  readonly isDiff: boolean;
  readonly paint: Paint;
}

function format({ result, trace, changes }: Ran, context: HostContext, { isDiff, paint }: FormatOptions): string {
  const { action, ...fields } = result;
  const changed = Object.keys(fields);
  const head =
    action === undefined
      ? paint("good", changed.length === 0 ? "nothing changed" : `changed: ${changed.join(", ")}`)
      : paint("bad", action);
  const rest = isDiff ? formatDiff(fields, context, paint) : changed.length === 0 ? "" : `${toSafeJson(result)}\n`;
  const rows = trace.records.map(({ hook, outcome, ms, kind, error }): readonly Cell[] => [
    hook,
    { text: outcome, tone: kind === undefined ? "good" : "warn" },
    formatMs(ms),
    Object.keys(changes.get(hook) ?? {}).join(", "),
    kind === undefined ? "" : `${kind}: ${error ?? ""}`,
  ]);
  const isTold = LIFECYCLE[context.event].isNotification;
  const none = isTold ? "its hooks ran in the background\n" : "no hook is called here\n";
  const table = rows.length === 0 ? none : formatTable(["HOOK", "OUTCOME", "MS", "CHANGED", "WHY"], rows, paint);
  return `${head}\n${rest}\n${table}`;
}

/** Each changed field, before and after. */
function formatDiff(fields: HookResult, context: HostContext, paint: Paint): string {
  const before = new Map<string, unknown>(Object.entries(context));
  return Object.entries(fields)
    .flatMap(([field, after]: [string, unknown]) => [
      field,
      ...(before.has(field) ? [paint("bad", `- ${toText(before.get(field))}`)] : []),
      paint("good", `+ ${toText(after)}`),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function toText(value: unknown): string {
  return typeof value === "string" ? toLine(value) : toLine(JSON.stringify(value));
}
