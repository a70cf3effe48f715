import { nearestName } from "../config/index.ts";
import { answerHost, type HookHost } from "../picoclaw/index.ts";
import { type Args, UsageError } from "./args.ts";
import { connectEndpoint, ENDPOINT_FLAGS, ENDPOINT_OPTIONS } from "./call-endpoint.ts";
import { type Command, CONFIG_OPTION, logLevelOption, readLogLevel } from "./command.ts";
import { formatDecision, parseDecision, toExitCode } from "./decision.ts";
import { createClient } from "./gateway-api.ts";
import type { CliHost } from "./host.ts";
import { loadConfig } from "./load.ts";
import { createTextLog } from "./log.ts";
import { CALL_POINTS, type CallPoint, PAYLOAD_OPTIONS, readPayload } from "./payload.ts";
import { startHooks } from "./start-hooks.ts";
import { createPaint, toLine, toSafeJson } from "./text.ts";

/** `hookgate call`: one question to the hooks. */
export const call: Command = {
  name: "call",
  summary: "Asks the hooks about one call and says what they decide.",
  usage: "call POINT [--config FILE | --url URL | --endpoint URL] [payload flags] [--json]",
  details: [
    `POINT is one of ${CALL_POINTS.join(", ")}; check_tool is before_tool and, unless that ends it, approve_tool.`,
    "The hooks of the config are started, asked and ended; with --url those of a running gateway are asked instead, and with --endpoint one hook endpoint alone.",
    "Prints the decision and what each hook did, in how many milliseconds and why.",
  ],
  options: {
    config: CONFIG_OPTION,
    url: { value: "URL", help: "A gateway to ask, such as http://127.0.0.1:8787." },
    "token-env": { value: "NAME", help: "The environment variable that holds the gateway's token." },
    ...ENDPOINT_OPTIONS,
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
    {
      line: "hookgate call approve_tool --endpoint http://127.0.0.1:8788/hook --secret-env HOOK_SECRET --tool bash",
      help: "asks one endpoint, signed with the secret that it shares",
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
  checkFlags(args);
  const params = await readPayload(point, args, host);
  const asked = await ask(point, args, host);
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

function checkFlags(args: Args): void {
  const asked = ["config", "url", "endpoint"].filter((name) => args.has(name));
  if (asked.length > 1) throw new UsageError(`--${asked.join(" and --")} exclude each other`);
  const [first] = asked;
  if (first !== "url" && args.has("token-env")) throw new UsageError("--token-env is for --url");
  if (first !== "url" && first !== "endpoint" && args.has("allow-insecure")) {
    throw new UsageError("--allow-insecure is for --url and --endpoint");
  }
  const stray = ENDPOINT_FLAGS.find((name) => args.has(name));
  if (stray !== undefined && first !== "endpoint") throw new UsageError(`--${stray} is for --endpoint`);
}

async function ask(point: CallPoint, args: Args, host: CliHost): Promise<HookHost> {
  const log = createTextLog(host, readLogLevel(args, "error"));
  if (args.has("url")) return connect(args, host);
  if (args.has("endpoint")) return connectEndpoint(args, { point, host, log });
  return (await startHooks(await loadConfig(args.get("config"), host), { host, log })).host;
}

/** A client of the gateway that `--url` names. */
export function connect(args: Args, host: CliHost): HookHost {
  const log = createTextLog(host, readLogLevel(args, "error"));
  // Nobody decided, and that is what this is asked to tell.
  return createClient(args, host, { failure: { interceptors: "abort_turn" }, log });
}
