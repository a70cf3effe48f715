import { type Case, equal, ok } from "./case.ts";
import { casesOf, countTimers } from "./fixture.ts";
import { openApprovalGateway, outcome, toApproval } from "./gateway-approvals-stage.ts";
import { requestOf } from "./gateway-fixture.ts";

const SOURCE = "Human approvals, 3";

/** Waiting for decisions over HTTP. */
export const approvalWaitCases: readonly Case[] = casesOf(
  { topic: "gateway-approval-wait", source: SOURCE },
  {
    "a request that waits is answered at once when people decide": async () => {
      const { at, pend, decide, clock } = await openApprovalGateway();
      const id = await pend();
      const timer = clock.nextTimer();
      const waiting = at(`/v1/approvals/${id}?wait=55`);
      await timer;
      equal([clock.running, clock.delays.at(-1)], [1, 55_000]);
      await decide(id, "deny");
      equal([outcome(await waiting), clock.running], [[200, "denied"], 0]);
      equal(outcome(await at(`/v1/approvals/${id}?wait=55`)), [200, "denied"]);
    },
    "it is answered that nobody has decided when its time is up": async () => {
      const { at, pend, clock } = await openApprovalGateway();
      const id = await pend();
      const timer = clock.nextTimer();
      const waiting = at(`/v1/approvals/${id}?wait=5`);
      await timer;
      clock.advance(5000);
      equal([outcome(await waiting), clock.running], [[200, "pending"], 0]);
    },
    "it ends with the time of the approval": async () => {
      const { at, pend, clock } = await openApprovalGateway({ expires_ms: 2000 });
      const id = await pend();
      const timer = clock.nextTimer();
      const waiting = at(`/v1/approvals/${id}?wait=55`);
      await timer;
      equal(clock.delays.at(-1), 2000);
      clock.advance(2000);
      equal(outcome(await waiting), [200, "expired"]);
    },
    "a client that leaves holds nothing": async () => {
      const { at, pend, clock } = await openApprovalGateway();
      const id = await pend();
      const gone = new AbortController();
      const timer = clock.nextTimer();
      const waiting = at(`/v1/approvals/${id}?wait=55`, { signal: gone.signal });
      await timer;
      gone.abort();
      await waiting;
      equal(clock.running, 0);
    },
    "a gateway that stops sends those who wait away, and takes no decision": async () => {
      const { at, send, pend, clock, gateway, approvals } = await openApprovalGateway();
      const id = await pend();
      const timer = clock.nextTimer();
      const waiting = at(`/v1/approvals/${id}?wait=55`);
      await timer;
      await gateway.drain(1000);
      equal([outcome(await waiting), clock.running], [[200, "pending"], 0]);
      equal((await send(`/v1/approvals/${id}/decision`, { decision: "approve" })).status, 503);
      equal((await at("/v1/approvals/events")).status, 503);
      equal((await approvals.get(id)).status, "pending");
    },
    "a wait leaves no timer of the platform behind": async () => {
      const { left } = await countTimers(async () => {
        const { at, pend, decide, clock } = await openApprovalGateway();
        const id = await pend();
        const timer = clock.nextTimer();
        const waiting = at(`/v1/approvals/${id}?wait=55`);
        await timer;
        await decide(id);
        await waiting;
      });
      equal(left, 0);
    },
  },
);

/** Reads a stream of server-sent events until it has said something. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, text: string): Promise<string> {
  const decoder = new TextDecoder();
  let seen = "";
  while (!seen.includes(text)) {
    const { value } = await reader.read();
    if (value === undefined) throw new Error(`the stream ended after ${seen}`);
    seen += decoder.decode(value, { stream: true });
  }
  return seen;
}

/** Hearing of approvals as they change. */
export const approvalStreamCases: readonly Case[] = casesOf(
  { topic: "gateway-approval-stream", source: SOURCE },
  {
    "who watches hears of questions and of what comes of them": async () => {
      const { gateway, pend, decide } = await openApprovalGateway();
      const response = await gateway.fetch(requestOf({ method: "GET", path: "/v1/approvals/events" }));
      equal([response.status, response.headers.get("content-type")], [200, "text/event-stream"]);
      const reader = response.body!.getReader();
      const id = await pend();
      const asked = /^event: approval\ndata: (.*)$/m.exec(await readUntil(reader, "event: approval"))?.[1];
      equal(toApproval(JSON.parse(asked ?? "{}")).id, id);
      await decide(id);
      ok((await readUntil(reader, '"approved"')).startsWith("event: approval\ndata: {"), "the event has another name");
      await reader.cancel();
    },
    "streams end with the gateway, and with their client": async () => {
      const { gateway } = await openApprovalGateway();
      const watch = (signal?: AbortSignal): Promise<Response> =>
        gateway.fetch(requestOf({ method: "GET", path: "/v1/approvals/events", ...(signal && { signal }) }));
      const gone = new AbortController();
      const [left, stays] = [await watch(gone.signal), await watch()];
      gone.abort();
      equal(await left.text(), "retry: 2000\n\n");
      await gateway.drain(1000);
      equal(await stays.text(), "retry: 2000\n\n");
    },
    "only so many watch at once": async () => {
      const { gateway } = await openApprovalGateway();
      const gone = new AbortController();
      const watch = (): Promise<Response> =>
        gateway.fetch(requestOf({ method: "GET", path: "/v1/approvals/events", signal: gone.signal }));
      const watching = [];
      for (let count = 0; count < 64; count += 1) watching.push(await watch());
      equal((await watch()).status, 503);
      gone.abort();
      for (const response of watching) await response.text();
      const another = requestOf({ method: "GET", path: "/v1/approvals/events" });
      const { status, body } = await gateway.fetch(another);
      equal(status, 200);
      await body?.cancel();
    },
    "a store that is down while somebody watches is a change that was missed": async () => {
      const stage = await openApprovalGateway();
      const { gateway, pend } = stage;
      const { body } = await gateway.fetch(requestOf({ method: "GET", path: "/v1/approvals/events" }));
      const reader = body!.getReader();
      stage.approvals.get = () => Promise.reject(new Error("it is down"));
      await pend();
      ok((await readUntil(reader, "missed")).includes("event: missed\ndata: {}\n\n"), "it is no event");
      await reader.cancel();
    },
  },
);
