import { HookgateError } from "../errors.ts";
import { isLifecycleEvent, RUN_METHOD } from "../jcli/index.ts";
import { answerHost, HOST_METHODS, type HookHost } from "../picoclaw/index.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { actionOf, type Decision, parseDecision } from "./decision.ts";
import { createGatewayApi, GATEWAY_OPTIONS, refusalOf } from "./gateway-api.ts";
import type { CliHost } from "./host.ts";
import { loadConfig, readFile } from "./load.ts";
import { createTextLog } from "./log.ts";
import { isObject } from "../is-object.ts";
import { type ReadRecord, readRecord, toActionCell } from "./decision-record.ts";
import { startHooks } from "./start-hooks.ts";
import { createPaint, formatTable, toLine, toSafeJson } from "./text.ts";

/** What {@link replay} ends with when decisions differ. */
const EXIT_DIFFERS = 2;

/** `hookgate replay`: recorded calls against another config. */
export const replay: Command = {
  name: "replay",
  summary: "Asks the hooks of a config what was asked before, and shows which decisions differ.",
  usage: "replay [ID | FILE] [--config NEW] [--url URL] [--json]",
  details: [
    "FILE holds decision records, one JSON object a line; an ID is looked up at a gateway, and without either its newest 500 records are taken.",
    'Only records with their payload can be asked again: "record": {"payload": "full"} keeps it. Where payloads are "masked" a hook sees the mask, and may decide otherwise for that alone.',
    "A hook that gives no verdict, and gave one then or was not there, makes a difference, whatever is decided without it.",
    "The hooks really are asked: one that acts on what it is asked acts again.",
  ],
  options: {
    config: CONFIG_OPTION,
    ...GATEWAY_OPTIONS,
    json: { help: "Prints one JSON object." },
    "log-level": logLevelOption("error"),
  },
  maxPositionals: 1,
  examples: [
    { line: "hookgate replay decisions.jsonl --config new.json", help: "would the new config decide the same?" },
    {
      line: "hookgate replay 0192f0c1 --url http://127.0.0.1:8787 --config new.json",
      help: "one decision of a gateway",
    },
  ],
  exitCodes: {
    0: "every decision is the same",
    1: "nothing could be asked again, or the command line, the records or the config is not good",
    2: "a decision differs, or a hook that decided gives no verdict now",
    3: "the gateway cannot be reached",
  },
  run: runReplay,
};

/** A decision, then and now. */
interface Replayed {
  readonly record: ReadRecord;
  readonly action: string;
  readonly reason: string;
  /** The hooks that say nothing now, and did then or were not there. */
  readonly noVerdicts: readonly NoVerdict[];
  readonly isSame: boolean;
}

interface NoVerdict {
  readonly hook: string;
  readonly kind: string;
}

async function runReplay(args: Args, host: CliHost): Promise<number> {
  const { records, source } = await readRecords(args, host);
  const usable = records.filter((record) => record.input !== undefined && methodOf(record) !== undefined);
  const skippedCount = records.length - usable.length;
  if (usable.length === 0) {
    const why =
      records.length === 0
        ? "there are no records"
        : `none of ${records.length} records holds its payload: "record": {"payload": "full"} in the config keeps it`;
    throw new HookgateError("ERR_CONFIG", `${source}: ${why}`);
  }
  const log = createTextLog(host, readLogLevel(args, "error"));
  const { host: hooks } = await startHooks(await loadConfig(args.get("config"), host), { host, log });
  const replayed: Replayed[] = [];
  try {
    // In the order in which they were made: a hook may remember.
    for (const record of usable) replayed.push(await ask(record, hooks));
  } finally {
    await hooks.close();
  }
  const differing = replayed.filter(({ isSame }) => !isSame);
  host.stdout.write(
    args.has("json")
      ? toJson({ replayed, differing, skippedCount })
      : toText({ replayed, differing, skippedCount }, host),
  );
  return differing.length === 0 ? EXIT.ok : EXIT_DIFFERS;
}

interface Found {
  /** Oldest first. */
  readonly records: readonly ReadRecord[];
  /** Where they are from, for messages. */
  readonly source: string;
}

async function readRecords(args: Args, host: CliHost): Promise<Found> {
  const [named] = args.positionals;
  const text = named === undefined ? undefined : await readFile(named, host);
  if (named !== undefined && text !== undefined) return { records: parseLines(text, named), source: named };
  if (!args.has("url")) {
    if (named === undefined) throw new UsageError("which records? a FILE, or --url URL with or without an ID");
    throw new UsageError(`there is no file ${toLine(named)}; for the ID of a record name its gateway with --url`);
  }
  const api = createGatewayApi(args, host);
  const answer = await api.get(
    named === undefined ? "/v1/records?limit=500" : `/v1/records/${encodeURIComponent(named)}`,
  );
  const { status, body } = answer;
  if (status === 404) {
    const what = named === undefined ? "keeps no records" : `has no record ${toLine(named)}`;
    throw new HookgateError("ERR_CONFIG", `${api.url} ${what}`);
  }
  if (status !== 200 || !isObject(body)) throw new HookgateError("ERR_CONFIG", `${api.url}: ${refusalOf(answer)}`);
  const list: readonly unknown[] = Array.isArray(body["records"]) ? body["records"].toReversed() : [body];
  return { records: list.flatMap((value) => readRecord(value) ?? []), source: api.url };
}

function parseLines(text: string, file: string): readonly ReadRecord[] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const record = readRecord(parse(line));
    if (record === undefined) throw new HookgateError("ERR_CONFIG", `${file}:${index + 1} is not a decision record`);
    return [record];
  });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** What a record is asked again by; undefined where it was no question. */
function methodOf({ point, action }: ReadRecord): string | undefined {
  if (action === "detached") return undefined;
  if (isLifecycleEvent(point)) return RUN_METHOD;
  const method = `hook.${point}`;
  return HOST_METHODS.includes(method) ? method : undefined;
}

async function ask(record: ReadRecord, hooks: HookHost): Promise<Replayed> {
  const method = methodOf(record) ?? "";
  const answer = await answerHost(hooks, { method, params: record.input });
  const decision = parseDecision(answer);
  const noVerdicts = findNoVerdicts(record, decision);
  const isRun = method === RUN_METHOD;
  const action = isRun ? toRunAction(answer) : actionOf(decision);
  const reason = isRun ? record.reason : decision.reason;
  const isSame = action === record.action && reason === record.reason && noVerdicts.length === 0;
  return { record, action, reason, noVerdicts, isSame };
}

/** A turn that goes on because a hook does not answer is not what the hook decided. One that is only audited decides nothing. */
function findNoVerdicts({ hooks }: ReadRecord, { records }: Decision): readonly NoVerdict[] {
  const before = new Set(hooks.filter(({ outcome }) => outcome === "no_verdict").map(({ hook }) => hook));
  return records
    .filter(({ hook, outcome, would }) => outcome === "no_verdict" && would === undefined && !before.has(hook))
    .map(({ hook, kind = "" }) => ({ hook, kind }));
}

/** An event is answered with what hooks changed, and without a reason. */
function toRunAction(answer: unknown): string {
  const {
    halted: _,
    trace: _trace,
    action,
    ...fields
  }: Partial<Record<string, unknown>> = isObject(answer) ? answer : {};
  const isChanged = Object.keys(fields).length > 0;
  return typeof action === "string" ? action : isChanged ? "modify" : "continue";
}

interface Outcome {
  readonly replayed: readonly Replayed[];
  readonly differing: readonly Replayed[];
  readonly skippedCount: number;
}

function toJson({ replayed, differing, skippedCount }: Outcome): string {
  const differences = differing.map(({ record, action, reason, noVerdicts }) => {
    const { id, time, point, tool } = record;
    const before = { action: record.action, reason: record.reason };
    return { id, time, point, tool, before, now: { action, reason }, no_verdicts: noVerdicts };
  });
  return `${toSafeJson({ replayed: replayed.length, without_payload: skippedCount, differences })}\n`;
}

function toText({ replayed, differing, skippedCount }: Outcome, host: CliHost): string {
  const paint = createPaint(host.stdout, host.env);
  const rows = differing.map(({ record, action, reason, noVerdicts }) => [
    record.id,
    record.point,
    record.tool,
    toActionCell(record.action),
    toActionCell(action),
    [
      reason === record.reason ? reason : `${record.reason} -> ${reason}`,
      ...noVerdicts.map(({ hook, kind }) => `no verdict of ${hook}: ${kind}`),
    ]
      .filter((text) => text !== "")
      .join("; "),
  ]);
  const table =
    rows.length === 0 ? "" : `${formatTable(["ID", "POINT", "TOOL", "BEFORE", "NOW", "REASON"], rows, paint)}\n`;
  const skipped = skippedCount === 0 ? "" : `, ${skippedCount} skipped: they hold no payload`;
  const sum = `${replayed.length} asked again, ${differing.length} differ${skipped}`;
  return `${table}${paint(differing.length === 0 ? "good" : "warn", sum)}\n`;
}
