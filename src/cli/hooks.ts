import { HookgateError } from "../errors.ts";
import type { ListedHook } from "../jcli/index.ts";
import type { MountedHookStatus } from "../picoclaw/index.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { formatFiles, formatLifecycleHooks } from "./hook-table.ts";
import type { CliHost } from "./host.ts";
import { loadConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { isObject } from "../is-object.ts";
import { startHooks } from "./start-hooks.ts";
import { createPaint, formatTable, type Paint, toSafeJson } from "./text.ts";

/** `hookgate hooks`: what hooks there are. */
export const hooks: Command = {
  name: "hooks",
  summary: "Lists the hooks of both systems, with their counts and last errors.",
  usage: "hooks list [--config FILE | --url URL] [--json]",
  details: [
    "Without --url the hooks of the config are started and listed; nothing has been counted then. With --url those of a running gateway are listed, which needs a token with scope observe or admin.",
  ],
  options: {
    config: CONFIG_OPTION,
    url: { value: "URL", help: "A gateway to ask, such as http://127.0.0.1:8787." },
    "token-env": { value: "NAME", help: "The environment variable that holds the gateway's token." },
    json: { help: "Prints JSON, as GET /v1/hooks does." },
    "log-level": logLevelOption("error"),
  },
  maxPositionals: 1,
  examples: [
    { line: "hookgate hooks list", help: "those of hooks.json and its hook files" },
    { line: "hookgate hooks list --url http://127.0.0.1:8787", help: "those of a running gateway" },
  ],
  exitCodes: { 0: "listed", 1: "the config is not good, or the gateway does not answer" },
  run: runHooks,
};

interface Listed {
  readonly hooks: readonly MountedHookStatus[];
  /** Absent when no hook files are loaded. */
  readonly yaml_hooks?: readonly ListedHook[];
}

async function runHooks(args: Args, host: CliHost): Promise<number> {
  const [word] = args.positionals;
  if (word !== "list") throw new UsageError('expected "hooks list"');
  if (args.has("config") && args.has("url")) throw new UsageError("--config and --url exclude each other");
  const paint = createPaint(host.stdout, host.env);
  const { listed, files } = args.has("url") ? await listThere(args, host) : await listHere(args, host, paint);
  host.stdout.write(args.has("json") ? `${toSafeJson(listed)}\n` : `${format(listed, paint)}${files}`);
  return EXIT.ok;
}

async function listHere(args: Args, host: CliHost, paint: Paint): Promise<{ listed: Listed; files: string }> {
  const log = createTextLog(host, readLogLevel(args, "error"));
  const made = await startHooks(await loadConfig(args.get("config"), host), { host, log });
  const { manager, yaml } = made;
  const listed = { hooks: manager.hooks(), ...(yaml && { yaml_hooks: yaml.lifecycle.hooks() }) };
  await made.host.close();
  return { listed, files: yaml === undefined ? "" : `\n${formatFiles(yaml.files, paint)}` };
}

async function listThere(args: Args, host: CliHost): Promise<{ listed: Listed; files: string }> {
  const url = args.get("url") ?? "";
  if (!URL.canParse(url)) throw new UsageError("--url: expected a URL such as http://127.0.0.1:8787");
  const name = args.get("token-env");
  const token = name === undefined ? undefined : host.env[name];
  if (name !== undefined && !token) throw new UsageError(`--token-env: the environment variable ${name} is not set`);
  const headers: Readonly<Record<string, string>> = token ? { authorization: `Bearer ${token}` } : {};
  const response = await host.yaml.fetch(new URL("/v1/hooks", url).href, { headers, redirect: "manual" });
  const value: unknown = await response.json().catch(() => undefined);
  if (!response.ok || !isListed(value)) {
    throw new HookgateError("ERR_CONFIG", `the gateway answered ${response.status} and no list of hooks`);
  }
  return { listed: value, files: "" };
}

function isListed(value: unknown): value is Listed {
  if (!isObject(value) || !Array.isArray(value["hooks"])) return false;
  return value["yaml_hooks"] === undefined || Array.isArray(value["yaml_hooks"]);
}

function format({ hooks: mounted, yaml_hooks: yaml }: Listed, paint: Paint): string {
  const rows = mounted.map(({ name, source, points, state, calls, verdicts, lastError = "" }) => [
    name,
    source,
    points.join(", "),
    { text: state, tone: state === "ready" ? ("good" as const) : ("bad" as const) },
    String(calls),
    String(calls - verdicts),
    lastError,
  ]);
  const head = ["HOOK", "TRANSPORT", "POINTS", "STATE", "CALLS", "FAILED", "LAST ERROR"];
  const first = rows.length === 0 ? "no hook of the points\n" : formatTable(head, rows, paint);
  if (yaml === undefined) return first;
  return `${first}\n${yaml.length === 0 ? "no hook of a hooks.yaml\n" : formatLifecycleHooks(yaml, paint)}`;
}
