/**
 * A small chat bot on a terminal. Every step of a turn is asked of a hook gateway.
 *
 *   npm start                      in one terminal: the gateway
 *   npm run -s bot                 in another: this bot
 *
 * OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL: any OpenAI-compatible server. Without OPENAI_BASE_URL a scripted model
 * answers, which shows a rewritten argument, a denied tool and a tool that a hook brought along.
 * HOOKGATE_URL (default http://127.0.0.1:8787), HOOKGATE_TOKEN: the gateway.
 *
 * In your own project: import { createNodeGatewayClient, runTurn } from "hookgate/node".
 */
import { createInterface } from "node:readline";
import {
  createNodeGatewayClient,
  type CallModel,
  type ExecuteTool,
  type HookHost,
  isHookgateError,
  type LlmRequest,
  type Message,
  type ModelResponse,
  runTurn,
  type ToolDefinition,
  type Turn,
} from "../adapters/node/index.ts";

const MAX_ROUNDS = 8;
const { OPENAI_BASE_URL, OPENAI_API_KEY = "", OPENAI_MODEL = "gpt-4o-mini" } = process.env;
const { HOOKGATE_URL = "http://127.0.0.1:8787", HOOKGATE_TOKEN } = process.env;

const tools: readonly ToolDefinition[] = [
  tool("save_note", "Saves a note.", { text: { type: "string" } }),
  tool("bash", "Runs a shell command.", { command: { type: "string" } }),
];
const notes: string[] = [];

const execute: ExecuteTool = async (call) => {
  if (call.tool === "save_note") {
    notes.push(String(call.arguments["text"]));
    return `Saved note ${notes.length}: ${notes.at(-1)}`;
  }
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
  if (word === "run") return toolCall("bash", { command: rest.join(" ") });
  if (word === "roll" && offered.some(({ function: { name } }) => name === "roll_dice")) {
    return toolCall("roll_dice", { sides: Number(rest[0] ?? 6) });
  }
  return { content: `I can: note TEXT, run COMMAND, roll SIDES. You said: ${text}`, finish_reason: "stop" };
};

const callModel = OPENAI_BASE_URL === undefined ? callScript : callOpenAi;
const host = connect();
const history: Message[] = [];

/** One message of the user: model and tools in turn until the model has nothing more to call. */
async function answer(turn: Turn): Promise<string> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const request = { model: OPENAI_MODEL, messages: history, tools, options: {} };
    const step = await turn.llm(request, callModel);
    history.push(step.message);
    if (step.toolCalls.length === 0) return step.text;
    for (const call of step.toolCalls) {
      const { status, message, tool: name } = await turn.tool(call, execute);
      history.push(message);
      console.log(`  [${name}: ${status}] ${String(message.content)}`);
    }
  }
  return `I stopped after ${MAX_ROUNDS} rounds.`;
}

function connect(): HookHost {
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
const lines = createInterface({ input: process.stdin });
ask();
for await (const line of lines) {
  if (line.trim() === "") break;
  const before = history.length;
  history.push({ role: "user", content: line });
  const rollback = (): void => void history.splice(before);
  try {
    const options = { channel: "terminal", chatId: "local", userMessage: line, rollback };
    console.log(`bot> ${await runTurn(host, options, answer)}`);
  } catch (error) {
    console.log(`bot> ${isHookgateError(error) || error instanceof Error ? error.message : String(error)}`);
  }
  ask();
}
lines.close();
await host.flush(1000);
await host.close();
