import { HookCallError, HookgateError } from "../../src/errors.ts";
import { type Case, equal, ok } from "./case.ts";
import {
  createFakeStage,
  FakeExchange,
  httpCase,
  kindOf,
  settle,
  thrownBy,
  toReply,
  toResult,
} from "./fake-exchange.ts";

const circuitCases: readonly Case[] = [
  httpCase("five-no-verdicts-in-a-row-open-the-circuit", async () => {
    const { call, exchange, transport } = createFakeStage({ exchange: new FakeExchange(() => toReply("{")) });
    for (let index = 0; index < 5; index += 1) equal(await kindOf(call().result), "bad_json");
    equal(await kindOf(call().result), "circuit_open");
    equal([exchange.sent.length, transport.status().circuitOpen, transport.status().state], [5, true, "backing_off"]);
  }),
  httpCase("a-verdict-in-between-starts-the-count-again", async () => {
    const exchange = new FakeExchange((request, index) => (index === 4 ? toResult(request) : toReply("{")));
    const { call } = createFakeStage({ exchange });
    for (let index = 0; index < 9; index += 1) await kindOf(call().result);
    equal([await kindOf(call().result), exchange.sent.length], ["bad_json", 10]);
  }),
  httpCase("after-ten-seconds-one-call-is-tried", async () => {
    const exchange = new FakeExchange(() => toReply("{"));
    const { call, clock, transport } = createFakeStage({ exchange });
    for (let index = 0; index < 5; index += 1) await kindOf(call().result);
    await clock.advance(9999);
    equal(await kindOf(call().result), "circuit_open");
    await clock.advance(1);
    exchange.answer = () => "nothing";
    const trial = call();
    await settle();
    equal([await kindOf(call().result), exchange.sent.length], ["circuit_open", 6]);
    exchange.answer = (request) => toResult(request);
    exchange.release();
    equal(await trial.result, {});
    equal([await kindOf(call().result), transport.status().circuitOpen], ["a result: {}", false]);
  }),
  httpCase("a-trial-that-fails-opens-it-for-another-ten-seconds", async () => {
    const exchange = new FakeExchange(() => toReply("{"));
    const { call, clock } = createFakeStage({ exchange });
    for (let index = 0; index < 5; index += 1) await kindOf(call().result);
    await clock.advance(10_000);
    equal(await kindOf(call().result), "bad_json");
    await clock.advance(9999);
    equal(await kindOf(call().result), "circuit_open");
    await clock.advance(1);
    equal(await kindOf(call().result), "bad_json");
  }),
  httpCase("deadlines-count-and-hosts-that-give-up-do-not", async () => {
    for (const [reason, expected] of [
      [new HookCallError("timeout", "cut"), "circuit_open"],
      [new HookgateError("ERR_ABORTED", "gone"), "a result: {}"],
    ] as const) {
      const exchange = new FakeExchange(() => "nothing");
      const { call, transport } = createFakeStage({ exchange });
      for (let index = 0; index < 5; index += 1) {
        const { scope, result } = call();
        await settle();
        scope.abort(reason as HookCallError);
        await kindOf(result);
      }
      equal(transport.status().circuitOpen, expected === "circuit_open");
      exchange.answer = (request) => toResult(request);
      equal(await kindOf(call().result), expected);
    }
  }),
  httpCase("a-trial-the-host-gave-up-leaves-room-for-the-next", async () => {
    const exchange = new FakeExchange(() => toReply("{"));
    const { call, clock } = createFakeStage({ exchange });
    for (let index = 0; index < 5; index += 1) await kindOf(call().result);
    await clock.advance(10_000);
    exchange.answer = () => "nothing";
    const trial = call();
    await settle();
    trial.scope.abort(new HookgateError("ERR_ABORTED", "gone") as HookCallError);
    await kindOf(trial.result);
    exchange.answer = (request) => toResult(request);
    equal(await kindOf(call().result), "a result: {}");
  }),
];

const limitCases: readonly Case[] = [
  httpCase("calls-beyond-the-limit-wait-in-their-order", async () => {
    const exchange = new FakeExchange(() => "nothing");
    const { call } = createFakeStage({ exchange, maxConcurrency: 2 });
    const calls = ["a", "b", "c", "d"].map((name) => call({ params: JSON.stringify({ name }) }));
    await settle();
    equal(exchange.sent.length, 2);
    exchange.release(1);
    await calls[0]?.result;
    await settle();
    equal(
      exchange.sent.map(({ message }) => message.params),
      [{ name: "a" }, { name: "b" }, { name: "c" }],
    );
    exchange.release();
    await settle();
    exchange.release();
    equal(await Promise.all(calls.map(({ result }) => result)), [{}, {}, {}, {}]);
  }),
  httpCase("who-waits-is-cut-at-the-deadline-and-takes-no-place", async () => {
    const exchange = new FakeExchange(() => "nothing");
    const { call } = createFakeStage({ exchange, maxConcurrency: 1 });
    const first = call();
    const second = call({}, 100);
    const third = call();
    second.scope.abort(new HookCallError("timeout", "cut"));
    equal(await kindOf(second.result), "timeout");
    exchange.release();
    await first.result;
    await settle();
    exchange.release();
    equal([await third.result, exchange.sent.length], [{}, 2]);
  }),
  httpCase("who-is-cut-in-flight-gives-its-place-back", async () => {
    const exchange = new FakeExchange(() => "nothing");
    const { call } = createFakeStage({ exchange, maxConcurrency: 1 });
    const first = call();
    await settle();
    first.scope.abort(new HookCallError("timeout", "cut"));
    await kindOf(first.result);
    exchange.answer = (request) => toResult(request);
    equal(await call().result, {});
  }),
  httpCase("where-nobody-may-wait-the-call-is-overloaded", async () => {
    const exchange = new FakeExchange(() => "nothing");
    const { call } = createFakeStage({ exchange, maxConcurrency: 1, isolatesRequests: true });
    const first = call();
    equal(await kindOf(call().result), "overloaded");
    exchange.release();
    equal(await first.result, {});
  }),
  httpCase("bounds-are-checked", () => {
    for (const options of [{ maxConcurrency: 0 }, { maxRetries: -1 }, { maxRetries: 1.5 }, { maxMessageBytes: 0 }]) {
      ok(thrownBy(() => createFakeStage(options)) instanceof RangeError, `taken: ${JSON.stringify(options)}`);
    }
  }),
];

/** How an endpoint that does not answer is spared, and how many calls it gets at once. */
export const httpLimitCases: readonly Case[] = [...circuitCases, ...limitCases];
