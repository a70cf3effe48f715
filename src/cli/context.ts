import { nearestName } from "../config/index.ts";
import { readJson } from "../config/json.ts";
import { isHookgateError } from "../errors.ts";
import { type HostContext, LIFECYCLE_EVENTS, parseContext } from "../jcli/index.ts";
import { type Args, type OptionSpecs, UsageError } from "./args.ts";
import type { CliHost } from "./host.ts";
import { readFile } from "./load.ts";
import { isObject } from "../is-object.ts";
import { toLine } from "./text.ts";

/** The flags that make a context; each is a field of it. */
const FIELDS = {
  "user-input": "user_input",
  "assistant-output": "assistant_output",
  "system-prompt": "system_prompt",
  model: "model",
  tool: "tool_name",
  arguments: "tool_arguments",
  result: "tool_result",
  error: "tool_error",
  session: "session_id",
} as const;

/** The flags of `hookgate run` that make its context. */
export const CONTEXT_OPTIONS: OptionSpecs = {
  context: {
    value: "FILE",
    help: "The context as JSON, from a file or from stdin (-). Other flags change parts of it.",
  },
  "user-input": { value: "TEXT", help: "What the user says." },
  "assistant-output": { value: "TEXT", help: "What the model answered." },
  "system-prompt": { value: "TEXT", help: "The system prompt." },
  model: { value: "NAME", help: "The model's name." },
  tool: { value: "NAME", help: "The tool's name." },
  arguments: { value: "JSON", help: "The tool's arguments, as JSON text." },
  result: { value: "TEXT", help: "What the tool gave back." },
  error: { value: "TEXT", help: "How the tool failed." },
  message: { value: "TEXT", isRepeatable: true, help: "A message of the user, at the end of the conversation." },
  session: { value: "ID", help: "The session, whose own hooks are called too." },
};

/**
 * Makes the context of an event: what `--context` holds, changed by the other flags.
 * @throws {UsageError} when there is no such event, or it is no context
 */
export async function readContext(event: string | undefined, args: Args, host: CliHost): Promise<HostContext> {
  const file = args.get("context");
  const base = file === undefined ? {} : await readObject(file, host);
  const name = event ?? base["event"];
  if (typeof name !== "string") throw new UsageError(`which event? expected one of ${LIFECYCLE_EVENTS.join(", ")}`);
  if (!LIFECYCLE_EVENTS.some((known) => known === name)) {
    const nearest = nearestName(name, LIFECYCLE_EVENTS);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    throw new UsageError(`unknown event "${toLine(name)}"${hint} (expected one of ${LIFECYCLE_EVENTS.join(", ")})`);
  }
  const given = Object.entries(FIELDS).flatMap(([flag, field]) => {
    const value = args.get(flag);
    return value === undefined ? [] : [[field, value] as const];
  });
  const said = args.all("message").map((content) => ({ role: "user", content }));
  const before: readonly unknown[] = Array.isArray(base["messages"]) ? base["messages"] : [];
  const messages = said.length === 0 ? {} : { messages: [...before, ...said] };
  return parse({ ...base, event: name, ...Object.fromEntries(given), ...messages });
}

function parse(fields: object): HostContext {
  try {
    return parseContext(fields);
  } catch (error) {
    if (isHookgateError(error)) throw new UsageError(error.message.replaceAll("params.", ""));
    throw error;
  }
}

async function readObject(file: string, host: CliHost): Promise<Readonly<Record<string, unknown>>> {
  const text = file === "-" ? await host.readStdin() : await readFile(file, host);
  const source = file === "-" ? "stdin" : file;
  if (text === undefined) throw new UsageError(`--context: there is no file ${file}`);
  const document = readJson(text);
  if ("fault" in document) {
    throw new UsageError(`${source}:${document.line}:${document.column} not JSON: ${document.fault}`);
  }
  if (!isObject(document.value)) throw new UsageError(`${source}: expected a JSON object`);
  return document.value;
}
