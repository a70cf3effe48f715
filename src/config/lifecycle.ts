import { HookCallError } from "../errors.ts";
import {
  createBashPort,
  createLlmPort,
  type HookFiles,
  type HookType,
  LifecycleManager,
  type LifecyclePorts,
  type LoadedHookFile,
  type LoadedHookFiles,
  loadHookFiles,
  readHookFile,
  type SessionHookStore,
  type TrustStore,
} from "../jcli/index.ts";
import { createCommandTransport, type StartCommand } from "../transport/command.ts";
import { createLlmTransport, type LlmProvider, type LlmTransportOptions, readLlmProvider } from "../transport/llm.ts";
import type { Environment } from "./interpolate.ts";
import { createLifecycleHttp } from "./lifecycle-http.ts";
import type { ManagerFromConfigOptions } from "./manager.ts";
import type { ConfigFile } from "./schema.ts";
import type { YamlConfig } from "./yaml-schema.ts";

/** What a runtime has for the hooks of `hooks.yaml`. */
export interface YamlPorts {
  /** The directory that bash hooks run in, and above which a project's file is looked for. */
  readonly cwd: string;
  /** Where hook files are. @default there are none; `bundled` may be one */
  readonly files?: HookFiles | undefined;
  /** Which project files are trusted. @default none */
  readonly trust?: TrustStore | undefined;
  /** A file that is part of the program, in the place of the user's. */
  readonly bundled?: { readonly name: string; readonly text: string } | undefined;
  /** Runs shell commands. @default bash hooks cannot run here */
  readonly startCommand?: StartCommand | undefined;
  /** Reaches models. */
  readonly fetch: LlmTransportOptions["fetch"];
  /** The variables that name a model's provider, and that http hooks of files may use as `${env:NAME}`. */
  readonly env: Environment;
}

/** Options of {@link createLifecycleFromConfig}. */
export interface LifecycleFromConfigOptions extends ManagerFromConfigOptions {
  readonly yaml: YamlPorts;
  /** Where the hooks of sessions are kept. @default this process's memory */
  readonly sessionStore?: SessionHookStore | undefined;
}

/** The YAML hooks of a config, and what was found in their files. */
export interface StartedLifecycle {
  readonly lifecycle: LifecycleManager;
  /** The files that were looked at, in calling order. */
  readonly files: readonly LoadedHookFile[];
  /** Where hooks of type llm ask; absent when nobody has said. */
  readonly provider: LlmProvider | undefined;
}

/**
 * Loads the hook files of a config. What is wrong in them is in `files`: the entry is left out, the others are loaded.
 * @throws {TypeError} when the environment names a provider that cannot be used
 */
export async function createLifecycleFromConfig(
  config: ConfigFile & { readonly yaml: YamlConfig },
  options: LifecycleFromConfigOptions,
): Promise<StartedLifecycle> {
  const { log, now, yaml: runtime } = options;
  const { chain_timeout_ms, allow_session_bash, max_session_hooks, session_hooks_on_error } = config.yaml;
  const provider = toProvider(config.yaml, runtime.env);
  const ports = createPorts(config, { ...options, provider, isPublicOnly: false });
  const lifecycle = new LifecycleManager({
    ports,
    sessionPorts: createPorts(config, { ...options, provider, isPublicOnly: true }),
    sessionTypes: allow_session_bash ? ["bash", "llm", "http"] : ["llm", "http"],
    cwd: runtime.cwd,
    ...(chain_timeout_ms !== undefined && { chainTimeoutMs: chain_timeout_ms }),
    ...(max_session_hooks !== undefined && { maxSessionHooks: max_session_hooks }),
    sessionStore: options.sessionStore,
    onSessionStoreError: session_hooks_on_error,
    isolatesRequests: options.platform?.isolatesRequests,
    onSystemMessage: (message, { event }) => log.info("a hook says", { event, message: message.slice(0, 300) }),
    log,
    now,
  });
  const { user, project } = await readFiles(config.yaml, { ...options, types: lifecycle.types, ports });
  if (user !== undefined) lifecycle.load("user", user.hooks);
  if (project !== undefined) lifecycle.load("project", project.hooks);
  return { lifecycle, files: [user, project].filter((file) => file !== undefined), provider };
}

function toProvider({ llm }: YamlConfig, env: Environment): LlmProvider | undefined {
  return llm === undefined ? readLlmProvider(env) : { baseUrl: llm.base_url, apiKey: llm.api_key, model: llm.model };
}

interface PortOptions extends LifecycleFromConfigOptions {
  readonly provider: LlmProvider | undefined;
  readonly isPublicOnly: boolean;
}

const NO_PROVIDER =
  'no model provider is configured: "yaml": {"llm": …} in the config, or HOOKGATE_LLM_BASE_URL and HOOKGATE_LLM_MODEL';

function createPorts({ gateway }: ConfigFile, options: PortOptions): LifecyclePorts {
  const { yaml, provider, isPublicOnly, log, now } = options;
  const { startCommand: start, fetch, env } = yaml;
  const ask = provider && createLlmTransport({ ...provider, fetch });
  return {
    bash: start && createBashPort(createCommandTransport({ start })),
    // A guard that cannot ask has to follow its on_error, which it could not if it were left out.
    llm: createLlmPort(ask ?? (() => Promise.reject(new HookCallError("not_running", NO_PROVIDER)))),
    ...(options.connect &&
      createLifecycleHttp({ ports: options, gateway, isPublicOnly, log, now, ...(isPublicOnly ? {} : { env }) })),
  };
}

interface ReadOptions extends LifecycleFromConfigOptions {
  readonly types: readonly HookType[];
  readonly ports: LifecyclePorts;
}

async function readFiles(
  { user, project }: YamlConfig,
  { yaml, baseDir = ".", types, ports: { checkHttp } }: ReadOptions,
): Promise<LoadedHookFiles> {
  const { files, trust = TRUSTS_NOTHING, cwd, bundled } = yaml;
  const reading = { types, checkHttp };
  const own = bundled && { path: bundled.name, ...readHookFile(bundled.text, reading), isUntrusted: false };
  if (files === undefined) return own === undefined ? {} : { user: own };
  return loadHookFiles({
    files,
    trust,
    cwd,
    user: resolve(baseDir, user),
    project: resolve(baseDir, project),
    ...reading,
  });
}

/** Where the hook files of a config are or may come to be, whether they are there or not. */
export function listHookFiles(
  { yaml }: Pick<ConfigFile, "yaml">,
  { files, cwd, baseDir }: Pick<YamlPorts, "files" | "cwd"> & { readonly baseDir: string },
): readonly string[] {
  if (yaml === undefined || files === undefined) return [];
  const { user = files.userPath, project } = yaml;
  const projects = project === undefined ? files.projectPaths(cwd) : [project];
  return [user, ...projects].map((path) => resolve(baseDir, path) ?? path);
}

const TRUSTS_NOTHING: TrustStore = { get: () => Promise.resolve(undefined), set: () => Promise.resolve() };

const ABSOLUTE = /^(?:[/\\]|[A-Za-z]:[/\\])/;

function resolve(baseDir: string, path: string | undefined): string | undefined {
  return path === undefined || ABSOLUTE.test(path) ? path : `${baseDir}/${path}`;
}
