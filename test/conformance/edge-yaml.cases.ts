import { createEdgeGateway, type EdgeGateway } from "../../src/gateway/edge.ts";
import { createHookEndpoint } from "../../src/endpoint/index.ts";
import { defineHook } from "../../src/picoclaw/index.ts";
import { createFetchExchange } from "../../src/transport/fetch-exchange.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { callText, requestOf, resultOf, toAnswer } from "./gateway-fixture.ts";

const SECRET = "a secret of at least thirty-two bytes";
const HOOK_URL = "https://hooks.example.com/hook";
const BASE_URL = "https://models.example.com/v1";

const endpoint = createHookEndpoint(
  defineHook({ lifecycle: { stop: ({ user_input }) => ({ retry_feedback: `${user_input}?` }) } }),
  { name: "guard", url: HOOK_URL, gateway: "hookgate", secret: SECRET },
);

/** The network: one endpoint and one model. */
async function send(url: string, init: RequestInit): Promise<Response> {
  if (url === HOOK_URL) return endpoint.fetch(new Request(url, init));
  ok(url === `${BASE_URL}/chat/completions`, url);
  return Response.json({ choices: [{ message: { content: '{"user_input":"better"}' } }] });
}

function edgeOf(hooksYaml: string): EdgeGateway {
  const connection = { exchange: createFetchExchange({ fetch: send }), fetch: send };
  return createEdgeGateway({
    config: { hooks: {}, yaml: { llm: { base_url: BASE_URL, model: "m" } } },
    configName: "CONFIG",
    env: { HOOK_SECRET: SECRET },
    isLocal: true,
    ports: { connect: () => connection, allowAddress: false },
    hooksYaml,
    fetch: send,
  });
}

async function run(edge: EdgeGateway, context: object): Promise<unknown> {
  const response = await edge.fetch(requestOf({ body: callText("hook.run", context) }));
  return resultOf((await toAnswer(response)).json);
}

const FILE = `
pre_send_message:
  - type: llm
    prompt: "Look at {{user_input}}"
stop:
  - type: http
    url: ${HOOK_URL}
    endpoint: guard
    secret: "\${env:HOOK_SECRET}"
`;

/** A hook file that is bundled with a gateway on the edge. */
export const edgeYamlCases: readonly Case[] = casesOf(
  { topic: "edge-yaml", source: "YAML hook system, section 1, Extension" },
  {
    "hooks-of-type-llm-and-http-run": async () => {
      const edge = edgeOf(FILE);
      const sent = await run(edge, { event: "pre_send_message", user_input: "x" });
      equal(sent, { user_input: "better", halted: false });
      equal(await run(edge, { event: "stop", user_input: "x" }), { retry_feedback: "x?", halted: false });
    },
    "bash-is-refused-by-name-and-line": async () => {
      const response = await edgeOf(`${FILE}  - command: echo\n`).fetch(requestOf({ body: callText("hook.run", {}) }));
      const { status, text } = await toAnswer(response);
      equal(status, 500);
      ok(text.includes("hooks.yaml:10:5") && text.includes("stop[1].type: bash hooks cannot run here"), text);
    },
  },
);
