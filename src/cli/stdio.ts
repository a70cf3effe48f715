import type { StartedHost } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import type { StdioHandle } from "../endpoint/index.ts";
import { withMargin } from "../gateway/index.ts";
import type { Log } from "../log.ts";
import { answerHost, HELLO_METHOD, HOST_METHODS } from "../picoclaw/index.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import type { CliHost } from "./host.ts";
import { loadConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { isObject } from "../is-object.ts";
import { startHooks } from "./start-hooks.ts";
import { toLine } from "./text.ts";

/** What is kept back of a host's deadline for the answer's way, in milliseconds: a busy host reads late. */
const WAY_MS = 250;
const FLUSH_MS = 300;

/** `hookgate stdio`: all the hooks of a config as one process hook of PicoClaw. */
export const stdio: Command = {
  name: "stdio",
  summary: "Is one process hook of PicoClaw, in front of all the hooks of a config.",
  usage: "stdio [--config FILE] [--interceptor-timeout-ms MS] [--approval-timeout-ms MS]",
  details: [
    'For a PicoClaw that is not changed: name it as a hook\'s "command", with "intercept" and "observe" as wanted, and its calls reach every hook of the config, those over HTTP too.',
    "Greets at once, and starts the hooks meanwhile. Answers a little before the host's own deadline: hooks that have not answered by then give no verdict, so interceptors among them are skipped and approvals denied, with a reason. The flags are what the host waits.",
    "The protocol is on stdin and stdout, the log on stderr. It ends when stdin does.",
  ],
  options: {
    config: CONFIG_OPTION,
    "interceptor-timeout-ms": {
      value: "MS",
      help: "What the host waits for an interceptor: interceptor_timeout_ms of its config. Without it: 5000.",
    },
    "approval-timeout-ms": {
      value: "MS",
      help: "What the host waits for an approval: approval_timeout_ms of its config. Without it: 60000.",
    },
    "log-level": logLevelOption("warn"),
  },
  maxPositionals: 0,
  examples: [
    {
      line: `echo '{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{}}' | hookgate stdio --config hooks.json`,
      help: "what a host does first",
    },
  ],
  exitCodes: {
    0: "the host ended the input",
    1: "the command line or the config is not good, or a required hook did not come up",
  },
  run: runStdio,
};

async function runStdio(args: Args, host: CliHost): Promise<number> {
  const log = createTextLog(host, readLogLevel(args, "warn"));
  const interceptorMs = withMargin(readTimeoutMs(args, "interceptor-timeout-ms", 5000), WAY_MS);
  const approvalMs = withMargin(readTimeoutMs(args, "approval-timeout-ms", 60_000), WAY_MS);
  const loaded = await loadConfig(args.get("config"), host);
  if (loaded.config.records?.enabled === true) log.warn("decisions are not recorded: only hookgate serve does that");
  const starting = startHooks(loaded, { host, log });
  // Whoever fails to start ends the program, not an unhandled rejection.
  const started = starting.then(assertRequired);
  const limits = { interceptorMs, approvalMs };
  const served = host.serveStdio(createHandle({ started, limits, log, now: () => host.now() }), log);
  const stop = host.onSignal((signal) => {
    log.info("stopping", { signal });
    host.exit(EXIT.ok);
  });
  try {
    // A rejection ends it at once; coming up does not.
    await Promise.race([served.ended, started.then(() => served.ended)]);
    return EXIT.ok;
  } finally {
    served.close();
    stop();
    await starting.then(leave, () => undefined);
  }
}

async function leave({ host }: StartedHost): Promise<void> {
  await host.flush(FLUSH_MS);
  await host.close();
}

function assertRequired(made: StartedHost): StartedHost {
  const missing = made.started.find(({ required, state }) => required && state !== "ready");
  if (missing === undefined) return made;
  const { name, reason = "it is not up" } = missing;
  throw new HookgateError("ERR_CONFIG", `required hook "${name}" did not come up: ${reason}`);
}

function readTimeoutMs(args: Args, name: string, fallbackMs: number): number {
  const text = args.get(name);
  if (text === undefined) return fallbackMs;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`--${name}: expected milliseconds, got "${toLine(text)}"`);
}

interface HandleParts {
  readonly started: Promise<StartedHost>;
  readonly limits: { readonly interceptorMs: number; readonly approvalMs: number };
  readonly log: Log;
  readonly now: () => number;
}

function createHandle({ started, limits, log, now }: HandleParts): StdioHandle {
  return async (method, params, context) => {
    // Before the hooks are up: a host gives up on a hook that does not greet.
    if (method === HELLO_METHOD) return { ok: true, name: "hookgate", version: 1 };
    if (!HOST_METHODS.includes(method))
      log.debug("an unknown method was called", { method: toLine(method).slice(0, 80) });
    const startedAtMs = now();
    const limitMs = method === "hook.approve_tool" ? limits.approvalMs : limits.interceptorMs;
    const made = await withinMs(started, limitMs);
    if (made === undefined) return undecided(method);
    // What the host reads of signals is none: it has no way to give up but to end the input.
    const timeoutMs = limitMs - (now() - startedAtMs);
    const answer = await answerHost(made.host, { method, params, timeoutMs, signal: context.signal });
    return withoutTrace(answer);
  };
}

/** The answer when the hooks have not even been started in time. */
function undecided(method: string): unknown {
  if (method !== "hook.approve_tool") return { action: "continue" };
  return { approved: false, reason: "the hooks of hookgate were not up in time" };
}

async function withinMs<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** The trace is for gateways; PicoClaw reads none, and every byte is parsed on its way. */
function withoutTrace(answer: unknown): unknown {
  if (!isObject(answer)) return answer;
  const { trace: _trace, ...rest } = answer;
  return rest;
}
