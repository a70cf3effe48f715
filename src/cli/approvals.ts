import type { GatewayApprovals } from "../client/index.ts";
import { HookgateError, isHookCallError } from "../errors.ts";
import { formatApproval, formatApprovals, formatUnreadable } from "./approval-text.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import { createClient, GATEWAY_OPTIONS } from "./gateway-api.ts";
import type { CliHost } from "./host.ts";
import { createPaint, toLine, toSafeJson } from "./text.ts";

const ACTIONS = ["list", "show", "approve", "deny", "revoke", "watch"] as const;
type Action = (typeof ACTIONS)[number];

const STATUSES = ["pending", "approved", "denied", "expired", "cancelled", "consumed"] as const;
const SCOPES = ["once", "hour", "session"] as const;
const DEFAULT_COUNT = 20;

/** `hookgate approvals`: what people are asked, and their answers. */
export const approvals: Command = {
  name: "approvals",
  summary: "Shows what people are asked, and takes their decisions.",
  usage: "approvals list|show ID|approve ID|deny ID|revoke ID|watch [--url URL] [--token-env NAME] [--json]",
  details: [
    "`list` shows the newest, `show` one with what will run. `approve` and `deny` decide as the name of the token, or as --by where the token speaks for others. `revoke` takes back what is pending or was approved. `watch` shows each as it is asked and decided, until Ctrl-C.",
    "What hides, turns text around or passes for other letters is shown by its code. Look at the whole call before you approve it: `show` leaves nothing out but what the config masks.",
    "A gateway with tokens wants one of scope approve; to look, observe or admin will do.",
  ],
  options: {
    ...GATEWAY_OPTIONS,
    status: { value: "STATUS", help: `list: only these: ${STATUSES.join(", ")}. Without it: all.` },
    count: { value: "N", short: "n", help: `list: how many, 1 to 500. Without it: ${DEFAULT_COUNT}.` },
    comment: { value: "TEXT", short: "m", help: "approve, deny, revoke: why; the agent is told of a denial's." },
    scope: {
      value: "SCOPE",
      help: "approve: once, or for this call again for an hour or this session. Without it: once.",
    },
    by: { value: "NAME", help: "approve, deny, revoke: the person, where the token speaks for others." },
    json: { help: "Prints JSON; watch: a line for each." },
  },
  maxPositionals: 2,
  examples: [
    { line: "hookgate approvals list --status pending --url https://gate.example", help: "what waits for people" },
    { line: "hookgate approvals approve ID --scope hour -m 'nightly build' --url https://gate.example", help: "" },
    { line: "hookgate approvals watch --url https://gate.example --token-env HOOKGATE_TOKEN", help: "another gateway" },
  ],
  exitCodes: {
    0: "done",
    1: "there is no such approval, it cannot be decided any more or not by you; or the command line is not good",
    3: "the gateway, or its store of approvals, cannot be reached: nothing is decided",
  },
  run: runApprovals,
};

async function runApprovals(args: Args, host: CliHost): Promise<number> {
  const [word = "", id] = args.positionals;
  const action = readAction(word);
  const client = createClient(args, host);
  try {
    if (action === "list" || action === "watch") {
      if (id !== undefined) throw new UsageError(`${action} takes no id`);
      return await (action === "list" ? list(client.approvals, args, host) : watch(client.approvals, args, host));
    }
    if (id === undefined) throw new UsageError(`${action} needs the id of an approval`);
    return await one(client.approvals, { action, id, args, host });
  } catch (error) {
    // Nobody has decided: it is not the fault of the command line.
    if (isHookCallError(error)) throw new HookgateError("ERR_GATEWAY", error.message, { cause: error });
    throw error;
  } finally {
    await client.close();
  }
}

function readAction(word: string): Action {
  const action = ACTIONS.find((known) => known === word);
  if (action === undefined) throw new UsageError(`expected one of ${ACTIONS.join(", ")}, got "${toLine(word)}"`);
  return action;
}

async function list(approvals_: GatewayApprovals, args: Args, host: CliHost): Promise<number> {
  const status = readOneOf(args, "status", STATUSES);
  const page = await approvals_.list({ status, limit: readCount(args) });
  const text = args.has("json")
    ? `${toSafeJson(page)}\n`
    : `${formatApprovals(page.approvals, createPaint(host.stdout, host.env), Date.now())}${formatUnreadable(page)}`;
  host.stdout.write(text);
  return EXIT.ok;
}

async function watch(approvals_: GatewayApprovals, args: Args, host: CliHost): Promise<number> {
  const stop = new AbortController();
  const dispose = host.onSignal(() => stop.abort());
  const paint = createPaint(host.stdout, host.env);
  try {
    for await (const approval of approvals_.watch({ signal: stop.signal })) {
      host.stdout.write(
        args.has("json") ? `${toSafeJson(approval, 0)}\n` : `${formatApproval(approval, paint, Date.now())}\n`,
      );
    }
    if (stop.signal.aborted) return EXIT.ok;
    throw new HookgateError("ERR_GATEWAY", "the gateway has ended the stream: it stops");
  } finally {
    dispose();
  }
}

interface One {
  readonly action: Exclude<Action, "list" | "watch">;
  readonly id: string;
  readonly args: Args;
  readonly host: CliHost;
}

async function one(approvals_: GatewayApprovals, { action, id, args, host }: One): Promise<number> {
  const comment = args.get("comment");
  const by = args.get("by");
  const approval =
    action === "show"
      ? await approvals_.get(id)
      : action === "revoke"
        ? await approvals_.cancel(id, { reason: comment, by })
        : await approvals_.decide(id, { decision: action, comment, by, scope: readOneOf(args, "scope", SCOPES) });
  const paint = createPaint(host.stdout, host.env);
  host.stdout.write(args.has("json") ? `${toSafeJson(approval)}\n` : formatApproval(approval, paint, Date.now()));
  return EXIT.ok;
}

function readOneOf<T extends string>(args: Args, name: string, allowed: readonly T[]): T | undefined {
  const given = args.get(name);
  if (given === undefined) return undefined;
  const found = allowed.find((value) => value === given);
  if (found !== undefined) return found;
  throw new UsageError(`--${name}: expected one of ${allowed.join(", ")}, got "${toLine(given)}"`);
}

function readCount(args: Args): number {
  const text = args.get("count");
  if (text === undefined) return DEFAULT_COUNT;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 1 && count <= 500) return count;
  throw new UsageError(`--count: expected a number from 1 to 500, got "${toLine(text)}"`);
}
