import { createHostFromConfig, type HostFromConfigOptions, type StartedHost } from "../config/index.ts";
import type { Log } from "../log.ts";
import type { CliHost } from "./host.ts";
import type { LoadedConfig } from "./load.ts";

/** Options of {@link startHooks}. */
export interface StartHooksOptions extends Pick<
  HostFromConfigOptions,
  "pool" | "previous" | "previousHost" | "generation" | "onDecision"
> {
  readonly host: CliHost;
  readonly log: Log;
  /** Whether an endpoint that has the secret may have any name. @default false */
  readonly takesAnyName?: boolean;
}

/**
 * Starts the hooks of a config, of both systems.
 * @throws {ConfigError} as `createHostFromConfig` does
 */
export function startHooks(
  { config, builtins, baseDir }: Pick<LoadedConfig, "config" | "builtins" | "baseDir">,
  { host, takesAnyName = false, ...options }: StartHooksOptions,
): Promise<StartedHost> {
  const now = (): number => host.now();
  const { ports, tracer } = host;
  const yaml = { ...host.yaml, env: host.env };
  const reach = { ...ports, ...options, builtins, baseDir, now, takesAnyName, tracer };
  return createHostFromConfig(config, { ...reach, yaml });
}
