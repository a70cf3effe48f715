import { createGatewayClient } from "../client/index.ts";
import { createManagerFromConfig, nearestName } from "../config/index.ts";
import { answerHost, type HookHost } from "../picoclaw/index.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, CONFIG_OPTION, logLevelOption, readLogLevel } from "./command.ts";
import { formatDecision, parseDecision, toExitCode } from "./decision.ts";
import type { CliHost } from "./host.ts";
import { loadConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { CALL_POINTS, type CallPoint, PAYLOAD_OPTIONS, readPayload } from "./payload.ts";
import { createPaint, toLine, toSafeJson } from "./text.ts";

/** `hookgate call`: one question to the hooks. */
export const call: Command = {
  name: "call",
  summary: "Asks the hooks about one call and says what they decide.",
  usage: "call POINT [--config FILE | --url URL] [payload flags] [--json]",
  details: [
    `POINT is one of ${CALL_POINTS.join(", ")}; check_tool is before_tool and, unless that ends it, approve_tool.`,
    "The hooks of the config are started, asked and ended; with --url those of a running gateway are asked instead.",
    "Prints the decision and what each hook did, in how many milliseconds and why.",
  ],
  options: {
    config: CONFIG_OPTION,
    url: { value: "URL", help: "A gateway to ask, such as http://127.0.0.1:8787." },
    "token-env": { value: "NAME", help: "The environment variable that holds the gateway's token." },
    "allow-insecure": { help: "Allows plain http to another machine: anyone on the way could read and decide." },
    ...PAYLOAD_OPTIONS,
    json: { help: "Prints the decision as JSON, as a gateway sends it." },
    "log-level": logLevelOption("error"),
  },
  maxPositionals: 1,
  examples: [
    { line: "hookgate call before_tool --tool bash --arg command=ls", help: "may bash run ls?" },
    {
      line: `hookgate call check_tool --tool write_file --arguments '{"path": "/etc/passwd"}' --json`,
      help: "before_tool and the approvers in one, for scripts",
    },
    { line: "hookgate call before_llm --model gpt-5 --message 'roll a die'", help: "what the model would be sent" },
    { line: `echo '{"tool": "bash"}' | hookgate call approve_tool --payload -`, help: "a payload from stdin" },
    {
      line: "hookgate call check_tool --url http://127.0.0.1:8787 --token-env HOOKGATE_TOKEN --tool bash",
      help: "asks a running gateway",
    },
  ],
  exitCodes: {
    0: "allowed, changed or answered by a hook",
    1: "the command line, the payload, the config or the token is not good",
    2: "a hook denied it or aborted the turn",
    3: "nobody decided: it is refused because a hook gave no verdict, or the gateway gave none. A hook that is skipped without a verdict does not count: it is shown, and the others decide",
  },
  run: runCall,
};

async function runCall(args: Args, host: CliHost): Promise<number> {
  const point = readPoint(args);
  if (args.has("url") && args.has("config")) throw new UsageError("--config and --url exclude each other");
  const stray = ["token-env", "allow-insecure"].find((name) => args.has(name) && !args.has("url"));
  if (stray !== undefined) throw new UsageError(`--${stray} is for --url`);
  const params = await readPayload(point, args, host);
  const asked = args.has("url") ? connect(args, host) : await startHooks(args, host);
  try {
    const answer = await answerHost(asked, { method: `hook.${point}`, params });
    const decision = parseDecision(answer);
    const text = args.has("json")
      ? `${toSafeJson(answer)}\n`
      : formatDecision(decision, createPaint(host.stdout, host.env));
    host.stdout.write(text);
    return toExitCode(decision);
  } finally {
    await asked.close();
  }
}

function readPoint(args: Args): CallPoint {
  const given = args.positionals[0];
  const point = CALL_POINTS.find((name) => name === given);
  if (point !== undefined) return point;
  const list = `expected one of ${CALL_POINTS.join(", ")}`;
  if (given === undefined) throw new UsageError(`which point? ${list}`);
  const nearest = nearestName(given, CALL_POINTS);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  throw new UsageError(`unknown point "${toLine(given)}"${hint} (${list})`);
}

async function startHooks(args: Args, host: CliHost): Promise<HookHost> {
  const log = createTextLog(host, readLogLevel(args, "error"));
  const { config, baseDir, builtins } = await loadConfig(args.get("config"), host);
  const { spawn } = host;
  const now = (): number => host.now();
  return (await createManagerFromConfig(config, { spawn, builtins, log, baseDir, now })).manager;
}

function connect(args: Args, host: CliHost): HookHost {
  const url = args.get("url") ?? "";
  const name = args.get("token-env");
  const token = name === undefined ? undefined : host.env[name];
  if (name !== undefined && (token === undefined || token === "")) {
    throw new UsageError(`--token-env: the environment variable ${name} is not set`);
  }
  const log = createTextLog(host, readLogLevel(args, "error"));
  try {
    return createGatewayClient({
      url,
      token,
      allowInsecure: args.has("allow-insecure"),
      // Nobody decided, and that is what this is asked to tell.
      failure: { interceptors: "abort_turn" },
      fetch: host.fetch,
      log,
    });
  } catch (error) {
    // It begins with the name of the option, which is the flag's but for one.
    if (error instanceof TypeError) throw new UsageError(`--${error.message.replace(/^token:/, "token-env:")}`);
    throw error;
  }
}
