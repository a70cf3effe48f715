import { afterEach, expect, test } from "vitest";
import { createNodeGatewayClient, serveGateway } from "../../../adapters/node/index.ts";
import { createGateway } from "../../../src/gateway/index.ts";
import { type HumanStage, openHumanStage } from "../../conformance/human-approval-stage.ts";

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Stage extends HumanStage {
  readonly url: string;
  pend(): Promise<string>;
}

/** A gateway that listens and asks people. */
async function open(): Promise<Stage> {
  const stage = await openHumanStage({ wait_ms: 0 });
  const { host, approvals } = stage;
  const listener = await serveGateway(createGateway({ host, hooks: () => host.hooks(), approvals }), { port: 0 });
  closing.push(() => listener.close());
  const pend = async (): Promise<string> => (await stage.ask()).approval?.id ?? "";
  return { ...stage, url: listener.url, pend };
}

test("a client that leaves ends its wait, and nothing of it stays", async () => {
  const { url, pend, clock } = await open();
  const id = await pend();
  const timer = clock.nextTimer();
  const gone = new AbortController();
  const waiting = fetch(`${url}/v1/approvals/${id}?wait=55`, { signal: gone.signal });
  await timer;
  expect(clock.running).toBe(1);
  gone.abort();
  await expect(waiting).rejects.toThrow("aborted");
  await expect.poll(() => clock.running).toBe(0);
});

test("a client that watches and leaves lets go of the store", async () => {
  const { url, pend, approvals } = await open();
  let listeners = 0;
  const subscribe = approvals.subscribe.bind(approvals);
  approvals.subscribe = async (listener) => {
    const stop = await subscribe(listener);
    listeners += 1;
    return () => {
      listeners -= 1;
      stop();
    };
  };
  const gone = new AbortController();
  const response = await fetch(`${url}/v1/approvals/events`, { signal: gone.signal });
  expect([response.status, listeners]).toEqual([200, 1]);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  await reader.read();
  await pend();
  expect((await reader.read()).value).toContain("event: approval\ndata: {");
  gone.abort();
  await expect.poll(() => listeners).toBe(0);
});

test("the client over undici waits, watches and decides", async () => {
  const { url, pend, clock } = await open();
  const client = createNodeGatewayClient({ url });
  closing.push(() => client.close());
  const id = await pend();
  const watching = client.approvals.watch()[Symbol.asyncIterator]();
  expect((await watching.next()).value).toMatchObject({ id, status: "pending" });
  const timer = clock.nextTimer();
  const waiting = client.approvals.wait(id);
  await timer;
  await client.approvals.decide(id, { decision: "approve" });
  expect(await waiting).toMatchObject({ id, status: "approved" });
  expect((await watching.next()).value).toMatchObject({ id, status: "approved" });
  await watching.return?.();
  expect((await client.approvals.list()).approvals).toHaveLength(1);
});
