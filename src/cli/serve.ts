import { type GatewayConfig, keepApprovalsMs, type StartedHook } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import { assertBindable, createGatewayFromConfig, type Gateway, hasAuth, type RecordPages } from "../gateway/index.ts";
import type { Log } from "../log.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { formatFiles, formatHooks } from "./hook-table.ts";
import type { CliHost, StopSignal } from "./host.ts";
import { disabledHooks, loadConfig, type LoadedConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { type StartedHooks, startHooks } from "./start-hooks.ts";
import { createPaint, toLine } from "./text.ts";
import { startWatching } from "./watching.ts";

const FLUSH_MS = 2000;
/** npm passes a Ctrl-C on that the terminal has sent already: what comes this soon is the same one. */
const ECHO_MS = 250;

/** `hookgate serve`: the gateway. */
export const serve: Command = {
  name: "serve",
  summary: "Starts the hooks of a config and answers agents over HTTP.",
  usage: "serve [--config FILE] [--host ADDRESS] [--port PORT]",
  details: [
    'Starts every enabled hook, waits until each is up or has failed once, then listens. A hook that does not come up is tried again while the gateway runs; one with "required": true ends the program instead.',
    "Without gateway.auth in the config only a loopback address can be listened on.",
    "SIGTERM or Ctrl-C stops taking calls, lets those under way finish, delivers events and ends the hooks. A second one ends at once.",
  ],
  options: {
    config: {
      ...CONFIG_OPTION,
      help: `${CONFIG_OPTION.help} Under \`npm start\` examples/hooks.json comes after that.`,
    },
    host: { value: "ADDRESS", help: "The address to listen on. Without it: gateway.host of the config, or 127.0.0.1." },
    port: {
      value: "PORT",
      short: "p",
      help: "The port to listen on; 0 takes a free one. Without it: gateway.port of the config, or 8787.",
    },
    "log-level": logLevelOption("info"),
  },
  maxPositionals: 0,
  examples: [
    { line: "hookgate serve", help: "serves hooks.json on 127.0.0.1:8787" },
    { line: "hookgate serve --config hooks.json --port 0", help: "on a free port, which is printed" },
  ],
  exitCodes: {
    0: "stopped by a signal, everything finished",
    1: "the config is not good, a required hook did not come up, or the address cannot be listened on",
    130: "a second Ctrl-C (143: SIGTERM) ended it at once",
  },
  run: runServe,
};

async function runServe(args: Args, host: CliHost): Promise<number> {
  const log = createTextLog(host, readLogLevel(args, "info"));
  const port = readPort(args.get("port"));
  const loaded = await loadConfig(args.get("config"), host);
  const { config } = loaded;
  const gatewayConfig = config.gateway;
  const address = { hostname: args.get("host") ?? gatewayConfig.host, port: port ?? gatewayConfig.port };
  // Before any hook is started: what is refused anyway should not have run a program.
  assertBindable(address.hostname, { hasAuth: hasAuth(gatewayConfig) });
  const stop = listenForStop(host);
  try {
    let made: StartedHooks | undefined;
    let gateway: Gateway | undefined;
    const watching = startWatching(config, {
      host,
      log,
      baseDir: loaded.baseDir,
      hooks: () => made?.manager.hooks() ?? [],
      callsInFlight: () => gateway?.callsInFlight() ?? 0,
    });
    const { onDecision, pages } = watching;
    try {
      made = await startHooks(loaded, { host, log, onDecision });
      assertRequired(made.started);
      made.approvals?.tidy(keepApprovalsMs(config));
      gateway = await toGateway(made, gatewayConfig, { host, log, pages });
      if (stop.isRequested()) return EXIT.ok;
      const listener = await host.serve(gateway, { ...address, log });
      host.stdout.write(greet(listener.url, { loaded, made, host }));
      log.info("stopping", { signal: await stop.requested });
      await listener.close();
      await made.host.flush(FLUSH_MS);
    } finally {
      await made?.host.close();
      await made?.notifier?.close(FLUSH_MS);
      await made?.approvals?.close();
      await watching.close();
    }
  } finally {
    stop.dispose();
  }
  return EXIT.ok;
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port: expected a number from 0 to 65535, got "${toLine(text)}"`);
}

interface Stop {
  readonly requested: Promise<StopSignal>;
  isRequested(): boolean;
  dispose(): void;
}

const ignore = (): void => {};

function listenForStop(host: CliHost): Stop {
  let firstAtMs: number | undefined;
  let dispose = ignore;
  const requested = new Promise<StopSignal>((resolve) => {
    dispose = host.onSignal((signal) => {
      if (firstAtMs === undefined) {
        firstAtMs = host.now();
        resolve(signal);
      } else if (host.now() - firstAtMs >= ECHO_MS) host.exit(signal === "SIGINT" ? 130 : 143);
    });
  });
  return { requested, isRequested: () => firstAtMs !== undefined, dispose };
}

function assertRequired(started: readonly StartedHook[]): void {
  const missing = started.filter(({ required, state }) => required && state !== "ready");
  if (missing.length === 0) return;
  const lines = missing.map(
    ({ name, reason = "it is not up" }) => `required hook "${name}" did not come up: ${reason}`,
  );
  throw new HookgateError("ERR_CONFIG", lines.join("\n"));
}

function toGateway(
  { host: asked, manager, started, yaml, approvals, links, notifier }: StartedHooks,
  config: GatewayConfig,
  { host, log, pages }: { readonly host: CliHost; readonly log: Log; readonly pages: RecordPages },
): Promise<Gateway> {
  const required = new Set(started.filter((hook) => hook.required).map(({ name }) => name));
  return createGatewayFromConfig(config, {
    ...pages,
    host: asked,
    approvals,
    links,
    notifications: notifier && (() => notifier.status()),
    lifecycle: yaml?.lifecycle,
    hooks: () => manager.hooks().map((hook) => ({ ...hook, required: required.has(hook.name) })),
    fetch: host.fetchKeys,
    crypto: host.ports.crypto,
    digest: host.digest,
    log,
    now: () => host.now(),
  });
}

const TRY = `{"jsonrpc":"2.0","id":1,"method":"hook.check_tool","params":{"tool":"bash","arguments":{"command":"ls"}}}`;

interface Served {
  readonly loaded: LoadedConfig;
  readonly made: StartedHooks;
  readonly host: CliHost;
}

function greet(url: string, { loaded: { config, file }, made, host }: Served): string {
  const paint = createPaint(host.stdout, host.env);
  const { started, yaml } = made;
  const { tokens, jwt, signatures } = config.gateway.auth;
  const ways = [
    ...(tokens.length > 0 ? ["a token"] : []),
    ...(jwt.length > 0 ? ["a JWT"] : []),
    ...(signatures.length > 0 ? ["a signature"] : []),
  ];
  const disabled = disabledHooks(config);
  const bearer = tokens.length + jwt.length > 0 ? [`  -H "authorization: Bearer $HOOKGATE_TOKEN"`] : [];
  return [
    `hookgate ${host.version} listens on ${paint("strong", url)}`,
    `config: ${toLine(file)}`,
    ...config.notes.map((note) => `note: ${note}`),
    ways.length > 0
      ? `callers need ${ways.join(" or ")}`
      : "no tokens are configured, so only programs on this machine may call",
    "",
    ...(started.length > 0
      ? [formatHooks(started, paint)]
      : yaml !== undefined
        ? []
        : [paint("warn", "no hook is enabled: every call is allowed"), ""]),
    ...(yaml === undefined ? [] : [formatFiles(yaml.files, paint)]),
    ...(disabled.length > 0 ? [`not enabled: ${toLine(disabled.join(", "))}`, ""] : []),
    "try it:",
    [`  curl -sS ${url}/rpc -H 'content-type: application/json'`, ...bearer, `  -d '${TRY}'`].join(" \\\n  "),
    "",
    "",
  ].join("\n");
}
