import {
  type Config,
  ConfigError,
  type ConfigProblem,
  createBuiltins,
  type GatewayConfig,
  parseConfig,
  type YamlPorts,
} from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import { HUMAN_APPROVAL } from "../approvals/index.ts";
import type { EdgeGatewayOptions } from "./edge.ts";
import { EDGE_RECORD_PLACES } from "./edge-records.ts";

/** Anyone can reach a gateway on the edge, and could answer for its hooks and read what agents say. */
const UNGUARDED =
  'refusing to serve without authentication: configure gateway.auth, or set HOOKGATE_DEV to "1" to serve this machine only';

/**
 * Reads a config that may be served.
 * @throws {HookgateError} `ERR_CONFIG` when it may not
 */
export function readConfig(options: EdgeGatewayOptions, env: YamlPorts["env"]): Config {
  const config = parse(options, env);
  const { auth } = config.gateway;
  if (Object.values(auth).every(({ length }) => length === 0) && options.isLocal !== true) {
    throw new HookgateError("ERR_CONFIG", UNGUARDED);
  }
  return config;
}

function parse(options: EdgeGatewayOptions, env: YamlPorts["env"]): Config {
  const { config: given, configName: file } = options;
  const text = toText(options);
  try {
    return parseConfig(text, {
      env,
      builtins: createBuiltins({ registry: options.builtins }),
      file,
      recordPlaces: options.records === undefined ? [] : EDGE_RECORD_PLACES,
      approvalStores: options.approvals?.stores ?? [],
    });
  } catch (error) {
    if (typeof given === "string" || !(error instanceof ConfigError)) throw error;
    // Of a table nobody has seen the text.
    throw new ConfigError(
      error.problems.map(({ line: _line, column: _column, ...problem }) => problem),
      file,
    );
  }
}

function toText({ config, configName }: EdgeGatewayOptions): string {
  if (typeof config === "string") return config;
  if (typeof config === "object" && config !== null) return JSON.stringify(config);
  throw new ConfigError([{ path: "$", message: "missing: the config, as a table or as JSON text" }], configName);
}

/** The hook files that a config names: a guard in one of them would not be there, and nobody would know. */
export function findHookFiles({ yaml }: Config): readonly ConfigProblem[] {
  const message =
    "this runtime reads no files: leave it out, and bundle the file's text with the program, as hooksYaml";
  return (["user", "project"] as const)
    .filter((key) => yaml?.[key] !== undefined)
    .map((key) => ({ path: `yaml.${key}`, message }));
}

/** A config without the hook that asks people: where they cannot be asked, what else is wrong can still be said. */
export function withoutHumanApproval({ hooks, ...config }: Config): Config {
  const { [HUMAN_APPROVAL]: _asking, ...builtins } = hooks.builtins;
  return { ...config, hooks: { ...hooks, builtins } };
}

/** A hook file that is part of the program is loaded whether or not the config has `yaml`. */
export function withBundled(config: Config, { hooksYaml }: EdgeGatewayOptions): Config {
  return hooksYaml === undefined ? config : { ...config, yaml: config.yaml ?? { allow_session_bash: false } };
}

/** The platform bounds how many calls are under way; one that is torn down without notice would be counted for ever. */
export function withoutConcurrency(config: GatewayConfig): GatewayConfig {
  return { ...config, limits: { ...config.limits, max_concurrency: Number.MAX_SAFE_INTEGER } };
}
