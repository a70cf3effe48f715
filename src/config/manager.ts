import type { Log } from "../log.ts";
import {
  acceptHello,
  type BuiltinRegistry,
  createEventFilter,
  createLocalPort,
  createRemotePort,
  encodeHello,
  HELLO_METHOD,
  HookManager,
  type HookPoint,
  type HookPort,
  type PortStatus,
  toModes,
} from "../picoclaw/index.ts";
import type { Spawn } from "../transport/spawn.ts";
import { createStdioTransport } from "../transport/stdio.ts";
import type { Config } from "./parse.ts";
import { formatPath } from "./path.ts";
import { ConfigError } from "./problem.ts";
import type { BuiltinConfig, ConfigFile, ProcessConfig } from "./schema.ts";

/** A process to run, as a config file says it. */
export interface HookCommand {
  /** The program and its arguments, at least one word. */
  readonly command: readonly string[];
  /** The directory it runs in. @default the current one */
  readonly cwd?: string;
  /** Variables on top of the host's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the program's name or the directory came from the environment: no message may say them. */
  readonly hasSecretName: boolean;
}

/** Makes the function that starts a hook's process; the host injects it. */
export type CreateSpawn = (command: HookCommand) => Spawn;

/** Options of {@link createManagerFromConfig}. */
export interface ManagerFromConfigOptions {
  readonly spawn: CreateSpawn;
  readonly builtins: BuiltinRegistry;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** The directory that a hook's relative `dir` is relative to: the config file's. */
  readonly baseDir: string;
}

/** How one hook came up. */
export interface StartedHook {
  readonly name: string;
  /** `in-process`, or the transport's name. */
  readonly transport: string;
  readonly points: readonly HookPoint[];
  /** Which events it is told of, as configured. */
  readonly observe: readonly string[];
  readonly required: boolean;
  readonly state: PortStatus["state"];
  /** Why it is not ready. */
  readonly reason?: string;
  /** How long it took to come up or to fail, in milliseconds. */
  readonly ms: number;
}

/** A manager with the hooks of a config file in it. */
export interface StartedManager {
  readonly manager: HookManager;
  /** The hooks in calling order. */
  readonly started: readonly StartedHook[];
}

interface Loaded {
  readonly name: string;
  readonly priority: number;
  readonly port: HookPort;
  readonly observe: readonly string[];
  readonly required: boolean;
  readonly startedAtMs: number;
}

/**
 * Builds the manager of a config, starts its hooks and waits until each is up or has failed once. A hook that does not
 * come up is no error: it is tried again, and until then its calls are no-verdicts.
 * @throws {ConfigError} when a built-in hook refuses its config; no process has been started then
 */
export async function createManagerFromConfig(
  config: ConfigFile & Partial<Pick<Config, "fromEnvironment">>,
  options: ManagerFromConfigOptions,
): Promise<StartedManager> {
  const { hooks } = config;
  const { log, now } = options;
  const timeouts = {
    observerMs: hooks.defaults.observer_timeout_ms ?? 0,
    interceptorMs: hooks.defaults.interceptor_timeout_ms ?? 0,
    approvalMs: hooks.defaults.approval_timeout_ms ?? 0,
  };
  const manager = new HookManager({ timeouts, log, now });
  const builtins = await loadBuiltins(loadable(hooks, hooks.builtins), options);
  const started = await Promise.all(builtins.map((hook) => mount(hook, manager, now)));
  const hasSecretName = (name: string): boolean =>
    [["command", 0], ["dir"]].some(
      (at) => config.fromEnvironment?.has(formatPath(["hooks", "processes", name, ...at])) === true,
    );
  const processes = loadable(hooks, hooks.processes).map(([name, entry]) =>
    loadProcess(name, entry, { ...options, hasSecretName: hasSecretName(name) }),
  );
  started.push(...(await Promise.all(processes.map((hook) => mount(hook, manager, now)))));
  const order = manager.hooks().map(({ name }) => name);
  return { manager, started: started.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) };
}

async function mount(hook: Loaded, manager: HookManager, now: () => number): Promise<StartedHook> {
  const { name, priority, port, observe, required, startedAtMs } = hook;
  await manager.mount(port, { name, priority });
  await port.ready();
  const { state, lastError } = port.status();
  const reason = state === "ready" || lastError === undefined ? {} : { reason: lastError };
  const { source: transport, points } = port;
  return { name, transport, points: [...points], observe, required, state, ...reason, ms: now() - startedAtMs };
}

function loadable<E extends { readonly enabled: boolean }>(
  { enabled }: { readonly enabled: boolean },
  entries: Readonly<Record<string, E>>,
): readonly (readonly [string, E])[] {
  return enabled ? Object.entries(entries).filter(([, entry]) => entry.enabled) : [];
}

async function loadBuiltins(
  entries: readonly (readonly [string, BuiltinConfig])[],
  { builtins, log, now }: ManagerFromConfigOptions,
): Promise<readonly Loaded[]> {
  const loaded: Loaded[] = [];
  try {
    for (const [name, { config, priority }] of entries) {
      const startedAtMs = now();
      const port = createLocalPort(createBuiltin(name, config, { builtins, log }), { log });
      const observe = port.observes === undefined ? [] : ["*"];
      loaded.push({ name, priority, port, observe, required: false, startedAtMs });
    }
  } catch (error) {
    await Promise.allSettled(loaded.map(({ port }) => port.close()));
    throw error;
  }
  return loaded;
}

function createBuiltin(
  name: string,
  config: unknown,
  { builtins, log }: Pick<ManagerFromConfigOptions, "builtins" | "log">,
): ReturnType<BuiltinRegistry["create"]> {
  try {
    return builtins.create(name, config, { log });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ConfigError([{ path: formatPath(["hooks", "builtins", name, "config"]), message }]);
  }
}

function loadProcess(
  name: string,
  config: ProcessConfig,
  { spawn, log, now, baseDir, hasSecretName }: ManagerFromConfigOptions & Pick<HookCommand, "hasSecretName">,
): Loaded {
  const { command, dir, env, priority, observe, events, required, max_message_bytes: maxMessageBytes } = config;
  const points = new Set(config.intercept);
  const observes = observe.length > 0;
  const startedAtMs = now();
  const transport = createStdioTransport({
    name,
    spawn: spawn({ command, env, hasSecretName, ...(dir === "" ? {} : { cwd: resolveDir(baseDir, dir) }) }),
    greeting: { method: HELLO_METHOD, params: encodeHello(name, toModes(points, observes)), accept: acceptHello },
    log,
    now,
    maxMessageBytes,
  });
  const filter = observes ? { observes: createEventFilter(observe) } : {};
  return {
    name,
    priority,
    observe,
    required,
    startedAtMs,
    port: createRemotePort(transport, { source: "stdio", points, events, ...filter }),
  };
}

const ABSOLUTE = /^(?:[/\\]|[A-Za-z]:[/\\])/;

function resolveDir(baseDir: string, dir: string): string {
  return ABSOLUTE.test(dir) ? dir : `${baseDir}/${dir}`;
}
