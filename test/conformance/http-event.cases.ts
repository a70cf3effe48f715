import { type Case, equal, ok } from "./case.ts";
import {
  createFakeStage,
  FakeExchange,
  GREETING,
  httpCase,
  kindOf,
  reset,
  type SentRequest,
  settle,
  toReply,
  toResult,
  UUID_V7,
} from "./fake-exchange.ts";

const event = (name: number): { method: string; params: string } => ({ method: "hook.event", params: `{"n":${name}}` });
const delivered = (status: number) => (): ReturnType<typeof toReply> => toReply("", { status });
const scope = { remainingMs: 500, signal: new AbortController().signal, onAbort: (): void => {} };

function numbersOf(requests: readonly SentRequest[]): readonly unknown[] {
  return requests.map(({ batch }) => batch.map(({ params }) => (params as { readonly n: number }).n));
}

/** How events go out. */
export const httpEventCases: readonly Case[] = [
  httpCase("events-of-a-quarter-second-go-out-as-one-batch", async () => {
    const { transport, exchange, clock } = createFakeStage({ exchange: new FakeExchange(delivered(202)) });
    for (const name of [1, 2, 3]) await transport.notify(event(name), scope);
    await clock.advance(249);
    equal(exchange.sent.length, 0);
    await clock.advance(1);
    equal(numbersOf(exchange.sent), [[1, 2, 3]]);
    equal(exchange.sent[0]?.batch[0], { method: "hook.event", params: { n: 1 } });
    ok(UUID_V7.test(exchange.sent[0]?.headers["idempotency-key"] ?? ""), "a batch has no id of its own");
    const { deliveredEvents, droppedEvents } = transport.status();
    equal([deliveredEvents, droppedEvents, clock.armed], [3, 0, 0]);
  }),
  httpCase("sixty-four-events-do-not-wait", async () => {
    const { transport, exchange, clock } = createFakeStage({ exchange: new FakeExchange(delivered(204)) });
    for (let name = 0; name < 70; name += 1) await transport.notify(event(name), scope);
    await settle();
    equal(
      exchange.sent.map(({ batch }) => batch.length),
      [64],
    );
    await clock.advance(250);
    equal(
      exchange.sent.map(({ batch }) => batch.length),
      [64, 6],
    );
    equal(
      numbersOf(exchange.sent).flat(),
      Array.from({ length: 70 }, (_, index) => index),
    );
  }),
  httpCase("a-batch-is-retried-twice-with-the-same-id-and-then-dropped-and-counted", async () => {
    const { transport, exchange, clock } = createFakeStage({ exchange: new FakeExchange(delivered(500)) });
    await transport.notify(event(1), scope);
    await clock.advance(5000);
    equal(exchange.sent.length, 3);
    equal(new Set(exchange.sent.map(({ headers }) => headers["idempotency-key"])).size, 1);
    equal([transport.status().deliveredEvents, transport.status().droppedEvents], [0, 1]);
    exchange.answer = delivered(200);
    await transport.notify(event(2), scope);
    await clock.advance(250);
    equal([transport.status().deliveredEvents, transport.status().droppedEvents, clock.armed], [1, 1, 0]);
  }),
  httpCase("a-batch-that-is-refused-is-not-repeated", async () => {
    for (const status of [301, 400, 401, 404, 413]) {
      const { transport, exchange, clock } = createFakeStage({ exchange: new FakeExchange(delivered(status)) });
      await transport.notify(event(1), scope);
      await clock.advance(5000);
      equal([status, exchange.sent.length, transport.status().droppedEvents], [status, 1, 1]);
    }
  }),
  httpCase("a-batch-that-is-not-answered-is-given-up", async () => {
    const { transport, exchange, clock } = createFakeStage({ exchange: new FakeExchange(() => "nothing") });
    await transport.notify(event(1), scope);
    await clock.advance(20_000);
    equal([exchange.sent.length, transport.status().droppedEvents, clock.armed], [3, 1, 0]);
  }),
  httpCase("events-never-hold-a-call-and-never-open-the-circuit", async () => {
    const exchange = new FakeExchange((request) => (request.message.method === "batch" ? reset() : toResult(request)));
    const { transport, clock, call } = createFakeStage({ exchange, maxConcurrency: 1 });
    for (let name = 0; name < 10; name += 1) {
      await transport.notify(event(name), scope);
      await clock.advance(1000);
    }
    equal([transport.status().circuitOpen, await call().result], [false, {}]);
  }),
  httpCase("too-many-events-are-refused-and-counted", async () => {
    const { transport } = createFakeStage({ exchange: new FakeExchange(() => "nothing") });
    const kinds: string[] = [];
    for (let name = 0; name < 1200; name += 1) kinds.push(await kindOf(transport.notify(event(name), scope)));
    const refusals = kinds.filter((kind) => kind === "overloaded").length;
    // One batch is on its way, 1024 events wait.
    equal([refusals, transport.status().droppedEvents], [1200 - 1024 - 64, 1200 - 1024 - 64]);
  }),
  httpCase("an-endpoint-is-greeted-before-its-first-events", async () => {
    const { transport, exchange, clock } = createFakeStage({ greeting: GREETING });
    await transport.notify(event(1), scope);
    await clock.advance(250);
    equal(exchange.methods, ["hook.hello", "batch"]);
  }),
  httpCase("the-host-is-told-of-the-work-that-goes-on", async () => {
    const works: Promise<void>[] = [];
    const { transport, clock } = createFakeStage({
      exchange: new FakeExchange(delivered(200)),
      waitUntil: (work) => void works.push(work),
    });
    await transport.notify(event(1), scope);
    await transport.notify(event(2), scope);
    equal(works.length, 1);
    await clock.advance(250);
    await works[0];
    equal(transport.status().deliveredEvents, 2);
  }),
  httpCase("closing-sends-what-waits-and-ends-calls-to-come", async () => {
    const { transport, exchange, call, clock } = createFakeStage({ exchange: new FakeExchange(delivered(200)) });
    await transport.notify(event(1), scope);
    await transport.close();
    await transport.close();
    equal([numbersOf(exchange.sent), exchange.isClosed, clock.armed], [[[1]], true, 0]);
    equal(transport.status().state, "closed");
    equal(
      [await kindOf(call().result), await kindOf(transport.notify(event(2), scope))],
      ["not_running", "not_running"],
    );
  }),
];
