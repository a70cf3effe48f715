import { createManagerFromConfig, type ManagerFromConfigOptions, type StartedManager } from "../config/index.ts";
import type { Log } from "../log.ts";
import type { CliHost } from "./host.ts";
import type { LoadedConfig } from "./load.ts";

/** Options of {@link startHooks}. */
export interface StartHooksOptions extends Pick<ManagerFromConfigOptions, "pool" | "previous" | "generation"> {
  readonly host: CliHost;
  readonly log: Log;
  /** Whether an endpoint that has the secret may have any name. @default false */
  readonly takesAnyName?: boolean;
}

/**
 * Starts the hooks of a config.
 * @throws {ConfigError} as `createManagerFromConfig` does
 */
export function startHooks(
  { config, builtins, baseDir }: Pick<LoadedConfig, "config" | "builtins" | "baseDir">,
  { host, takesAnyName = false, ...options }: StartHooksOptions,
): Promise<StartedManager> {
  const now = (): number => host.now();
  return createManagerFromConfig(config, { ...host.ports, ...options, builtins, baseDir, now, takesAnyName });
}
