import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLlmPort, LifecycleManager, type LifecycleOutcome, readHookFile } from "../../src/jcli/index.ts";
import { createLlmTransport, type LlmTransportOptions, readLlmProvider } from "../../src/transport/llm.ts";

interface Asked {
  readonly path: string | undefined;
  readonly key: string | undefined;
  readonly body: {
    readonly model: string;
    readonly temperature: number;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly response_format?: object;
  };
}

type Answer = (response: ServerResponse, asked: Asked) => void;

const KEY = "sk-very-secret";
const FENCE = "```";

let server: Server;
let base = "";
let asked: Asked[] = [];
let answer: Answer;

async function readBody(request: IncomingMessage): Promise<Asked["body"]> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as Asked["body"];
}

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const question = { path: request.url, key: request.headers.authorization, body };
      asked.push(question);
      answer(response, question);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A chat completion with this text. */
function says(content: unknown, more: object = {}): Answer {
  return (response) => {
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }], ...more }),
    );
  };
}

function status(code: number): Answer {
  return (response) => {
    response.statusCode = code;
    response.end(JSON.stringify({ error: { message: `no, and your key is ${KEY}` } }));
  };
}

type Hook = Readonly<Record<string, unknown>>;

function managerOf(hook: Hook, options: Partial<LlmTransportOptions> = {}): LifecycleManager {
  const ask = createLlmTransport({ baseUrl: base, apiKey: KEY, model: "small", fetch, ...options });
  const manager = new LifecycleManager({ ports: { llm: createLlmPort(ask) }, cwd: "/work" });
  const file = readHookFile(
    JSON.stringify({ post_llm_response: [{ type: "llm", prompt: "Check: {{assistant_output}}", ...hook }] }),
  );
  expect(file.problems).toEqual([]);
  manager.load("user", file.hooks);
  return manager;
}

function run(hook: Hook = {}, options: Partial<LlmTransportOptions> = {}): Promise<LifecycleOutcome> {
  return managerOf(hook, options).run({
    event: "post_llm_response",
    assistant_output: "hello {{model}}",
    model: "big",
  });
}

describe("an llm hook", () => {
  test("asks one chat completion and reads a result", async () => {
    answer = says('{"assistant_output":"better"}', {
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, secret: "x" },
    });
    const { result, trace } = await run();
    expect(result).toEqual({ assistant_output: "better" });
    expect(trace.records).toMatchObject([
      { outcome: "modify", detail: { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } } },
    ]);
    expect(asked).toHaveLength(1);
    const [question] = asked;
    expect(question).toMatchObject({
      path: "/v1/chat/completions",
      key: `Bearer ${KEY}`,
      body: { model: "small", temperature: 0, response_format: { type: "json_object" } },
    });
    expect(question?.body.messages).toHaveLength(1);
    expect(question?.body.messages[0]?.content).toMatch(/^Check: hello \{\{model\}\}\n\nAnswer with one JSON object/);
  });

  test("asks the model it names", async () => {
    answer = says("{}");
    await run({ model: "other" });
    expect(asked[0]?.body.model).toBe("other");
  });

  test.each([
    ["{}", {}],
    [`${FENCE}json\n{"action":"stop","retry_feedback":"x"}\n${FENCE}`, { action: "stop", retry_feedback: "x" }],
    ['Sure! {"retry_feedback":"x"} Anything else?', { retry_feedback: "x" }],
    ['{"retry_feedback":"a"}\n{"retry_feedback":"b"}', { retry_feedback: "b" }],
  ])("reads %s", async (content, result) => {
    answer = says(content);
    expect((await run()).result).toEqual(result);
  });

  test.each<[string, Answer, string]>([
    ["prose", says("Looks fine to me."), "bad_json"],
    ["an empty string", says(""), "bad_json"],
    ["half an object", says('{"action":"st'), "bad_json"],
    ["a field of the wrong type", says('{"assistant_output":5}'), "bad_result"],
    ["another action", says('{"action":"abort"}'), "unsupported_action"],
    [
      "an answer that was cut short",
      says("{} {", { choices: [{ message: { content: "{}" }, finish_reason: "length" }] }),
      "bad_result",
    ],
    ["no text", says(null), "bad_envelope"],
    ["no choices", says("{}", { choices: [] }), "bad_envelope"],
    ["an array", (response) => response.end("[]"), "bad_envelope"],
    ["a page of HTML", (response) => response.end("<html>"), "bad_json"],
    ["nothing", (response) => response.end(), "bad_json"],
    [
      "a stream of nothing",
      (response) => response.setHeader("content-type", "text/event-stream").end("data: [DONE]\n\n"),
      "bad_json",
    ],
    ["401", status(401), "http_status"],
    ["429", status(429), "http_status"],
    ["500", status(500), "http_status"],
    ["400 to everything", status(400), "http_status"],
    ["a redirect", (response) => response.writeHead(302, { location: "/v1/elsewhere" }).end(), "redirect"],
    ["a broken connection", (response) => response.destroy(), "unreachable"],
    [
      "a reply that is broken off",
      (response) => response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy()),
      "unreachable",
    ],
    ["a reply that is too long", (response) => response.end(" ".repeat(5000)), "too_large"],
  ])("fails, is retried once, and tells no secret: %s", async (_name, wrong, kind) => {
    answer = wrong;
    const { result, trace } = await run({}, { maxReplyBytes: 4096 });
    expect(result).toEqual({});
    expect(trace.records.map((record) => record.kind)).toEqual([kind, kind]);
    expect(JSON.stringify(trace)).not.toContain(KEY);
    expect(asked.every(({ path }) => path === "/v1/chat/completions")).toBe(true);
  });

  test("that fails under on_error: abort stops", async () => {
    answer = status(500);
    expect((await run({ on_error: "abort", retry: 0 })).result).toEqual({ action: "stop" });
    expect(asked).toHaveLength(1);
  });

  test("succeeds at the second attempt", async () => {
    answer = (response, question) =>
      (asked.length === 1 ? status(503) : says('{"assistant_output":"ok"}'))(response, question);
    const { result, trace } = await run();
    expect(result).toEqual({ assistant_output: "ok" });
    expect(trace.records.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test("records what a failed attempt cost", async () => {
    answer = says("prose", { usage: { total_tokens: 7 } });
    const { trace } = await run({ retry: 0 });
    expect(trace.records).toMatchObject([{ kind: "bad_json", detail: { usage: { total_tokens: 7 } } }]);
  });

  test("is cut at its deadline, and the request with it", async () => {
    const cut = new Promise<string>((resolve) => {
      answer = (response) => {
        response.writeHead(200).write(" ");
        response.on("close", () => resolve("cut"));
      };
    });
    const { trace } = await run({ timeout: 0.1, retry: 0 });
    expect(trace.records.map(({ kind }) => kind)).toEqual(["timeout"]);
    expect(await cut).toBe("cut");
  });

  test("leaves JSON mode out for good once the server has refused it", async () => {
    answer = (response, question) =>
      (question.body.response_format === undefined ? says("{}") : status(400))(response, question);
    const manager = managerOf({});
    for (let turn = 0; turn < 2; turn += 1) {
      const { trace } = await manager.run({ event: "post_llm_response", assistant_output: "x" });
      expect(trace.records).toMatchObject([{ outcome: "continue", attempt: 1 }]);
    }
    expect(asked.map(({ body }) => body.response_format !== undefined)).toEqual([true, false, false]);
  });

  test("whose prompt is too long is not sent", async () => {
    const { trace } = await run({}, { maxPromptChars: 100 });
    expect(trace.records.map(({ kind }) => kind)).toEqual(["too_large", "too_large"]);
    expect(asked).toEqual([]);
  });

  test("without a server is unreachable", async () => {
    const { trace } = await run({}, { baseUrl: "http://127.0.0.1:1/v1" });
    expect(trace.records.map(({ kind }) => kind)).toEqual(["unreachable", "unreachable"]);
  });
});

describe("a provider", () => {
  test("needs no key, and may have slashes and a query in its URL", async () => {
    answer = says("{}");
    await run({}, { apiKey: undefined, baseUrl: `${base}//?api-version=1#x` });
    expect(asked[0]).toMatchObject({ path: "/v1/chat/completions?api-version=1" });
    expect(asked[0]?.key).toBeUndefined();
  });

  test("comes from the environment", () => {
    const all = { HOOKGATE_LLM_BASE_URL: "http://x/v1", HOOKGATE_LLM_API_KEY: "k", HOOKGATE_LLM_MODEL: "m" };
    expect(readLlmProvider(all)).toEqual({ baseUrl: "http://x/v1", apiKey: "k", model: "m" });
    expect(readLlmProvider({ ...all, HOOKGATE_LLM_API_KEY: "" })).toEqual({ baseUrl: "http://x/v1", model: "m" });
    expect(readLlmProvider({ ...all, HOOKGATE_LLM_MODEL: undefined })).toBeUndefined();
    expect(readLlmProvider({})).toBeUndefined();
  });

  test.each([
    [{ baseUrl: "ftp://x" }, TypeError],
    [{ baseUrl: "nonsense" }, TypeError],
    [{ baseUrl: "http://user:s3cret@x/v1" }, TypeError],
    [{ model: "" }, TypeError],
    [{ apiKey: "a b" }, TypeError],
    [{ apiKey: "a\nb" }, TypeError],
    [{ maxReplyBytes: 0 }, RangeError],
    [{ maxPromptChars: 1.5 }, RangeError],
  ])("%j is refused", (wrong, error) => {
    const make = (): unknown => createLlmTransport({ baseUrl: "http://x/v1", model: "m", fetch, ...wrong });
    expect(make).toThrow(error);
    expect(make).not.toThrow(/a b|s3cret/);
  });
});
