import { createGatewayClient, type GatewayApprovals, type GatewayFetch } from "../../src/client/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { clientOf, fetchOf, kindOf, open, URL_TEXT } from "./client-approvals-stage.ts";
import { casesOf } from "./fixture.ts";
import { openApprovalGateway } from "./gateway-approvals-stage.ts";
import { gatewayOf, tokenOf } from "./gateway-fixture.ts";

const SOURCE = "Human approvals, 3";

const json = { "content-type": "application/json" };

/** What is no answer, and the kind it is. */
const NO_ANSWERS: Readonly<Record<string, GatewayFetch>> = {
  unreachable: () => Promise.reject(new TypeError("fetch failed")),
  timeout: () => new Promise(() => {}),
  redirect: async () => new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
  content_type: async () => new Response("<html>", { headers: { "content-type": "text/html" } }),
  bad_json: async () => new Response("{", { headers: json }),
  bad_result: async () => new Response('{"id":"x","status":"approved"}', { headers: json }),
  too_large: async () => new Response(`"${"x".repeat(2000)}"`, { headers: json }),
  http_status: async () => new Response("oops", { status: 500 }),
  overloaded: async () => new Response("{}", { status: 503 }),
};

const echo: GatewayFetch = async (_url, { headers }) => {
  const error = { code: -32602, message: `bad ${headers["authorization"]}` };
  return new Response(JSON.stringify({ jsonrpc: "2.0", id: null, error }), { status: 400 });
};

/** Deciding and looking with the client. */
export const clientApprovalCases: readonly Case[] = casesOf(
  { topic: "client-approvals", source: SOURCE },
  {
    "approvals are listed, looked at, decided and taken back": async () => {
      const { people, pend, clock } = await open();
      const first = await pend({ n: 1 });
      clock.nowMs += 1;
      const second = await pend({ n: 2 });
      const page = await people.list({ status: "pending", limit: 1 });
      equal(
        page.approvals.map(({ id }) => id),
        [second],
      );
      const rest = await people.list({ status: "pending", limit: 1, cursor: page.next });
      equal([rest.approvals.map(({ id }) => id), rest.next], [[first], undefined]);
      const { call, arguments: shown } = await people.get(first);
      equal(shown, { n: 1 });
      const approved = await people.decide(first, { decision: "approve", scope: "hour", comment: "ok", call });
      equal([approved.status, approved.scope, approved.votes[0]?.comment], ["approved", "hour", "ok"]);
      equal(
        (await people.grants()).approvals.map(({ id }) => id),
        [first],
      );
      equal((await people.revoke(first)).status, "cancelled");
      equal((await people.grants()).approvals, []);
      equal((await people.cancel(second, { reason: "no more" })).ending?.reason, "no more");
    },
    "what is refused has a code of its own": async () => {
      const stage = await open({ approvers: ["ann"], expires_ms: 1000, denial_holds_ms: 0 });
      const { people, pend, decide, clock } = stage;
      const id = await pend();
      const yes = { decision: "approve" } as const;
      await rejects(people.get("nothing"), "ERR_NOT_FOUND");
      await rejects(people.get(""), "TypeError");
      await rejects(people.decide(id, yes), "ERR_FORBIDDEN");
      await rejects(people.decide(id, { ...yes, comment: "x".repeat(2001) }), "ERR_INVALID_PARAMS");
      await decide(id, "deny");
      await rejects(people.cancel(id), "ERR_CONFLICT");
      const late = await pend();
      clock.advance(1000);
      await rejects(people.cancel(late), "ERR_GONE");
      stage.store.isDown = true;
      equal(await kindOf(people.get(id)), "store_unavailable");
      equal(await kindOf(people.decide(id, yes)), "store_unavailable");
      await rejects(clientOf(fetchOf(await gatewayOf())).approvals.list(), "ERR_METHOD_NOT_FOUND");
    },
    "a token is told apart, sent to the gateway and in no error": async () => {
      const [ann, bot] = [await tokenOf("ann", "approve"), await tokenOf("bot", "call")];
      const { gateway, pend } = await openApprovalGateway({}, { auth: { tokens: [ann.known, bot.known] } });
      const id = await pend();
      const as = (token: string): GatewayApprovals => clientOf(fetchOf(gateway), { token }).approvals;
      equal((await as("secret-of-ann").decide(id, { decision: "deny" })).votes[0]?.by, "ann");
      equal((await as("secret-of-bot").get(id)).status, "denied");
      await rejects(as("secret-of-bot").list(), "ERR_FORBIDDEN");
      await rejects(as("secret-of-eve").get(id), "ERR_UNAUTHORIZED");
      const error: unknown = await clientOf(echo, { token: "s3cret" })
        .approvals.list()
        .catch((thrown: unknown) => thrown);
      ok(error instanceof Error && !error.message.includes("s3cret"), "the token shows");
    },
    "what is no answer says why, and decides nothing": async () => {
      for (const [kind, fetch] of Object.entries(NO_ANSWERS)) {
        const people = clientOf(fetch, { maxReplyBytes: 1000 }).approvals;
        equal(await kindOf(people.decide("x", { decision: "approve" }, { timeoutMs: 15 })), kind);
        equal(await kindOf(people.get("x", { timeoutMs: 15 })), kind);
      }
    },
    "calls are cut by their signal, and there are none after close": async () => {
      const client = clientOf(() => new Promise(() => {}));
      const gone = new AbortController();
      const call = client.approvals.list({ signal: gone.signal });
      gone.abort();
      await rejects(call, "ERR_ABORTED");
      await rejects(client.approvals.wait("x", { signal: gone.signal }), "ERR_ABORTED");
      await client.close();
      await rejects(client.approvals.list(), "ERR_CLOSED");
      await rejects(client.approvals.wait("x"), "ERR_CLOSED");
    },
    "a gateway may be below a path": async () => {
      const seen: string[] = [];
      const fetch: GatewayFetch = (url, { method }) => {
        seen.push(`${method} ${url}`);
        return Promise.reject(new Error("down"));
      };
      for (const url of ["https://g.example/base/rpc", "https://g.example/base", "https://g.example"]) {
        await kindOf(createGatewayClient({ url, fetch }).approvals.decide("a/b", { decision: "deny" }));
      }
      await kindOf(clientOf(fetch).approvals.revoke("x"));
      equal(seen, [
        "POST https://g.example/base/v1/approvals/a%2Fb/decision",
        "POST https://g.example/base/v1/approvals/a%2Fb/decision",
        "POST https://g.example/v1/approvals/a%2Fb/decision",
        `DELETE ${URL_TEXT}/v1/grants/x`,
      ]);
    },
  },
);
