import { formatHookProblem } from "../jcli/index.ts";
import type { Log } from "../log.ts";
import { createCompositeHost, type HookHost, type RetirableHost } from "../picoclaw/index.ts";
import {
  createLifecycleFromConfig,
  type LifecycleFromConfigOptions,
  type StartedLifecycle,
  type YamlPorts,
} from "./lifecycle.ts";
import { createManagerFromConfig, type ManagerFromConfigOptions, type StartedManager } from "./manager.ts";
import { ConfigError } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

/** Options of {@link createHostFromConfig}. */
export interface HostFromConfigOptions
  extends ManagerFromConfigOptions, Pick<LifecycleFromConfigOptions, "sessionStore"> {
  /** What the runtime has for the hooks of `hooks.yaml`; a config that has `yaml` needs it. */
  readonly yaml?: YamlPorts | undefined;
  /** The host that is about to be replaced; it is not closed. @default none */
  readonly previousHost?: HookHost | undefined;
}

/** A host with the hooks of a config, of both systems. */
export interface StartedHost extends StartedManager {
  /** Asks the hooks of both; closing it closes both. */
  readonly host: RetirableHost;
  /** Absent when the config has no `yaml`. */
  readonly yaml?: StartedLifecycle;
}

/**
 * Builds the host of a config: its hooks, and those of `hooks.yaml` where it has `yaml`. What is wrong in a hook file is
 * logged when no host is replaced: the entry is left out, the others are loaded.
 * @throws {ConfigError} when a hook needs what this runtime does not have, a key is not valid, or a built-in hook refuses
 *   its config; no process has been started then
 */
export async function createHostFromConfig(config: ConfigFile, options: HostFromConfigOptions): Promise<StartedHost> {
  const { yaml: own, ...rest } = config;
  if (own === undefined) {
    const started = await createManagerFromConfig(config, options);
    return { ...started, host: started.manager };
  }
  const { yaml: runtime, log } = options;
  if (runtime === undefined) throw new ConfigError([{ path: "yaml", message: "this runtime has no hook files" }]);
  const yaml = await createLifecycleFromConfig({ ...rest, yaml: own }, { ...options, yaml: runtime });
  if (options.previousHost === undefined) report(yaml, log);
  const started = await createManagerFromConfig(config, options).catch(async (error: unknown) => {
    await yaml.lifecycle.close();
    throw error;
  });
  const { manager: hooks } = started;
  const { previousHost: previous, onDecision } = options;
  return {
    ...started,
    host: createCompositeHost({ hooks, lifecycle: yaml.lifecycle, onDecision, previous, now: options.now }),
    yaml,
  };
}

function report({ files }: StartedLifecycle, log: Log): void {
  for (const { path, problems } of files) {
    for (const problem of problems) log.warn(formatHookProblem(problem, path));
  }
}
