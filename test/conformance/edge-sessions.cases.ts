import { createMemoryApprovalStore } from "../../src/approvals/index.ts";
import { HookgateError } from "../../src/errors.ts";
import { createEdgeGateway, type EdgeGateway } from "../../src/gateway/edge.ts";
import { createMemorySessionStore, type SessionHookStore } from "../../src/jcli/index.ts";
import { type Case, equal } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { callText, requestOf, resultOf, toAnswer } from "./gateway-fixture.ts";

const BASE_URL = "https://models.example.com/v1";

/** The network: a model that wants more. */
async function send(): Promise<Response> {
  return Response.json({ choices: [{ message: { content: '{"retry_feedback":"more"}' } }] });
}

/** Gateways as isolates have them, on one store that can be down. */
function createIsolates(): { readonly isolate: () => EdgeGateway; readonly setDown: (isDown: boolean) => void } {
  const kept = createMemorySessionStore();
  let isDown = false;
  const reach = <T>(work: () => Promise<T>): Promise<T> =>
    isDown ? Promise.reject(new HookgateError("ERR_STORE_UNAVAILABLE", "the store is down")) : work();
  const sessionHooks: SessionHookStore = {
    name: "test",
    maxAgeMs: 0,
    get: (session) => reach(() => kept.get(session)),
    replace: (given) => reach(() => kept.replace(given)),
    subscribe: () => () => {},
  };
  return {
    setDown: (value) => void (isDown = value),
    isolate: () =>
      createEdgeGateway({
        config: {
          hooks: {},
          yaml: { llm: { base_url: BASE_URL, model: "m" } },
          approvals: { store: "durable_object:A" },
        },
        configName: "CONFIG",
        env: {},
        isLocal: true,
        ports: { platform: { isolatesRequests: true } },
        fetch: send,
        approvals: {
          stores: ["durable_object"],
          open: () => Object.assign(createMemoryApprovalStore(), { sessionHooks }),
        },
      }),
  };
}

async function run(edge: EdgeGateway, params: object): Promise<unknown> {
  return resultOf((await toAnswer(await edge.fetch(requestOf({ body: callText("hook.run", params) })))).json);
}

async function change(edge: EdgeGateway, method: string, body?: object): Promise<number> {
  const headers = { "content-type": "application/json", host: "localhost" };
  const text = body && JSON.stringify(body);
  const request = new Request("http://localhost/v1/session-hooks/s", { method, headers, ...(text && { body: text }) });
  return (await edge.fetch(request, { remoteAddress: "127.0.0.1" })).status;
}

const stop = { event: "stop", session_id: "s" };
const hook = { event: "stop", type: "llm", prompt: "x" };

/** The hooks of sessions of a gateway on the edge. */
export const edgeSessionCases: readonly Case[] = casesOf(
  { topic: "edge-sessions", source: "docs/yaml.md, Hooks of a session" },
  {
    "what one isolate registers another runs": async () => {
      const { isolate } = createIsolates();
      const [a, b] = [isolate(), isolate()];
      equal(await run(b, stop), { halted: false });
      equal(await change(a, "POST", hook), 201);
      equal(await run(b, stop), { retry_feedback: "more", halted: false });
      equal(await run(isolate(), stop), { retry_feedback: "more", halted: false });
      equal(await change(b, "DELETE"), 200);
      equal(await run(a, stop), { halted: false });
    },
    "without the store nothing is registered, and what is not known goes on without its hooks": async () => {
      const { isolate, setDown } = createIsolates();
      const [a, b] = [isolate(), isolate()];
      equal(await change(a, "POST", hook), 201);
      setDown(true);
      equal(await change(b, "POST", hook), 503);
      equal(await run(a, stop), { retry_feedback: "more", halted: false });
      equal(await run(b, { event: "pre_tool_execution", session_id: "s" }), { halted: false });
      setDown(false);
      equal(await run(b, stop), { retry_feedback: "more", halted: false });
    },
  },
);
