import { type GatewayConfig, PortPool, type StartedHook, type StartedManager } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import {
  createGatewayFromConfig,
  createMemoryReplayStore,
  createReloadableGateway,
  createReloader,
  type Gateway,
  type ReloadChange,
  type ReloadPort,
  type RetirableGateway,
} from "../gateway/index.ts";
import type { Log } from "../log.ts";
import { ReloadableHost } from "../picoclaw/index.ts";
import type { CliHost } from "./host.ts";
import { loadConfig, type LoadedConfig } from "./load.ts";
import { startHooks } from "./start-hooks.ts";

/** Where a gateway listens: what the command line says, or else the config. */
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
  readonly hooks: ReloadableHost;
  /** The hooks as they came up at first. */
  readonly started: readonly StartedHook[];
  readonly hostname: string;
  readonly port: number;
}

/**
 * Starts the hooks of a config and builds its gateway; nothing listens yet.
 * @throws {HookgateError} `ERR_CONFIG` when a required hook did not come up, the config needs what this runtime does not
 *   have, or it may not be served on its address
 */
export async function openServing(loaded: LoadedConfig, options: OpenServingOptions): Promise<Serving> {
  const { host, log, address } = options;
  const { host: hostname, port } = loaded.config.gateway;
  const bound = { hostname: address.hostname ?? hostname, port: address.port ?? port };
  const pool = new PortPool();
  const first = await startHooks(loaded, { host, log, pool });
  const hooks = new ReloadableHost(first.manager);
  try {
    const reloader = createReloader({ apply: (generation) => apply(generation), log });
    const builder = new GatewayBuilder({ host, log, hooks, reload: reloader, hostname: bound.hostname });
    let current = first;
    const gateway = createReloadableGateway(await builder.build(first, loaded.config.gateway));

    const apply = async (generation: number): Promise<ReloadChange> => {
      const next = await loadConfig(loaded.file, host);
      assertSameAddress(next.config.gateway, { bound: { hostname, port }, address });
      const made = await startHooks(next, { host, log, pool, previous: hooks.manager, generation });
      try {
        // A required hook that ran before and is down now is down under either configuration.
        const built = await builder.build(made, next.config.gateway);
        const change = toChange(current.started, made.started);
        // From here to the end nothing waits: a call meets the old configuration or the new one.
        gateway.swap(built);
        void hooks.swap(made.manager).then(() => log.info("the hooks of before are ended", { generation: generation - 1 }));
        current = made;
        return change;
      } catch (error) {
        await made.manager.close();
        throw error;
      }
    };
    return { gateway, hooks, started: first.started, ...bound, ...reloader };
  } catch (error) {
    await hooks.close();
    throw error;
  }
}

/** What is the same for the gateways of all generations. */
interface GatewayParts {
  readonly host: CliHost;
  readonly log: Log;
  readonly hooks: ReloadableHost;
  readonly reload: ReloadPort;
  readonly hostname: string;
}

class GatewayBuilder {
  readonly #parts: GatewayParts;
  /** One for all: a signed request that was seen before a reload was seen. */
  readonly #replay = createMemoryReplayStore();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /** @throws {HookgateError} `ERR_CONFIG` when a required hook is not up, or it may not be served on its address */
  async build({ manager, started }: StartedManager, config: GatewayConfig): Promise<RetirableGateway> {
    const { host, log, hooks, reload, hostname } = this.#parts;
    assertRequired(started);
    const required = new Set(started.filter((hook) => hook.required).map(({ name }) => name));
    const gateway = await createGatewayFromConfig(config, {
      host: hooks,
      hooks: () => manager.hooks().map((hook) => ({ ...hook, required: required.has(hook.name) })),
      reload,
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
}

function assertRequired(started: readonly StartedHook[]): void {
  const missing = started.filter(({ required, state, kept }) => required && kept !== true && state !== "ready");
  if (missing.length === 0) return;
  const lines = missing.map(
    ({ name, reason = "it is not up" }) => `required hook "${name}" did not come up: ${reason}`,
  );
  throw new HookgateError("ERR_CONFIG", lines.join("\n"));
}

interface Addresses {
  /** What the first config said. */
  readonly bound: Required<ServingAddress>;
  /** What the command line says, which counts more. */
  readonly address: ServingAddress;
}

function assertSameAddress({ host, port }: GatewayConfig, { bound, address }: Addresses): void {
  const lines: string[] = [];
  if (address.hostname === undefined && host !== bound.hostname) {
    lines.push(`gateway.host: another address needs a restart; the gateway listens on "${bound.hostname ?? ""}"`);
  }
  if (address.port === undefined && port !== bound.port) {
    lines.push(`gateway.port: another port needs a restart; the config it started with says ${bound.port}`);
  }
  if (lines.length > 0) throw new HookgateError("ERR_CONFIG", lines.join("\n"));
}

function toChange(before: readonly StartedHook[], now: readonly StartedHook[]): ReloadChange {
  const kept = now.filter((hook) => hook.kept === true).map(({ name }) => name);
  return {
    kept,
    started: now.filter((hook) => hook.kept !== true).map(({ name }) => name),
    ended: before.map(({ name }) => name).filter((name) => !kept.includes(name)),
    warnings: now
      .filter(({ state }) => state !== "ready")
      .map(({ name, state, reason }) => `hook "${name}" is ${state}${reason === undefined ? "" : `: ${reason}`}`),
  };
}
