import { readEvents, type StreamedEvent } from "../client/event-stream.ts";
import { HookgateError, isHookgateError } from "../errors.ts";
import { backoffMs } from "../transport/backoff.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import { createGatewayApi, GATEWAY_OPTIONS, type GatewayApi } from "./gateway-api.ts";
import type { CliHost } from "./host.ts";
import { formatRecord, readRecord } from "./decision-record.ts";
import { createPaint, formatMs, type Paint, toLine, toSafeJson } from "./text.ts";

/** `hookgate tail`: decisions as they are made. */
export const tail: Command = {
  name: "tail",
  summary: "Shows a gateway's decisions as they are made.",
  usage: "tail [--url URL] [--session KEY] [--tool NAME] [--outcome ACTION] [--json]",
  details: [
    "Goes on until Ctrl-C. When the connection ends it connects again, with growing waits, and says so on stderr; what was decided meanwhile is in /v1/records.",
    "A gateway with tokens wants one of scope observe or admin.",
  ],
  options: {
    ...GATEWAY_OPTIONS,
    session: { value: "KEY", help: "Only decisions of this session." },
    tool: { value: "NAME", help: "Only decisions about this tool." },
    outcome: { value: "ACTION", help: "Only decisions with this action, such as deny_tool." },
    count: { value: "NUMBER", short: "n", help: "Ends after so many decisions." },
    json: { help: "Prints each record as a line of JSON." },
  },
  maxPositionals: 0,
  examples: [
    { line: "hookgate tail --url http://127.0.0.1:8787 --outcome deny_tool", help: "what is denied" },
    { line: "hookgate tail --url http://127.0.0.1:8787 --json", help: "for other programs" },
  ],
  exitCodes: {
    0: "ended by Ctrl-C or --count",
    1: "the command line is not good, or the gateway refused or keeps no records",
  },
  run: runTail,
};

const FILTERS = ["session", "tool", "outcome"];

async function runTail(args: Args, host: CliHost): Promise<number> {
  const api = createGatewayApi(args, host);
  const query = new URLSearchParams(FILTERS.flatMap((name) => (args.has(name) ? [[name, args.get(name) ?? ""]] : [])));
  const path = `/v1/events${query.size === 0 ? "" : `?${query.toString()}`}`;
  const printer = new Printer(host, { isJson: args.has("json"), count: readCount(args) });
  const dispose = host.onSignal(() => host.exit(EXIT.ok));
  try {
    for (let failures = 0; ;) {
      const before = printer.seen;
      const why = await follow(api, path, printer);
      if (why === undefined) return EXIT.ok;
      failures = printer.seen > before ? 1 : failures + 1;
      const waitMs = Math.round(backoffMs(failures, Math.random()));
      printer.note(`disconnected from ${api.url}: ${why}; connecting again in ${formatMs(waitMs)} ms`);
      await new Promise((resolve) => {
        setTimeout(resolve, waitMs);
      });
    }
  } finally {
    dispose();
  }
}

function readCount(args: Args): number {
  const text = args.get("count");
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new UsageError(`--count: expected a number of 1 or more, got "${toLine(text)}"`);
}

/** @returns why the connection ended; undefined when enough was seen */
async function follow(api: GatewayApi, path: string, printer: Printer): Promise<string | undefined> {
  try {
    const { status, body } = await api.open(path, { accept: "text/event-stream" });
    if (status === 404)
      throw new HookgateError("ERR_CONFIG", `${api.url} keeps no records of decisions: see "records"`);
    if (status >= 400 && status < 500 && status !== 429) {
      throw new HookgateError("ERR_CONFIG", `${api.url} refused: HTTP status ${status}`);
    }
    if (status !== 200) return `HTTP status ${status}`;
    printer.note(`connected to ${api.url}`);
    for await (const event of readEvents(body)) if (printer.show(event)) return undefined;
    return "the gateway ended the stream";
  } catch (error) {
    if (isHookgateError(error) && error.code === "ERR_CONFIG") throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

class Printer {
  /** How many decisions were shown. */
  seen = 0;
  readonly #host: CliHost;
  readonly #isJson: boolean;
  readonly #count: number;
  readonly #paint: Paint;

  constructor(host: CliHost, { isJson, count }: { readonly isJson: boolean; readonly count: number }) {
    this.#host = host;
    this.#isJson = isJson;
    this.#count = count;
    this.#paint = createPaint(host.stdout, host.env);
  }

  /** Says something on stderr, so that stdout holds decisions alone. */
  note(text: string): void {
    this.#host.stderr.write(`${toLine(text)}\n`);
  }

  /** @returns whether that was the last that is wanted */
  show({ event, data }: StreamedEvent): boolean {
    if (event === "dropped") this.note(`${data} decisions were missed: this reader is too slow`);
    const value = event === "decision" ? parse(data) : undefined;
    const record = readRecord(value);
    if (record === undefined) return false;
    this.#host.stdout.write(this.#isJson ? `${toSafeJson(value, 0)}\n` : formatRecord(record, this.#paint));
    this.seen += 1;
    return this.seen >= this.#count;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
