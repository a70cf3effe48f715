import type { OnDecision } from "../chain/index.ts";
import { createHostFromConfig, type StartedHost } from "../config/index.ts";
import type { Log } from "../log.ts";
import type { CliHost } from "./host.ts";
import type { LoadedConfig } from "./load.ts";

/** Options of {@link startHooks}. */
export interface StartHooksOptions {
  readonly host: CliHost;
  readonly log: Log;
  /** Whether an endpoint that has the secret may have any name. @default false */
  readonly takesAnyName?: boolean;
  /** Told of each decision. @default nobody */
  readonly onDecision?: OnDecision | undefined;
}

/**
 * Starts the hooks of a config, of both systems.
 * @throws {ConfigError} as `createHostFromConfig` does
 */
export function startHooks(
  { config, builtins, baseDir }: Pick<LoadedConfig, "config" | "builtins" | "baseDir">,
  { host, log, takesAnyName = false, onDecision }: StartHooksOptions,
): Promise<StartedHost> {
  const now = (): number => host.now();
  const { ports, tracer } = host;
  const yaml = { ...host.yaml, env: host.env };
  const reach = { ...ports, builtins, log, baseDir, now, takesAnyName, onDecision, tracer };
  return createHostFromConfig(config, { ...reach, yaml });
}
