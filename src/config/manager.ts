import type { Log } from "../log.ts";
import {
  assertOperable,
  type BuiltinRegistry,
  createEventFilter,
  createGreeting,
  createLocalPort,
  createRemotePort,
  type HookGrant,
  HookManager,
  type HookManagerOptions,
  type HookPoint,
  type HookPort,
  type OperationOptions,
  type PortStatus,
} from "../picoclaw/index.ts";
import type { JwksFetch } from "../signing/jwks-fetch.ts";
import type { ReplayStore } from "../signing/replay.ts";
import type { Transport } from "../transport/contract.ts";
import { createStdioTransport } from "../transport/stdio.ts";
import { withApprovalToken } from "./approval-token.ts";
import { openRemote } from "./open-remote.ts";
import { toOperation, toPolicies } from "./operation.ts";
import type { Config } from "./parse.ts";
import { formatPath } from "./path.ts";
import { type PortLease, PortPool } from "./port-pool.ts";
import type { CreateSpawn, HookPorts } from "./ports.ts";
import { collectProblems, ConfigError, type ConfigProblem } from "./problem.ts";
import type { ProcessConfig, StdioConfig } from "./process-schema.ts";
import type { BuiltinConfig, ConfigFile } from "./schema.ts";
import { findUnreachable, loadable } from "./unreachable.ts";

/** A config, and where it is known which of its strings hold a value of the environment. */
type LoadedConfig = ConfigFile & Partial<Pick<Config, "fromEnvironment">>;

/** Options of {@link createManagerFromConfig}. */
export interface ManagerFromConfigOptions extends HookPorts {
  readonly builtins: BuiltinRegistry;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** The directory that a hook's relative `dir` is relative to: the config file's. @default the current one */
  readonly baseDir?: string | undefined;
  /**
   * Whether to wait until each hook is up or has failed once. Without it hooks over HTTP are greeted with their first
   * call, as a runtime needs where nothing may be sent outside of a request. @default true
   */
  readonly waitForHooks?: boolean | undefined;
  /** Where hooks are kept that run already and are configured the same. @default every hook is started */
  readonly pool?: PortPool | undefined;
  /** The manager that is about to be replaced; its hooks are in `pool`. @default none */
  readonly previous?: HookManager | undefined;
  /** Which configuration of the host this is, counted from 1. @default 1 */
  readonly generation?: number | undefined;
  /** Told of each decision. @default nobody */
  readonly onDecision?: HookManagerOptions["onDecision"];
  /** Traces hook points and calls. @default nobody */
  readonly tracer?: HookManagerOptions["tracer"];
  /** Whether an endpoint that has the secret may have any name. @default false */
  readonly takesAnyName?: boolean | undefined;
  /** Remembers which signed approvals were used. @default in memory, so that a restart forgets them */
  readonly replay?: ReplayStore | undefined;
  /** Fetches the keys that approval services publish. @default the platform's fetch */
  readonly fetchKeys?: JwksFetch | undefined;
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
  /** Whether it ran already, before the config was read again. */
  readonly kept?: boolean;
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
  readonly lease: PortLease;
  readonly observe: readonly string[];
  readonly required: boolean;
  readonly startedAtMs: number;
  readonly grants?: readonly HookGrant[] | undefined;
  readonly respondRequiresApproval: boolean;
  readonly operation: OperationOptions;
}

/**
 * Builds the manager of a config, starts its hooks and waits until each is up or has failed once. A hook that does not
 * come up is no error: it is tried again, and until then its calls are no-verdicts.
 * @throws {ConfigError} when a hook needs what this runtime does not have, a key is not valid, or a built-in hook
 *   refuses its config; no process has been started then
 */
export async function createManagerFromConfig(
  config: LoadedConfig,
  options: ManagerFromConfigOptions,
): Promise<StartedManager> {
  const { defaults } = config.hooks;
  const { log, now, platform } = options;
  const budgets = {
    interceptorMs: defaults.interceptor_budget_ms ?? 0,
    approvalMs: defaults.approval_budget_ms ?? 0,
  };
  const timeouts = {
    observerMs: defaults.observer_timeout_ms ?? 0,
    interceptorMs: defaults.interceptor_timeout_ms ?? 0,
    approvalMs: defaults.approval_timeout_ms ?? 0,
  };
  const loaded = await loadHooks(config, options);
  const manager = new HookManager({
    timeouts,
    budgets,
    policies: toPolicies(defaults),
    log,
    now,
    currentRequest: platform?.currentRequest,
    waitUntil: platform?.waitUntil,
    generation: options.generation,
    onDecision: options.onDecision,
    tracer: options.tracer,
  });
  // In-process hooks are up at once, so nobody waits for them.
  const started = await Promise.all(loaded.map((hook) => mount(hook, manager, options)));
  const order = manager.hooks().map(({ name }) => name);
  return { manager, started: started.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) };
}

async function mount(
  hook: Loaded,
  manager: HookManager,
  { now, waitForHooks = true, previous }: ManagerFromConfigOptions,
): Promise<StartedHook> {
  const { name, priority, lease, observe, required, startedAtMs, grants, respondRequiresApproval } = hook;
  const { port, isKept } = lease;
  const keptFrom = isKept ? previous : undefined;
  await manager.mount(port, { ...hook.operation, name, priority, grants, respondRequiresApproval, keptFrom });
  if (waitForHooks) await port.ready();
  const { state, lastError } = port.status();
  const reason = state === "ready" || lastError === undefined ? {} : { reason: lastError };
  const { source: transport, points } = port;
  return {
    name,
    transport,
    points: [...points],
    observe,
    required,
    state,
    ...reason,
    ms: now() - startedAtMs,
    ...(isKept && { kept: true }),
  };
}

/**
 * Makes the port of every hook, those that start processes last: a config that is refused has started none, and is refused
 * with everything that is wrong.
 */
async function loadHooks(config: LoadedConfig, options: ManagerFromConfigOptions): Promise<readonly Loaded[]> {
  const { hooks } = config;
  const unreachable = findUnreachable(config, options);
  const lost = new Set(unreachable.map(({ name }) => name));
  const processes = loadable(hooks, hooks.processes).filter(([name]) => !lost.has(name));
  const loaded: Loaded[] = [];
  const loading = { ...options, config, pool: options.pool ?? new PortPool() };
  const problems: ConfigProblem[] = [...unreachable];
  const load = async (make: () => Promise<Loaded>): Promise<void> => {
    const hook = await collectProblems(problems, make);
    if (hook !== undefined) loaded.push(hook);
  };
  try {
    for (const [name, entry] of loadable(hooks, hooks.builtins)) {
      await load(() => loadBuiltin(name, entry, loading));
    }
    for (const isStdio of [false, true]) {
      if (isStdio && problems.length > 0) throw new ConfigError(problems);
      for (const [name, entry] of processes.filter(([, { transport }]) => (transport === "stdio") === isStdio)) {
        await load(() => loadProcess(name, entry, loading));
      }
    }
    if (problems.length > 0) throw new ConfigError(problems);
  } catch (error) {
    await Promise.allSettled(loaded.map(({ lease }) => lease.port.close()));
    throw error;
  }
  return loaded;
}

interface LoadOptions extends ManagerFromConfigOptions {
  readonly config: LoadedConfig;
  readonly pool: PortPool;
}

async function loadBuiltin(name: string, entry: BuiltinConfig, options: LoadOptions): Promise<Loaded> {
  const { config: own, priority, max_concurrency: maxConcurrency } = entry;
  const operation = { ...toOperation(entry), maxConcurrency };
  const { builtins, log, now, config, pool } = options;
  const startedAtMs = now();
  const path = formatPath(["hooks", "builtins", name, "config"]);
  const lease = await pool.lease(["builtin", name, own, config.gateway.id, config.gateway.signing_key], () =>
    orProblem(path, () => createLocalPort(builtins.create(name, own, { log }), { log })),
  );
  try {
    // What points a built-in hook has is known only now.
    orProblem(formatPath(["hooks", "builtins", name]), () => assertOperable(lease.port.points, operation));
  } catch (error) {
    await lease.port.close();
    throw error;
  }
  return {
    name,
    priority,
    lease,
    operation,
    startedAtMs,
    observe: lease.port.observes === undefined ? [] : ["*"],
    required: false,
    respondRequiresApproval: config.hooks.defaults.respond_requires_approval ?? false,
  };
}

async function loadProcess(name: string, entry: ProcessConfig, options: LoadOptions): Promise<Loaded> {
  const { config, now, pool } = options;
  const { priority, observe, required, grants } = entry;
  const startedAtMs = now();
  return {
    name,
    priority,
    observe,
    required,
    startedAtMs,
    grants,
    // Transports over HTTP bound their calls themselves.
    operation: {
      ...toOperation(entry),
      ...(entry.transport === "stdio" && { maxConcurrency: entry.max_concurrency ?? 64 }),
    },
    respondRequiresApproval:
      entry.respond_requires_approval ?? config.hooks.defaults.respond_requires_approval ?? false,
    lease: await pool.lease(partsOf(name, entry, options), () => openPort(name, entry, options)),
  };
}

/** Keys that say how a hook is asked and not what it is made of: they change without a new process. */
const PLACE_KEYS: ReadonlySet<string> = new Set<keyof ProcessConfig>([
  "enabled",
  "priority",
  "required",
  "grants",
  "respond_requires_approval",
  "timeout_ms",
  "on_error",
  "on_timeout",
  "on_invalid",
  "on_unreachable",
  "match",
  "parallel",
  "read_only",
  "mode",
  "detached",
  "cache",
]);

/** The same for hooks that are processes: over HTTP it is the transport that bounds the calls. */
const STDIO_PLACE_KEYS: ReadonlySet<string> = new Set([...PLACE_KEYS, "max_concurrency"]);

function partsOf(name: string, entry: ProcessConfig, { config: { gateway }, replay }: LoadOptions): unknown {
  const isStdio = entry.transport === "stdio";
  const placeKeys = isStdio ? STDIO_PLACE_KEYS : PLACE_KEYS;
  const parts = Object.fromEntries(Object.entries(entry).filter(([key]) => !placeKeys.has(key)));
  const signer = isStdio ? [] : [gateway.id, gateway.signing_key, replay !== undefined];
  return [name, parts, ...signer];
}

async function openPort(name: string, entry: ProcessConfig, options: LoadOptions): Promise<HookPort> {
  const { observe, transport: source, intercept, events, dialect } = entry;
  const path = formatPath(["hooks", "processes", name]);
  const transport = await openTransport(name, entry, options).catch((error: unknown) =>
    orProblem(path, () => {
      throw error;
    }),
  );
  const filter = observe.length > 0 ? { observes: createEventFilter(observe) } : {};
  const port = createRemotePort(transport, { source, points: new Set(intercept), events, dialect, ...filter });
  return withApprovalToken(port, entry, { ...options, gateway: options.config.gateway });
}

async function openTransport(name: string, entry: ProcessConfig, options: LoadOptions): Promise<Transport> {
  if (entry.transport !== "stdio") return openRemote(entry, { ...options, name, gateway: options.config.gateway });
  const { spawn } = options;
  if (spawn === undefined) throw new TypeError("spawn must be given");
  return openStdio(name, entry, { ...options, spawn });
}

function openStdio(
  name: string,
  { command, dir, env, intercept, observe, dialect, max_message_bytes: maxMessageBytes }: StdioConfig,
  { spawn, log, now, baseDir = ".", config }: LoadOptions & { readonly spawn: CreateSpawn },
): Transport {
  const hasSecretName = [["command", 0], ["dir"]].some(
    (at) => config.fromEnvironment?.has(formatPath(["hooks", "processes", name, ...at])) === true,
  );
  return createStdioTransport({
    name,
    spawn: spawn({ command, env, hasSecretName, ...(dir === "" ? {} : { cwd: resolveDir(baseDir, dir) }) }),
    greeting: createGreeting({ name, points: new Set(intercept), observes: observe.length > 0, dialect }),
    log,
    now,
    maxMessageBytes,
  });
}

/** What cannot be made of a config is a problem of the config, at its place. */
function orProblem<T>(path: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new ConfigError([{ path, message: error instanceof Error ? error.message : String(error) }]);
  }
}

const ABSOLUTE = /^(?:[/\\]|[A-Za-z]:[/\\])/;

function resolveDir(baseDir: string, dir: string): string {
  return ABSOLUTE.test(dir) ? dir : `${baseDir}/${dir}`;
}
