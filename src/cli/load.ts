import { type Config, createBuiltins, MAX_CONFIG_CHARS, parseConfig } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import type { CliHost } from "./host.ts";

/** A config file that was found and read. */
export interface LoadedConfig {
  readonly config: Config;
  /** Its name, as it was given or found. */
  readonly file: string;
  /** What is in it. */
  readonly text: string;
  /** The directory it is in, as an absolute path. */
  readonly baseDir: string;
}

const DEFAULT_FILE = "hooks.json";
const EXAMPLE_FILE = "examples/hooks.json";

/**
 * Reads the config file that was named, or `hooks.json`; where a script of hookgate's own package runs, its example too.
 * @throws {HookgateError} `ERR_CONFIG` when there is no file or it is not good
 */
export async function loadConfig(named: string | undefined, host: CliHost): Promise<LoadedConfig> {
  const isOwnScript = host.env["npm_package_name"] === "hookgate" && host.env["npm_lifecycle_event"] !== undefined;
  const candidates = named === undefined ? [DEFAULT_FILE, ...(isOwnScript ? [EXAMPLE_FILE] : [])] : [named];
  for (const file of candidates) {
    const text = await readFile(file, host);
    if (text !== undefined) return toLoaded(text, file, host);
  }
  const hint = named === undefined ? "; name one with --config FILE" : "";
  throw new HookgateError("ERR_CONFIG", `there is no config file ${candidates.join(" or ")}${hint}`);
}

/**
 * Reads a config that was read before.
 * @param onText told of what is in the file, also where it is not good
 * @throws {HookgateError} `ERR_CONFIG` when the file is gone, is no regular file, is too long, or is not good
 */
export async function reloadConfig(
  file: string,
  { host, onText }: { readonly host: CliHost; readonly onText: (text: string) => void },
): Promise<LoadedConfig> {
  const text = await readFile(file, host, MAX_CONFIG_CHARS);
  if (text === undefined) throw new HookgateError("ERR_CONFIG", `there is no config file ${file}`);
  onText(text);
  return toLoaded(text, file, host);
}

function toLoaded(text: string, file: string, host: CliHost): LoadedConfig {
  const config = parseConfig(text, { env: host.env, builtins: createBuiltins(), file });
  return { config, file, text, baseDir: host.directoryOf(file) };
}

/**
 * Reads a file that may not be there.
 * @throws {HookgateError} `ERR_CONFIG` when it is there and cannot be read
 */
export async function readFile(file: string, host: CliHost, maxBytes?: number): Promise<string | undefined> {
  try {
    return await host.readFile(file, maxBytes);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HookgateError("ERR_CONFIG", `cannot read ${file}: ${why}`, { cause });
  }
}

/** The names of the hooks in a config that are not loaded. */
export function disabledHooks({ hooks }: Config): readonly string[] {
  const entries = [...Object.entries(hooks.builtins), ...Object.entries(hooks.processes)];
  return entries.filter(([, { enabled }]) => !hooks.enabled || !enabled).map(([name]) => name);
}
