/**
 * A small chat bot on a terminal. Every step of a turn is asked of a hook gateway.
 *
 *   npm start                      in one terminal: the gateway
 *   npm run -s bot                 in another: this bot
 *
 * OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL: any OpenAI-compatible server. Without OPENAI_BASE_URL a scripted model
 * answers, which shows a rewritten argument, a denied tool and a tool that a hook brought along.
 * HOOKGATE_URL (default http://127.0.0.1:8787), HOOKGATE_TOKEN: the gateway. /pending lists the approvals that people are
 * asked for, /approve ID and /deny ID REASON decide one; that needs a token with scope approve, and HOOKGATE_APPROVER where
 * the token speaks for others. A tool call that waits for people goes on when they have decided, here or anywhere else.
 * BOT_STATE: a file in which the bot keeps what it needs to go on after a restart.
 *
 * In your own project: import { createNodeGatewayClient, runTurn } from "hookgate/node".
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  createNodeGatewayClient,
  type CallModel,
  type ExecuteTool,
  type GatewayClient,
  isHookgateError,
  type LlmRequest,
  type Message,
  type ModelResponse,
  resumeTurn,
  runTurn,
  type ToolDefinition,
  type ToolStep,
  toVisibleText,
  type Turn,
} from "../adapters/node/index.ts";

const MAX_ROUNDS = 8;
const { OPENAI_BASE_URL, OPENAI_API_KEY = "", OPENAI_MODEL = "gpt-4o-mini" } = process.env;
const { HOOKGATE_URL = "http://127.0.0.1:8787", HOOKGATE_TOKEN, HOOKGATE_APPROVER, BOT_STATE } = process.env;

const tools: readonly ToolDefinition[] = [
  tool("save_note", "Saves a note.", { text: { type: "string" } }),
  tool("clear_notes", "Throws all notes away.", {}),
  tool("bash", "Runs a shell command.", { command: { type: "string" } }),
];

/** What the bot knows, all of it JSON. */
interface State {
  readonly notes: string[];
  readonly history: Message[];
  /** What is kept of the turns that wait for people, by the id of the approval. */
  readonly waiting: Record<string, unknown>;
}

const state: State = load();
const { notes, history, waiting } = state;

const execute: ExecuteTool = async (call) => {
  if (call.tool === "save_note") {
    notes.push(String(call.arguments["text"]));
    return `Saved note ${notes.length}: ${notes.at(-1)}`;
  }
  if (call.tool === "clear_notes") return `Threw ${notes.splice(0).length} notes away.`;
  throw new Error(`this bot has no tool ${call.tool}`);
};

const callOpenAi: CallModel = async ({ model, messages, tools: offered, options }, { signal }) => {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ ...options, model, messages, tools: offered }),
    signal,
  });
  if (!response.ok) throw new Error(`the model server answered ${response.status}`);
  const { choices, usage } = (await response.json()) as OpenAiAnswer;
  const [choice] = choices;
  if (choice === undefined) throw new Error("the model server answered without a choice");
  return { ...choice.message, finish_reason: choice.finish_reason ?? "", ...(usage && { usage }) };
};

interface OpenAiAnswer {
  readonly choices: readonly { readonly message: ModelResponse; readonly finish_reason?: string }[];
  readonly usage?: { readonly [key: string]: unknown };
}

/** Stands in for a model: calls a tool for what the user asks, then says what came of it. */
const callScript: CallModel = async ({ messages = [], tools: offered = [] }: LlmRequest) => {
  const last = messages.at(-1);
  if (last?.role === "tool") return { content: `Done. ${String(last.content)}`, finish_reason: "stop" };
  const text = typeof last?.content === "string" ? last.content : "";
  const [word = "", ...rest] = text.split(" ");
  if (word === "note") return toolCall("save_note", { text: rest.join(" ") });
  if (word === "clear") return toolCall("clear_notes", {});
  if (word === "run") return toolCall("bash", { command: rest.join(" ") });
  if (word === "roll" && offered.some(({ function: { name } }) => name === "roll_dice")) {
    return toolCall("roll_dice", { sides: Number(rest[0] ?? 6) });
  }
  return { content: `I can: note TEXT, clear, run COMMAND, roll SIDES. You said: ${text}`, finish_reason: "stop" };
};

const callModel = OPENAI_BASE_URL === undefined ? callScript : callOpenAi;
const host = connect();
const ended = new AbortController();

/** One message of the user: model and tools in turn until the model has nothing more to call. */
async function answer(turn: Turn): Promise<string> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const request = { model: OPENAI_MODEL, messages: history, tools, options: {} };
    const step = await turn.llm(request, callModel);
    history.push(step.message);
    if (step.toolCalls.length === 0) return step.text;
    for (const call of step.toolCalls) {
      const done = await turn.tool(call, execute);
      history.push(done.message);
      show(done);
      keepWaiting(turn, done);
    }
  }
  return `I stopped after ${MAX_ROUNDS} rounds.`;
}

function show({ tool: name, status, message }: ToolStep): void {
  console.log(`  [${name}: ${status}] ${toVisibleText(String(message.content))}`);
}

/** A call that people are asked for waits with its turn, which is kept for as long as that takes. */
function keepWaiting(turn: Turn, step: ToolStep): void {
  if (step.status !== "pending") return;
  waiting[step.pending] = turn.suspended();
  console.log(`  /approve ${step.pending} or /deny ${step.pending} REASON`);
  save();
  void follow(step.pending);
}

/** Goes on with a call when people have decided, here or anywhere else. */
async function follow(id: string): Promise<void> {
  try {
    await host.approvals.wait(id, { signal: ended.signal });
  } catch (error) {
    if (ended.signal.aborted) return;
    // One that is gone is asked for anew; without the right to look there is no use in asking on.
    if (!isHookgateError(error) || error.code !== "ERR_NOT_FOUND") {
      console.log(`  approval ${id} is not followed: ${reasonOf(error)}`);
      return;
    }
  }
  await oneAfterTheOther(() => resume(id));
}

async function resume(id: string): Promise<void> {
  const kept = waiting[id];
  if (kept === undefined) return;
  delete waiting[id];
  const turn = resumeTurn(host, kept);
  try {
    const step = await turn.resume(id, execute);
    show(step);
    putResult(step);
    keepWaiting(turn, step);
    console.log(`bot> ${toVisibleText(await answer(turn))}`);
  } catch (error) {
    waiting[id] = kept;
    console.log(`bot> ${reasonOf(error)}`);
  } finally {
    turn.end();
    save();
  }
}

/** The result goes where the model was told that people are asked; the model is then asked again. */
function putResult({ tool: name, message }: ToolStep): void {
  const place = history.findLastIndex(({ tool_call_id: call }) => call === message.tool_call_id);
  if (place !== -1) history.splice(place, 1, message);
  const hasGoneOn = place === -1 || history.slice(place).some(({ role }) => role === "user");
  if (hasGoneOn)
    history.push({ role: "user", content: `(${name}, which had to wait, said: ${String(message.content)})` });
  else if (history.at(-1)?.role === "assistant") history.pop();
}

/** What people say to the bot itself. */
async function command(line: string): Promise<void> {
  const [word, id = "", ...rest] = line.trim().split(/\s+/);
  const by = HOOKGATE_APPROVER === undefined ? {} : { by: HOOKGATE_APPROVER };
  if (word === "/pending") {
    const { approvals } = await host.approvals.list({ status: "pending" });
    for (const { id: pending, tool: name, arguments: given, expires, reason } of approvals) {
      console.log(`  ${pending} ${toVisibleText(`${name} ${JSON.stringify(given)}: ${reason}`)} (until ${expires})`);
    }
    if (approvals.length === 0) console.log("  nothing is pending");
  } else if ((word === "/approve" || word === "/deny") && id !== "") {
    const comment = rest.length === 0 ? {} : { comment: rest.join(" ") };
    const decision = word === "/approve" ? "approve" : "deny";
    const { status } = await host.approvals.decide(id, { decision, ...by, ...comment });
    console.log(`  approval ${id} is ${status}`);
  } else {
    console.log("  commands: /pending, /approve ID, /deny ID REASON");
  }
}

let last: Promise<void> = Promise.resolve();

/** Turns change the same conversation: one goes after the other. */
function oneAfterTheOther(work: () => Promise<void>): Promise<void> {
  last = last.then(work);
  return last;
}

function load(): State {
  if (BOT_STATE === undefined || !existsSync(BOT_STATE)) return { notes: [], history: [], waiting: {} };
  return JSON.parse(readFileSync(BOT_STATE, "utf8")) as State;
}

function save(): void {
  if (BOT_STATE !== undefined) writeFileSync(BOT_STATE, JSON.stringify(state));
}

function reasonOf(error: unknown): string {
  return isHookgateError(error) || error instanceof Error ? error.message : String(error);
}

function connect(): GatewayClient {
  try {
    return createNodeGatewayClient({
      url: HOOKGATE_URL,
      ...(HOOKGATE_TOKEN !== undefined && { token: HOOKGATE_TOKEN }),
    });
  } catch (error) {
    console.error(`HOOKGATE_URL or HOOKGATE_TOKEN: ${error instanceof Error ? error.message : String(error)}`);
    return process.exit(1);
  }
}

function tool(name: string, description: string, properties: object): ToolDefinition {
  return { type: "function", function: { name, description, parameters: { type: "object", properties } } };
}

function toolCall(name: string, args: object): ModelResponse {
  const call = { id: crypto.randomUUID(), type: "function", function: { name, arguments: JSON.stringify(args) } };
  return { content: "", tool_calls: [call], finish_reason: "tool_calls" };
}

console.log(`Hooks are asked at ${HOOKGATE_URL}. Type a message; an empty line ends.`);
const ask = (): boolean => process.stdout.write("you> ");

async function chat(line: string): Promise<void> {
  const before = history.length;
  history.push({ role: "user", content: line });
  const rollback = (): void => void history.splice(before);
  const options = { channel: "terminal", chatId: "local", userMessage: line, rollback };
  console.log(`bot> ${await runTurn(host, options, answer)}`);
}

const lines = createInterface({ input: process.stdin });
for (const id of Object.keys(waiting)) void follow(id);
ask();
for await (const line of lines) {
  if (line.trim() === "") break;
  await oneAfterTheOther(async () => {
    try {
      await (line.startsWith("/") ? command(line) : chat(line));
    } catch (error) {
      console.log(`bot> ${reasonOf(error)}`);
    }
    save();
  });
  ask();
}
lines.close();
ended.abort();
await last;
await host.flush(1000);
await host.close();
