import { HookgateError } from "../errors.ts";
import type { ChainReport, KeptRecords } from "../records/index.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, CONFIG_OPTION, EXIT } from "./command.ts";
import type { CliHost } from "./host.ts";
import { isObject } from "../is-object.ts";
import { loadConfig } from "./load.ts";
import { type Cell, createPaint, formatMs, formatTable, toLine, toSafeJson } from "./text.ts";

const ACTIONS = ["list", "show", "verify", "export"] as const;
type Action = (typeof ACTIONS)[number];

const DEFAULT_COUNT = 20;

/** `hookgate records`: what was decided. */
export const records: Command = {
  name: "records",
  summary: "Shows the records of decisions, and checks that none was removed or changed.",
  usage: "records list|show ID|verify|export [--config FILE | --file FILE] [filters] [--json]",
  details: [
    "`list` shows the newest, `show` one in full, `export` prints all as lines of JSON, oldest first.",
    "`verify` reads them all and checks the chain of hashes: it finds records that were removed, changed, put in another order or cut off at the end. Who can write to the records can make the chain anew; with --head HASH, kept elsewhere, that shows too.",
    "The records of a gateway that is running can be read.",
  ],
  options: {
    config: CONFIG_OPTION,
    file: { value: "FILE", help: "A database of records, or lines of JSON (.jsonl), in the place of the config's." },
    session: { value: "KEY", help: "list: only those of this session." },
    tool: { value: "NAME", help: "list: only those of this tool." },
    outcome: { value: "ACTION", help: "list: only those that ended so, such as deny_tool." },
    count: { value: "N", short: "n", help: `list: how many, 1 to 500. Without it: ${DEFAULT_COUNT}.` },
    head: { value: "HASH", help: "verify: a hash that an earlier verify has printed; a record must have it." },
    json: { help: "Prints JSON." },
  },
  maxPositionals: 2,
  examples: [
    { line: "hookgate records list --outcome deny_tool", help: "what was denied lately" },
    { line: "hookgate records verify", help: "whether the records are as they were written" },
    { line: "hookgate records export > decisions.jsonl", help: "" },
  ],
  exitCodes: {
    0: "done; verify: nothing is wrong",
    1: "there are no records or they cannot be read, or the command line or the config is not good",
    2: "verify: something is wrong with the records",
  },
  run: runRecords,
};

async function runRecords(args: Args, host: CliHost): Promise<number> {
  const action = readAction(args);
  const kept = await open(args, host);
  try {
    return await ACTS[action](kept, args, host);
  } catch (cause) {
    if (cause instanceof HookgateError || cause instanceof UsageError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HookgateError("ERR_CONFIG", `${kept.path} cannot be read: ${why}`, { cause });
  } finally {
    kept.close();
  }
}

const ACTS: Readonly<Record<Action, (kept: KeptRecords, args: Args, host: CliHost) => Promise<number>>> = {
  list,
  show,
  verify,
  async export(kept, _args, host) {
    for await (const text of kept.all()) host.stdout.write(`${text}\n`);
    return EXIT.ok;
  },
};

function readAction({ positionals: [word, id] }: Args): Action {
  const action = ACTIONS.find((name) => name === word);
  if (action === undefined) throw new UsageError(`expected one of ${ACTIONS.join(", ")}, got "${toLine(word ?? "")}"`);
  if ((action === "show") !== (id !== undefined)) {
    throw new UsageError(action === "show" ? "show needs the id of a record" : `unexpected word "${toLine(id ?? "")}"`);
  }
  return action;
}

async function open(args: Args, host: CliHost): Promise<KeptRecords> {
  const file = args.get("file");
  if (file !== undefined && args.has("config")) throw new UsageError("--config and --file exclude each other");
  const loaded = file === undefined ? await loadConfig(args.get("config"), host) : undefined;
  const { baseDir = "." } = loaded ?? {};
  const kept = host.records?.read(loaded?.config.records, { baseDir, file });
  if (kept !== undefined) return kept;
  const where = file === undefined ? "the config keeps none, or nothing was recorded yet" : file;
  throw new HookgateError("ERR_CONFIG", `there are no records: ${where}`);
}

async function list({ store }: KeptRecords, args: Args, host: CliHost): Promise<number> {
  if (store === undefined) throw new UsageError("list needs a database; export prints what is in files");
  const count = Number(args.get("count") ?? DEFAULT_COUNT);
  if (!Number.isInteger(count) || count < 1 || count > 500) throw new UsageError("--count: expected 1 to 500");
  const [session, tool, outcome] = ["session", "tool", "outcome"].map((name) => args.get(name));
  const page = await store.list({ session, tool, outcome, maxRecords: count });
  if (args.has("json")) {
    host.stdout.write(`${toSafeJson(page.records.map(parse))}\n`);
    return EXIT.ok;
  }
  const rows = page.records.map((text) => toRow(parse(text)));
  const head = ["TIME", "POINT", "TOOL", "ACTION", "MS", "SESSION", "ID"];
  host.stdout.write(formatTable(head, rows, createPaint(host.stdout, host.env)));
  return EXIT.ok;
}

type Fields = Readonly<Record<string, unknown>>;

function toRow({
  time = "unreadable",
  point = "",
  tool = "",
  action = "",
  ms,
  session = "",
  id = "",
}: Fields): readonly Cell[] {
  const isGood = action === "continue" || action === "modify" || action === "approved" || action === "respond";
  const tone = isGood ? "good" : "bad";
  const took = typeof ms === "number" ? formatMs(ms) : "";
  return [String(time), String(point), String(tool), { text: String(action), tone }, took, String(session), String(id)];
}

async function show(kept: KeptRecords, args: Args, host: CliHost): Promise<number> {
  const id = args.positionals[1] ?? "";
  const text = await find(kept, id);
  if (text === undefined) throw new HookgateError("ERR_CONFIG", `there is no record "${toLine(id)}"`);
  host.stdout.write(`${toSafeJson(parse(text))}\n`);
  return EXIT.ok;
}

async function find(kept: KeptRecords, id: string): Promise<string | undefined> {
  if (kept.store !== undefined) return kept.store.get(id);
  for await (const text of kept.all()) if (parse(text)["id"] === id) return text;
  return undefined;
}

async function verify(kept: KeptRecords, args: Args, host: CliHost): Promise<number> {
  const report = await kept.verify();
  const wanted = args.get("head");
  const hasHead = wanted === undefined || (await has(kept, wanted));
  const isGood = report.problems.length === 0 && hasHead;
  if (args.has("json")) host.stdout.write(`${toSafeJson({ ok: isGood, ...report, has_head: hasHead })}\n`);
  else host.stdout.write(formatReport(report, { path: kept.path, hasHead, host }));
  return isGood ? EXIT.ok : EXIT.denied;
}

async function has(kept: KeptRecords, hash: string): Promise<boolean> {
  for await (const text of kept.all()) if (parse(text)["hash"] === hash) return true;
  return false;
}

function formatReport(
  { count, lost, head, problems }: ChainReport,
  { path, hasHead, host }: { readonly path: string; readonly hasHead: boolean; readonly host: CliHost },
): string {
  const paint = createPaint(host.stdout, host.env);
  const isGood = problems.length === 0 && hasHead;
  const verdict = isGood ? paint("good", "nothing is wrong") : paint("bad", "something is wrong");
  return [
    `${toLine(path)}: ${count} records, ${verdict}`,
    ...problems.map(({ kind, seq, message }) => `${paint("bad", kind)} at record ${seq}: ${toLine(message)}`),
    ...(hasHead ? [] : [`${paint("bad", "missing")}: no record has the hash of --head`]),
    ...(lost > 0 ? [`${lost} decisions were not recorded, and the records say so`] : []),
    ...(head === undefined ? [] : [`head: ${toLine(head.hash)} (record ${head.seq})`]),
    "",
  ].join("\n");
}

/** A record's fields; none where it is damaged. */
function parse(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
