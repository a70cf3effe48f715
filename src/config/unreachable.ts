import { formatPath } from "./path.ts";
import type { HookPorts } from "./ports.ts";
import type { ConfigProblem } from "./problem.ts";
import type { ProcessConfig } from "./process-schema.ts";
import type { ConfigFile } from "./schema.ts";

const UNREACHABLE: Readonly<Record<ProcessConfig["transport"], string>> = {
  stdio:
    "this runtime cannot start processes: run a gateway with this hook on Node, and reach it here as a hook with " +
    '"transport": "http"',
  http: "this runtime cannot connect to URLs",
  service: 'only a gateway on Cloudflare Workers has service bindings: use "transport": "http" and the endpoint\'s URL',
};

/** A hook that this runtime cannot reach would give no verdict for ever: better no gateway than one without its hooks. */
export function findUnreachable({ hooks }: ConfigFile, { spawn, connect, bind }: HookPorts): readonly Unreachable[] {
  const ports = { stdio: spawn, http: connect, service: bind };
  return loadable(hooks, hooks.processes).flatMap(([name, { transport }]): readonly Unreachable[] => {
    if (ports[transport] !== undefined) return [];
    const path = formatPath(["hooks", "processes", name, "transport"]);
    return [{ name, path, message: UNREACHABLE[transport] }];
  });
}

/** A hook that cannot be reached, and why. */
export interface Unreachable extends ConfigProblem {
  /** The hook's. */
  readonly name: string;
}

/** The entries that a config has loaded, with their names. */
export function loadable<E extends { readonly enabled: boolean }>(
  { enabled }: { readonly enabled: boolean },
  entries: Readonly<Record<string, E>>,
): readonly (readonly [string, E])[] {
  return enabled ? Object.entries(entries).filter(([, entry]) => entry.enabled) : [];
}
