import { type GatewayConfig, PortPool, type StartedHook, type StartedHost } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import {
  createGatewayFromConfig,
  createMemoryReplayStore,
  createReloadableGateway,
  createReloader,
  type Gateway,
  type GatewayLifecycle,
  type ReloadableGateway,
  type ReloadChange,
  type ReloadPort,
  type RetirableGateway,
} from "../gateway/index.ts";
import { formatHookProblem } from "../jcli/index.ts";
import type { Log } from "../log.ts";
import { ReloadableHost, type RetirableHost } from "../picoclaw/index.ts";
import type { CliHost } from "./host.ts";
import { loadConfig, type LoadedConfig, readFile } from "./load.ts";
import { startHooks } from "./start-hooks.ts";

/** Where a gateway listens by the command line; what it leaves out the config says. */
export interface ServingAddress {
  readonly hostname?: string | undefined;
  readonly port?: number | undefined;
}

/** Options of {@link openServing}. */
export interface OpenServingOptions {
  readonly host: CliHost;
  readonly log: Log;
  readonly address: ServingAddress;
}

/** A gateway with the hooks of a config file, which can be read again while it serves. */
export interface Serving extends ReloadPort {
  readonly gateway: Gateway;
  readonly hooks: ReloadableHost<RetirableHost>;
  /** The hooks as they came up at first. */
  readonly made: StartedHost;
  readonly hostname: string;
  readonly port: number;
  /** Reads the config again unless the file holds what was read last, good or not. */
  reloadChanged(): Promise<void>;
}

/**
 * Starts the hooks of a config and builds its gateway; nothing listens yet.
 * @throws {HookgateError} `ERR_CONFIG` when a required hook did not come up, the config needs what this runtime does not
 *   have, or it may not be served on its address
 */
export async function openServing(loaded: LoadedConfig, options: OpenServingOptions): Promise<Serving> {
  const { host, log, address } = options;
  const pool = new PortPool();
  const first = await startHooks(loaded, { host, log, pool });
  const hooks = new ReloadableHost(first.host);
  try {
    const { config } = loaded;
    const hostname = address.hostname ?? config.gateway.host;
    const generations = new Generations({ ...options, loaded, pool, hooks, hostname, first });
    const gateway = await generations.open();
    return {
      ...generations.reloader,
      gateway,
      hooks,
      made: first,
      hostname,
      port: address.port ?? config.gateway.port,
      reloadChanged: () => generations.reloadChanged(),
    };
  } catch (error) {
    await hooks.close();
    throw error;
  }
}

interface GenerationsOptions extends OpenServingOptions {
  readonly loaded: LoadedConfig;
  readonly pool: PortPool;
  readonly hooks: ReloadableHost<RetirableHost>;
  readonly hostname: string;
  readonly first: StartedHost;
}

/** The configurations of a serving gateway, one after the other. */
class Generations {
  readonly reloader: ReloadPort;
  readonly #options: GenerationsOptions;
  /** One for all: a signed request that was seen before a reload was seen. */
  readonly #replay = createMemoryReplayStore();
  #gateway: ReloadableGateway | undefined;
  #made: StartedHost;
  #lastText: string | undefined;

  constructor(options: GenerationsOptions) {
    this.#options = options;
    this.#made = options.first;
    this.#lastText = options.loaded.text;
    this.reloader = createReloader({ apply: (generation) => this.#apply(generation), log: options.log });
  }

  async open(): Promise<Gateway> {
    this.#gateway = createReloadableGateway(await this.#build(this.#made, this.#options.loaded.config.gateway));
    return this.#gateway;
  }

  async reloadChanged(): Promise<void> {
    const { host, loaded } = this.#options;
    const text = await readFile(loaded.file, host).catch(() => undefined);
    // A file that is gone for a moment is being replaced.
    if (text !== undefined && text !== this.#lastText) await this.reloader.reload();
  }

  async #apply(generation: number): Promise<ReloadChange> {
    const { host, log, loaded, pool, hooks } = this.#options;
    this.#lastText = await readFile(loaded.file, host);
    const next = await loadConfig(loaded.file, host);
    this.#assertSameAddress(next.config.gateway);
    const before = this.#made;
    const previous = { previous: before.manager, previousHost: before.host };
    const made = await startHooks(next, { host, log, pool, ...previous, generation });
    try {
      const gateway = await this.#build(made, next.config.gateway);
      const change = toChange(before, made);
      // From here to the end nothing waits: a call meets the old configuration or the new one.
      const lost = adoptSessions(before, made);
      this.#gateway?.swap(gateway);
      const retired = hooks.swap(made.host);
      void retired.then(() => log.info("the hooks of before are ended", { generation: generation - 1 }));
      this.#made = made;
      return { ...change, warnings: [...change.warnings, ...lost] };
    } catch (error) {
      await made.host.close();
      throw error;
    }
  }

  async #build({ manager, started, yaml }: StartedHost, config: GatewayConfig): Promise<RetirableGateway> {
    const { host, log, hooks, hostname } = this.#options;
    assertRequired(started);
    const required = new Set(started.filter((hook) => hook.required).map(({ name }) => name));
    const gateway = await createGatewayFromConfig(config, {
      host: hooks,
      lifecycle: yaml && this.#toLifecycle(yaml.lifecycle),
      hooks: () => manager.hooks().map((hook) => ({ ...hook, required: required.has(hook.name) })),
      reload: this.reloader,
      replay: this.#replay,
      fetch: host.fetchKeys,
      crypto: host.ports.crypto,
      digest: host.digest,
      log,
      now: () => host.now(),
    });
    gateway.assertBindable(hostname);
    return gateway;
  }

  /** What the answers of a gateway show and change is current, also where the request began before a reload. */
  #toLifecycle(own: GatewayLifecycle): GatewayLifecycle {
    const current = (): GatewayLifecycle => this.#made.yaml?.lifecycle ?? own;
    return {
      hooks: (session) => current().hooks(session),
      get sessions() {
        return current().sessions;
      },
    };
  }

  #assertSameAddress({ host, port }: GatewayConfig): void {
    const { address, loaded } = this.#options;
    const first = loaded.config.gateway;
    const lines: string[] = [];
    if (address.hostname === undefined && host !== first.host) {
      lines.push(`gateway.host: another address needs a restart; the gateway listens on "${first.host}"`);
    }
    if (address.port === undefined && port !== first.port) {
      lines.push(`gateway.port: another port needs a restart; the config it was started with says ${first.port}`);
    }
    if (lines.length > 0) throw new HookgateError("ERR_CONFIG", lines.join("\n"));
  }
}

/** A required hook that ran before and is down now would be down under the old configuration too. */
function assertRequired(started: readonly StartedHook[]): void {
  const missing = started.filter(({ required, state, kept }) => required && kept !== true && state !== "ready");
  if (missing.length === 0) return;
  const lines = missing.map(
    ({ name, reason = "it is not up" }) => `required hook "${name}" did not come up: ${reason}`,
  );
  throw new HookgateError("ERR_CONFIG", lines.join("\n"));
}

function toChange({ started: before }: StartedHost, { started: now, yaml }: StartedHost): ReloadChange {
  const kept = now.filter((hook) => hook.kept === true).map(({ name }) => name);
  const files = yaml?.files ?? [];
  return {
    kept,
    started: now.filter((hook) => hook.kept !== true).map(({ name }) => name),
    ended: before.map(({ name }) => name).filter((name) => !kept.includes(name)),
    warnings: [
      ...now.filter(({ state }) => state !== "ready").map(toWarning),
      ...files.flatMap(({ path, problems }) => problems.map((problem) => formatHookProblem(problem, path))),
    ],
  };
}

function toWarning({ name, state, reason }: StartedHook): string {
  return `hook "${name}" is ${state}${reason === undefined ? "" : `: ${reason}`}`;
}

/** Lets sessions keep the hooks they registered; what is lost is said. */
function adoptSessions({ yaml: before }: StartedHost, { yaml: now }: StartedHost): readonly string[] {
  if (before === undefined || now === undefined) return [];
  const lost = now.lifecycle.sessions.adopt(before.lifecycle.sessions);
  return lost.map((problem) => `a hook of a session is gone: ${problem}`);
}
