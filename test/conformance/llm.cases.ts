import { CallScope } from "../../src/chain/index.ts";
import { isHookCallError } from "../../src/errors.ts";
import { createLlmTransport, type LlmTransportOptions } from "../../src/transport/llm.ts";
import { type Case, equal, ok } from "./case.ts";

const KEY = "sk-very-secret";

function llmCase(id: string, test: () => Promise<void>): Case {
  return { id: `llm/${id}`, source: "YAML hook system, section 5", run: test };
}

function completion(content: unknown, more: object = {}): Response {
  return Response.json({ choices: [{ message: { role: "assistant", content } }], ...more });
}

/** Asks once, through a fetch that answers from a list, and says what was sent and what came of it. */
async function ask(
  replies: readonly (Response | Error)[],
  options: Partial<LlmTransportOptions> = {},
): Promise<{ readonly sent: readonly RequestInit[]; readonly got: string; readonly detail: unknown }> {
  const sent: RequestInit[] = [];
  const transport = createLlmTransport({
    baseUrl: "https://models.example/v1",
    apiKey: KEY,
    model: "m",
    async fetch(url, init) {
      equal(url, "https://models.example/v1/chat/completions");
      sent.push(init);
      const reply = replies[sent.length - 1];
      if (reply instanceof Response) return reply;
      throw reply ?? new Error("asked too often");
    },
    ...options,
  });
  const scope = new CallScope(performance.now() + 1000, () => performance.now());
  const got = await transport({ prompt: "p" }, scope).catch((error: unknown) =>
    isHookCallError(error) && !error.message.includes(KEY) ? error.kind : String(error),
  );
  return { sent, got, detail: scope.noted?.detail };
}

function bodyOf(init: RequestInit | undefined): object {
  return JSON.parse(init?.body as string) as object;
}

/** Chat completions through whatever fetch the runtime has. */
export const llmCases: readonly Case[] = [
  llmCase("one-request-one-answer", async () => {
    const { sent, got, detail } = await ask([completion("{}", { usage: { total_tokens: 3, note: "x" } })]);
    const messages = [{ role: "user", content: "p" }];
    const body = { model: "m", messages, temperature: 0, stream: false, response_format: { type: "json_object" } };
    equal([got, detail, sent.length, bodyOf(sent[0])], ["{}", { usage: { total_tokens: 3 } }, 1, body]);
    const headers = new Headers(sent[0]?.headers);
    equal([headers.get("authorization"), headers.get("content-type")], [`Bearer ${KEY}`, "application/json"]);
    ok(sent[0]?.signal instanceof AbortSignal, "the deadline goes along");
  }),
  llmCase("json-mode-is-left-out-where-it-is-refused", async () => {
    const { sent, got } = await ask([new Response("no", { status: 400 }), completion("{}")]);
    equal([got, sent.map((init) => "response_format" in bodyOf(init))], ["{}", [true, false]]);
  }),
  llmCase("what-is-no-answer-is-no-verdict", async () => {
    const replies: readonly [Response | Error, string][] = [
      [new Response("no", { status: 429 }), "http_status"],
      [new Response("no", { status: 500 }), "http_status"],
      [new Response(null, { status: 307, headers: { location: "https://elsewhere.example" } }), "redirect"],
      [new Response(""), "bad_json"],
      [new Response("[]"), "bad_envelope"],
      [Response.json({}), "bad_envelope"],
      [completion(null), "bad_envelope"],
      [new Response("x".repeat(2000)), "too_large"],
      [new TypeError(`fetch failed for ${KEY}`), "unreachable"],
    ];
    for (const [reply, kind] of replies) equal((await ask([reply], { maxReplyBytes: 1000 })).got, kind);
  }),
];
