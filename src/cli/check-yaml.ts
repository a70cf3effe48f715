import {
  type Config,
  createBuiltins,
  createLifecycleFromConfig,
  type StartedLifecycle,
  type YamlConfig,
} from "../config/index.ts";
import { type FileHook, formatHookProblem, type HookFileProblem, type LoadedHookFile } from "../jcli/index.ts";
import { silentLog } from "../log.ts";
import type { CliHost } from "./host.ts";
import type { LoadedConfig } from "./load.ts";
import { type Paint, toLine } from "./text.ts";

/** A hook file as it was found. */
export interface CheckedFile {
  readonly path: string;
  readonly hooks: number;
  readonly problems: readonly HookFileProblem[];
}

/** What `hookgate check` found of the hooks of `hooks.yaml`. */
export interface CheckedYaml {
  readonly files: readonly CheckedFile[];
  /** How the models' provider was found; absent when no hook needs one. */
  readonly provider?: { readonly ok: boolean; readonly found: string };
  /** Whether there is no error. */
  readonly ok: boolean;
}

/** Options of {@link checkYaml}. */
export interface CheckYamlOptions {
  readonly host: CliHost;
  /** Whether to connect to the models' provider. */
  readonly isOnline: boolean;
}

/** Loads the hook files of a config and looks at what their hooks need. No hook is called. */
export async function checkYaml(
  { config, ...loaded }: LoadedConfig & { readonly config: Config & { readonly yaml: YamlConfig } },
  { host, isOnline }: CheckYamlOptions,
): Promise<CheckedYaml> {
  const now = (): number => host.now();
  const yaml = { ...host.yaml, env: host.env };
  const started = await createLifecycleFromConfig(config, {
    ...loaded,
    ...host.ports,
    builtins: createBuiltins(),
    log: silentLog,
    now,
    yaml,
  });
  await started.lifecycle.close();
  const files = await Promise.all(started.files.map((file) => checkFile(file, host)));
  const usesModel = started.files.some(({ hooks }) => hooks.some(({ definition }) => definition.type === "llm"));
  const provider = usesModel ? await checkProvider(started, { host, isOnline }) : undefined;
  const hasError = files.some(({ problems }) => problems.some(({ severity }) => severity === "error"));
  return { files, ...(provider && { provider }), ok: !hasError && provider?.ok !== false };
}

async function checkFile({ path, hooks, problems }: LoadedHookFile, host: CliHost): Promise<CheckedFile> {
  const missing = await Promise.all(hooks.map((hook) => checkCommand(hook, host)));
  return { path, hooks: hooks.length, problems: [...problems, ...missing.flat()] };
}

/** A word that the shell looks up as it stands: no variable, quote or operator is in it. */
const PLAIN_WORD = /^(?:~\/)?[\w./@+:-]+(?=$|[\s;&|<>)])/;

/** Whether the shell knows the first word of a command; one it would have to work out first is left alone. */
async function checkCommand(
  { event, index, line, definition }: FileHook,
  host: CliHost,
): Promise<readonly HookFileProblem[]> {
  const { startCommand, cwd } = host.yaml;
  if (definition.type !== "bash" || startCommand === undefined) return [];
  const [word] = PLAIN_WORD.exec(definition.command.trim()) ?? [];
  if (word === undefined) return [];
  const home = host.env["HOME"] ?? "";
  // The word is a variable's value, so that the shell runs nothing of it.
  const env = { HOOKGATE_WORD: word.startsWith("~/") ? home + word.slice(1) : word };
  const lookUp = { command: 'command -v -- "$HOOKGATE_WORD"', cwd, env, input: "" };
  const { exit } = await startCommand(lookUp, { maxOutputBytes: 4096 }).outcome;
  if (exit?.code === 0) return [];
  const place = { event, path: `${event}[${index}].command`, line, column: 1 };
  return [{ severity: "error", field: "command", message: `command not found: ${toLine(word)}`, ...place }];
}

async function checkProvider(
  { provider }: StartedLifecycle,
  { host, isOnline }: Pick<CheckYamlOptions, "host" | "isOnline">,
): Promise<{ readonly ok: boolean; readonly found: string }> {
  if (provider === undefined) {
    const found = 'none is configured: "yaml": {"llm": …}, or HOOKGATE_LLM_BASE_URL and HOOKGATE_LLM_MODEL';
    return { ok: false, found };
  }
  const { baseUrl, apiKey, model } = provider;
  const name = `${model} at ${new URL(baseUrl).host}`;
  if (!isOnline) return { ok: true, found: `${name} (--online connects to it)` };
  try {
    const headers: Readonly<Record<string, string>> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const url = `${baseUrl.replace(/\/+$/, "")}/models`;
    const response = await host.yaml.fetch(url, {
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(ONLINE_MS),
    });
    await response.body?.cancel();
    // Not every server lists its models; one that answers at all is there.
    const isRefused = response.status === 401 || response.status === 403;
    const isThere = response.status < 500 && !isRefused;
    return { ok: isThere, found: `${name}: ${isRefused ? "the key is refused" : `it answered ${response.status}`}` };
  } catch {
    return { ok: false, found: `${name}: it cannot be reached` };
  }
}

const ONLINE_MS = 10_000;

/** What was found of the hooks of `hooks.yaml`, for people. */
export function formatCheckedYaml({ files, provider }: CheckedYaml, paint: Paint): string {
  if (files.length === 0) return "no hooks.yaml was found\n";
  const lines = files.flatMap(({ path, hooks, problems }) => [
    `${toLine(path)}: ${hooks} hook${hooks === 1 ? "" : "s"}, ${problems.length === 0 ? paint("good", "good") : paint("bad", `${problems.length} problem${problems.length === 1 ? "" : "s"}`)}`,
    ...problems.map((problem) => `  ${toLine(formatHookProblem(problem, path))}`),
  ]);
  const model = provider === undefined ? [] : [`model: ${paint(provider.ok ? "good" : "bad", toLine(provider.found))}`];
  return `${[...lines, ...model].join("\n")}\n`;
}
