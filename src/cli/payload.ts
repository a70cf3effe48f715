import { readJson } from "../config/json.ts";
import { isObject } from "../is-object.ts";
import { HOOK_POINTS, type HookPoint } from "../picoclaw/index.ts";
import { type Args, type OptionSpecs, UsageError } from "./args.ts";
import type { CliHost } from "./host.ts";
import { readFile } from "./load.ts";

/** What `hookgate call` can ask: a hook point, or before_tool and approve_tool in one. */
export type CallPoint = HookPoint | "check_tool";

/** Every {@link CallPoint}. */
export const CALL_POINTS: readonly CallPoint[] = [...HOOK_POINTS, "check_tool"];

/** The flags that make a payload. */
export const PAYLOAD_OPTIONS: OptionSpecs = {
  payload: {
    value: "FILE",
    help: "The payload as JSON, from a file or from stdin (-). Other flags change parts of it.",
  },
  tool: { value: "NAME", help: "The tool's name." },
  arg: { value: "KEY=VALUE", isRepeatable: true, help: "One argument of the tool, as a string." },
  arguments: { value: "JSON", help: "The tool's arguments, as a JSON object." },
  result: { value: "TEXT", help: "What the tool gave back (after_tool)." },
  model: { value: "NAME", help: "The model's name (before_llm, after_llm)." },
  message: { value: "TEXT", help: "What the user says (before_llm), or the model (after_llm)." },
  channel: { value: "NAME", help: "The channel the user writes on." },
  "chat-id": { value: "ID", help: "The chat on that channel." },
};

const TOOL_FLAGS = ["payload", "tool", "arg", "arguments", "channel", "chat-id"];
const LLM_FLAGS = ["payload", "model", "message", "channel", "chat-id"];

const FLAGS: Readonly<Record<CallPoint, readonly string[]>> = {
  before_llm: LLM_FLAGS,
  after_llm: LLM_FLAGS,
  before_tool: TOOL_FLAGS,
  approve_tool: TOOL_FLAGS,
  after_tool: [...TOOL_FLAGS, "result"],
  check_tool: TOOL_FLAGS,
};

type Fields = Readonly<Record<string, unknown>>;

/**
 * Makes the payload of a call: what `--payload` holds, changed by the other flags.
 * @throws {UsageError} for a flag that does not belong to the point, or a payload that is no JSON object
 */
export async function readPayload(point: CallPoint, args: Args, host: CliHost): Promise<Fields> {
  const stray = args.names.find((name) => name in PAYLOAD_OPTIONS && !FLAGS[point].includes(name));
  if (stray !== undefined) throw new UsageError(`--${stray} has no meaning at ${point}`);
  const file = args.get("payload");
  const base = file === undefined ? {} : await readObject(file, host);
  const isLlm = point === "before_llm" || point === "after_llm";
  const payload = { ...base, ...pick(args), ...(isLlm ? llmPart(point, base, args) : toolPart(base, args)) };
  const key = isLlm ? "model" : "tool";
  if (!(key in payload)) throw new UsageError(`${point} needs --${key} NAME, or a payload with "${key}"`);
  return payload;
}

function pick(args: Args): Fields {
  const given: Record<string, string> = {};
  for (const flag of ["tool", "model", "channel", "chat-id"]) {
    const value = args.get(flag);
    if (value !== undefined) given[flag.replace("-", "_")] = value;
  }
  return given;
}

function llmPart(point: "before_llm" | "after_llm", base: Fields, args: Args): Fields {
  const content = args.get("message");
  if (content === undefined) return {};
  if (point === "after_llm") return { response: { ...(isObject(base["response"]) ? base["response"] : {}), content } };
  const messages: readonly unknown[] = Array.isArray(base["messages"]) ? base["messages"] : [];
  return { messages: [...messages, { role: "user", content }] };
}

function toolPart(base: Fields, args: Args): Fields {
  const json = args.get("arguments");
  const whole = json === undefined ? undefined : toObject(json, "--arguments");
  const single = args.all("arg").map(toArgument);
  const result = args.get("result");
  const before = whole ?? (isObject(base["arguments"]) ? base["arguments"] : {});
  return {
    ...(whole === undefined && single.length === 0 ? {} : { arguments: { ...before, ...Object.fromEntries(single) } }),
    ...(result === undefined
      ? {}
      : { result: { ...(isObject(base["result"]) ? base["result"] : {}), for_llm: result } }),
  };
}

function toArgument(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at < 1)
    throw new UsageError("--arg: expected KEY=VALUE; for other values than strings there is --arguments JSON");
  return [text.slice(0, at), text.slice(at + 1)];
}

async function readObject(file: string, host: CliHost): Promise<Fields> {
  const text = file === "-" ? await host.readStdin() : await readFile(file, host);
  if (text === undefined) throw new UsageError(`--payload: there is no file ${file}`);
  return toObject(text, file === "-" ? "stdin" : file);
}

function toObject(text: string, source: string): Fields {
  const document = readJson(text);
  if ("fault" in document) {
    throw new UsageError(`${source}:${document.line}:${document.column} not JSON: ${document.fault}`);
  }
  if (!isObject(document.value)) throw new UsageError(`${source}: expected a JSON object`);
  return document.value;
}
