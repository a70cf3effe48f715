import { type Case, equal } from "./case.ts";
import { createFakeStage, FakeExchange, httpCase, kindOf, settle, toReply, toResult } from "./fake-exchange.ts";
import { createGate, managerOf } from "./fixture.ts";

/** A call as a request makes it that is torn down before its deadline: nothing of it ever runs again. */
const never = (remainingMs: number): { remainingMs: number; signal: AbortSignal; onAbort: () => void } => ({
  remainingMs,
  signal: new AbortController().signal,
  onAbort: () => {},
});

const scope = never(500);
const MESSAGE = { method: "hook.before_tool", params: "{}" };
const event = (name: number): { method: string; params: string } => ({ method: "hook.event", params: `{"n":${name}}` });

/** Where a platform ends a request without notice, as Workers do when the client is gone. */
export const tornDownCases: readonly Case[] = [
  httpCase("each-request-sends-its-own-events-on-its-own-wait-until", async () => {
    let request: object = {};
    const waiting: object[] = [];
    const { transport, exchange, clock } = createFakeStage({
      exchange: new FakeExchange(() => toReply("", { status: 202 })),
      currentRequest: () => request,
      waitUntil: () => waiting.push(request),
    });
    const [a, b] = [{}, {}];
    for (const [index, current] of [a, b, a, b].entries()) {
      request = current;
      await transport.notify(event(index), scope);
    }
    await clock.advance(250);
    equal(
      exchange.sent.map(({ batch }) => batch.map(({ params }) => params)),
      [
        [{ n: 0 }, { n: 2 }],
        [{ n: 1 }, { n: 3 }],
      ],
    );
    equal([waiting[0] === a, waiting[1] === b, waiting.length], [true, true, 2]);
    equal(transport.status().deliveredEvents, 4);
  }),
  httpCase("a-place-whose-call-is-long-past-its-deadline-is-taken-by-another", async () => {
    const exchange = new FakeExchange(() => "nothing");
    const { transport, call, clock } = createFakeStage({ exchange, maxConcurrency: 1, isolatesRequests: true });
    void transport.call(MESSAGE, never(5000)).catch(() => {});
    equal(await kindOf(call().result), "overloaded");
    await clock.advance(6001);
    exchange.answer = (request) => toResult(request);
    equal(await kindOf(call().result), "a result: {}");
  }),
  httpCase("a-trial-that-never-reports-keeps-the-circuit-open-only-until-its-deadline", async () => {
    const exchange = new FakeExchange(() => toReply("{"));
    const { transport, call, clock } = createFakeStage({ exchange });
    for (let index = 0; index < 5; index += 1) await kindOf(call().result);
    await clock.advance(10_000);
    exchange.answer = () => "nothing";
    void transport.call(MESSAGE, never(5000)).catch(() => {});
    await settle();
    await clock.advance(4999);
    equal(await kindOf(call().result), "circuit_open");
    await clock.advance(1);
    exchange.answer = (request) => toResult(request);
    equal([await kindOf(call().result), transport.status().circuitOpen], ["a result: {}", false]);
  }),
  {
    id: "queues/no-request-waits-for-the-events-of-another",
    source: "PicoClaw hook semantics, section 8; one request must not await what another one began",
    async run() {
      let request: object = {};
      const gate = createGate();
      const waiting: object[] = [];
      const kinds: string[] = [];
      const manager = await managerOf(
        {
          observer: {
            async onEvent({ Kind }) {
              kinds.push(Kind);
              if (Kind === "stuck") await gate.promise;
            },
          },
        },
        { currentRequest: () => request, waitUntil: () => waiting.push(request) },
      );
      const [a, b] = [{}, {}];
      request = a;
      manager.emit({ Kind: "stuck" });
      manager.emit({ Kind: "after" });
      request = b;
      manager.emit({ Kind: "mine" });
      await manager.flush(5000);
      equal(kinds, ["stuck", "mine"]);
      gate.open();
      request = a;
      await manager.flush(5000);
      equal(kinds, ["stuck", "mine", "after"]);
      equal(manager.hooks()[0]?.events, { delivered: 3, dropped: 0, failed: 0 });
      equal([waiting[0] === a, waiting[1] === b, waiting.length], [true, true, 2]);
    },
  },
];
