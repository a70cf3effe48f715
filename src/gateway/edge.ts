import {
  collectProblems,
  type Config,
  ConfigError,
  type ConfigProblem,
  createBuiltins,
  createHostFromConfig,
  type HookPorts,
  type StartedHost,
  type YamlPorts,
} from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import type { OutboxNotifier } from "../approvals/index.ts";
import type { BuiltinRegistry, HookHost } from "../picoclaw/index.ts";
import type { IsolateRecorder } from "../records/index.ts";
import { answerRefusal } from "./answer.ts";
import { type EdgeApprovalPorts, type EdgeApprovals, openEdgeApprovals } from "./edge-approvals.ts";
import { findHookFiles, readConfig, withBundled, withoutConcurrency, withoutHumanApproval } from "./edge-config.ts";
import { type EdgeRecordPorts, explainAbsent, openEdgeRecording } from "./edge-records.ts";
import { type CreateGatewayAuthOptions, createGatewayFromConfig } from "./from-config.ts";
import type { Gateway } from "./gateway.ts";
import type { PeerInfo } from "./origin.ts";

/** Options of {@link createEdgeGateway}. */
export interface EdgeGatewayOptions {
  /** The config: an object, or JSON text. */
  readonly config: unknown;
  /** What the config is called in messages, such as the variable it is in. */
  readonly configName: string;
  /** What the runtime binds to the program: the texts among it are the variables that `${env:NAME}` may use. */
  readonly env: Readonly<Record<string, unknown>>;
  /**
   * Whether it runs on the developer's own machine. It may then serve without authentication, but only callers of that
   * machine, and its answers say what is wrong with the config. @default false
   */
  readonly isLocal?: boolean | undefined;
  /**
   * The in-process hooks the config may name; `human_approval` is among them unless it is one of these. @default
   * hookgate's own
   */
  readonly builtins?: BuiltinRegistry | undefined;
  /** The ways to hooks that the runtime has. */
  readonly ports: HookPorts;
  /** A `hooks.yaml` that is part of the program: its hooks of type llm and http run, and it may hold no others. */
  readonly hooksYaml?: string | undefined;
  /** Reaches models and collectors of records. @default no hook of type llm gives a verdict */
  readonly fetch?: YamlPorts["fetch"] | undefined;
  /** Remembers which signed requests of hosts were seen, for every isolate. @default a store in memory, for each alone */
  readonly replay?: CreateGatewayAuthOptions["replay"];
  /** What human approvals can be kept in. @default nothing: a config that asks people is refused */
  readonly approvals?: EdgeApprovalPorts | undefined;
  /** What records can go to. @default nothing: a config with records is refused */
  readonly records?: EdgeRecordPorts | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

/** A gateway as an edge runtime calls it. */
export interface EdgeGateway {
  /** Answers a request. It does not reject. */
  fetch(request: Request, info?: PeerInfo): Promise<Response>;
  /**
   * Takes what is to be told of approvals, and tells observers and people of it.
   * @throws {HookgateError} `ERR_CONFIG` when the config cannot be used, or asks nobody
   * @throws {Error} what taking it throws
   */
  tellApprovals(): Promise<void>;
}

/**
 * Makes a gateway for a runtime that can do nothing outside of a request: it is built with the first one. A config that
 * cannot be used is logged, and every request is answered with 500 then.
 */
export function createEdgeGateway(options: EdgeGatewayOptions): EdgeGateway {
  const { log = silentLog, isLocal = false } = options;
  // What was built, never the promise of it: no request may wait for another.
  let built: Built | HookgateError | undefined;
  const shared: Shared = {};
  async function open(): Promise<Built | HookgateError> {
    if (built !== undefined) return built;
    const made = await build(options, shared).catch((error: unknown) => toUnusable(error, log));
    return (built ??= made);
  }
  return {
    async fetch(request, info) {
      // No turn is lost once it is built.
      const opened = built ?? (await open());
      if (!(opened instanceof HookgateError)) return opened.gateway.fetch(request, info);
      const message = isLocal ? opened.message : "the gateway's config cannot be used; its log says why";
      return answerRefusal({ code: "ERR_CONFIG", message });
    },
    async tellApprovals() {
      const opened = await open();
      if (opened instanceof HookgateError) throw opened;
      if (opened.notifier === undefined) throw new HookgateError("ERR_CONFIG", "this gateway asks no people");
      await opened.notifier.deliver();
    },
  };
}

/** A gateway, and what tells people of its approvals. */
interface Built {
  readonly gateway: Gateway;
  readonly notifier: OutboxNotifier | undefined;
}

/** What the gateways of an isolate share where two requests have built one: records of an isolate are one chain. */
interface Shared {
  recorder?: IsolateRecorder | undefined;
}

async function build(options: EdgeGatewayOptions, shared: Shared): Promise<Built> {
  const { ports, log = silentLog } = options;
  const env = Object.fromEntries(Object.entries(options.env).filter(isText));
  const config = readConfig(options, env);
  const { recorder, people, started } = await buildParts(config, { options, env, shared });
  const { approvals, links, notifier } = people;
  const { host, manager, yaml } = started;
  assertRunnable(yaml);
  const gateway = await createGatewayFromConfig(withoutConcurrency(config.gateway), {
    ...ports.platform,
    recording: recorder,
    absent: explainAbsent(recorder),
    host,
    approvals,
    links,
    notifications: hasTargets(config) ? notifier && (() => notifier.status()) : undefined,
    lifecycle: yaml?.lifecycle,
    hooks: () => manager.hooks(),
    replay: options.replay ?? approvals?.store,
    log,
    now,
  });
  return { gateway, notifier };
}

interface Building {
  readonly options: EdgeGatewayOptions;
  readonly env: YamlPorts["env"];
  readonly shared: Shared;
}

/** What a gateway is made of. */
interface Parts {
  readonly recorder: IsolateRecorder | undefined;
  readonly people: EdgeApprovals;
  readonly started: StartedHost;
}

/**
 * Makes what a config asks for.
 * @throws {ConfigError} with everything at once that the runtime lacks for it
 */
async function buildParts(config: Config, { options, env, shared }: Building): Promise<Parts> {
  const { ports, configName, builtins: registry, log = silentLog } = options;
  const problems: ConfigProblem[] = [...findHookFiles(config)];
  const recorder = await collectProblems(problems, async () => (shared.recorder ??= openRecorder(config, options)));
  const asking: { host?: HookHost } = {};
  const people = await collectProblems(problems, () =>
    openEdgeApprovals(config, { ports: options.approvals, registry, host: () => asking.host, hooks: ports, log }),
  );
  const { approvals, builtins = createBuiltins({ registry }) } = people ?? {};
  const usable = people === undefined ? withoutHumanApproval(config) : config;
  const started = await collectProblems(problems, () =>
    createHostFromConfig(withBundled(usable, options), {
      ...ports,
      builtins,
      replay: approvals?.store,
      sessionStore: approvals?.store.sessionHooks,
      log,
      now,
      waitForHooks: false,
      yaml: toYamlPorts(options, env),
      onDecision: recorder?.onDecision,
    }),
  );
  if (people === undefined || started === undefined || problems.length > 0) throw new ConfigError(problems, configName);
  asking.host = started.host;
  return { recorder, people, started };
}

function hasTargets({ approvals }: Config): boolean {
  return (approvals?.notify ?? []).length > 0;
}

function openRecorder({ records }: Config, options: EdgeGatewayOptions): IsolateRecorder | undefined {
  const { records: ports, ports: hookPorts, env, fetch = refuse, log = silentLog } = options;
  const { currentRequest = nowhere, waitUntil = nowhere } = hookPorts.platform ?? {};
  return ports && openEdgeRecording(records, { ports, env, fetch, currentRequest, waitUntil, log });
}

const nowhere = (): undefined => undefined;

/** The paths of files mean nothing here: there are none but the one that is bundled. */
function toYamlPorts({ hooksYaml, fetch = refuse }: EdgeGatewayOptions, env: YamlPorts["env"]): YamlPorts {
  return {
    cwd: "/",
    env,
    fetch,
    bundled: hooksYaml === undefined ? undefined : { name: "hooks.yaml", text: hooksYaml },
  };
}

const refuse = (): Promise<never> => Promise.reject(new TypeError("this runtime cannot reach anything"));

/** What is left out of a file is a guard that is not there: a program that is deployed with it is better not deployed. */
function assertRunnable(yaml: StartedHost["yaml"]): void {
  const problems = (yaml?.files ?? []).flatMap((file) => file.problems).filter(({ severity }) => severity === "error");
  if (problems.length > 0) throw new ConfigError(problems, "hooks.yaml");
}

const now = (): number => performance.now();

function isText(entry: readonly [string, unknown]): entry is [string, string] {
  return typeof entry[1] === "string";
}

function toUnusable(error: unknown, log: Log): HookgateError {
  const message = error instanceof Error ? error.message : String(error);
  log.error("the gateway cannot be used", { error: message });
  return error instanceof HookgateError ? error : new HookgateError("ERR_CONFIG", message, { cause: error });
}
