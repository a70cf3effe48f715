import { createGatewayKeys, type GatewayConfig } from "../config/index.ts";
import { assertBindable, createStartingGateway, hasAuth, type StartingGateway } from "../gateway/index.ts";
import { toJwks } from "../signing/keys.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { formatFiles, formatHooks } from "./hook-table.ts";
import type { CliHost, ServeOptions, StopSignal } from "./host.ts";
import { disabledHooks, loadConfig, type LoadedConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { openServing } from "./serving.ts";
import type { StartedHooks } from "./start-hooks.ts";
import { createPaint, toLine } from "./text.ts";

const FLUSH_MS = 2000;
/** npm passes a Ctrl-C on that the terminal has sent already: what comes this soon is the same one. */
const ECHO_MS = 250;

/** `hookgate serve`: the gateway. */
export const serve: Command = {
  name: "serve",
  summary: "Starts the hooks of a config and answers agents over HTTP.",
  usage: "serve [--config FILE] [--host ADDRESS] [--port PORT]",
  details: [
    'Starts every enabled hook, waits until each is up or has failed once, then listens. A hook that does not come up is tried again while the gateway runs; one with "required": true ends the program instead. A gateway that has a key listens at once, for endpoints that fetch it before they can answer; calls are told to come again.',
    "Without gateway.auth in the config only a loopback address can be listened on.",
    "Reads the config and the `hooks.yaml` files again when one of them changes, on SIGHUP and by `hookgate reload`: hooks that are still the same go on running, calls under way are answered by the hooks they began with, and where anything is wrong the old configuration stays. Another address needs a restart.",
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
  const address = { hostname: args.get("host"), port: readPort(args.get("port")) };
  const loaded = await loadConfig(args.get("config"), host);
  const { gateway: gatewayConfig } = loaded.config;
  const { hostname = gatewayConfig.host, port = gatewayConfig.port } = address;
  // Before any hook is started: what is refused anyway should not have run a program.
  assertBindable(hostname, { hasAuth: hasAuth(gatewayConfig) });
  const stop = listenForStop(host);
  let early: EarlyListener | undefined;
  try {
    early = await listenEarly(gatewayConfig, { host, options: { hostname, port, log } });
    const serving = await openServing(loaded, { host, log, address });
    try {
      const { gateway, hooks, made } = serving;
      if (stop.isRequested()) return EXIT.ok;
      early?.gateway.start(gateway);
      const listener = early ?? (await host.serve(gateway, { hostname, port, log }));
      const ignoreChanges = serving.reloadOnChange();
      host.stdout.write(greet(listener.url, { loaded, made, host }));
      log.info("stopping", { signal: await stop.requested });
      ignoreChanges();
      await listener.close();
      await hooks.flush(FLUSH_MS);
    } finally {
      await serving.close();
    }
  } finally {
    await early?.close();
    stop.dispose();
  }
  return EXIT.ok;
}

interface EarlyListener {
  readonly gateway: StartingGateway;
  readonly url: string;
  close(): Promise<void>;
}

/** Listens before the hooks are greeted, where there are keys that they may have to fetch. */
async function listenEarly(
  config: GatewayConfig,
  { host, options }: { readonly host: CliHost; readonly options: ServeOptions },
): Promise<EarlyListener | undefined> {
  const keys = await createGatewayKeys(config, host.ports.crypto);
  if (keys.length === 0) return undefined;
  const gateway = createStartingGateway({ jwks: toJwks(keys), hasAuth: hasAuth(config) });
  return { gateway, ...(await host.serve(gateway, options)) };
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
