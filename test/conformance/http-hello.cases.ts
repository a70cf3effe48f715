import { HookCallError } from "../../src/errors.ts";
import { type Case, equal } from "./case.ts";
import {
  createFakeStage,
  FakeExchange,
  greeted,
  GREETING,
  httpCase,
  kindOf,
  settle,
  toReply,
  toResult,
} from "./fake-exchange.ts";

const refuse = (): void => {
  throw new HookCallError("bad_result", "no");
};

/** How an endpoint is greeted. */
export const httpHelloCases: readonly Case[] = [
  httpCase("hello-comes-before-the-first-call-and-once", async () => {
    const { call, exchange } = createFakeStage({ greeting: GREETING });
    await call().result;
    await call().result;
    equal(exchange.methods, ["hook.hello", "hook.before_tool", "hook.before_tool"]);
    equal(exchange.sent[0]?.message.params, { name: "gate" });
  }),
  httpCase("hello-is-repeated-after-five-minutes", async () => {
    const { call, clock, exchange } = createFakeStage({ greeting: GREETING });
    await call().result;
    await clock.advance(299_999);
    await call().result;
    equal(exchange.methods.filter((method) => method === "hook.hello").length, 1);
    await clock.advance(1);
    await call().result;
    equal(exchange.methods.filter((method) => method === "hook.hello").length, 2);
  }),
  httpCase("without-a-handshake-there-is-no-hello", async () => {
    const { call, exchange, transport } = createFakeStage();
    equal(transport.status().state, "ready");
    await call().result;
    equal(exchange.methods, ["hook.before_tool"]);
  }),
  httpCase("calls-that-come-together-share-a-hello", async () => {
    const exchange = greeted({}, (request) => toResult(request));
    exchange.answer = (request) => (request.message.method === "hook.hello" ? "nothing" : toResult(request));
    const { call } = createFakeStage({ exchange, greeting: GREETING });
    const calls = [call(), call(), call()];
    await settle();
    equal(exchange.methods, ["hook.hello"]);
    exchange.release();
    equal(await Promise.all(calls.map(({ result }) => result)), [{}, {}, {}]);
    equal(exchange.sent.length, 4);
  }),
  httpCase("a-hello-that-failed-is-a-no-verdict-of-its-kind-and-is-tried-again", async () => {
    const failing = greeted({}, (request) => toResult(request));
    failing.answer = () => toReply("", { status: 401 });
    const { call, transport } = createFakeStage({ exchange: failing, greeting: GREETING });
    equal(await kindOf(call().result), "http_status");
    equal(
      [transport.status().state, transport.status().lastError],
      ["backing_off", "hook.hello: the hook answered with HTTP status 401"],
    );
    failing.answer = (request) => toResult(request);
    equal(await kindOf(call().result), "a result: {}");
    equal([transport.status().state, transport.status().lastError], ["ready", undefined]);
  }),
  httpCase("a-hello-that-is-refused-is-a-no-verdict", async () => {
    const { call, exchange } = createFakeStage({ greeting: { ...GREETING, accept: refuse } });
    equal([await kindOf(call().result), exchange.methods], ["bad_result", ["hook.hello"]]);
  }),
  httpCase("who-waits-for-the-hello-of-a-call-that-is-cut-greets-itself", async () => {
    const exchange = new FakeExchange(() => "nothing");
    const { call } = createFakeStage({ exchange, greeting: GREETING });
    const first = call();
    const second = call();
    await settle();
    first.scope.abort(new HookCallError("timeout", "cut"));
    await kindOf(first.result);
    await settle();
    equal(exchange.methods, ["hook.hello", "hook.hello"]);
    exchange.answer = (request) => toResult(request);
    exchange.release();
    equal(await second.result, {});
  }),
  httpCase("where-requests-are-isolated-each-greets-for-itself", async () => {
    const exchange = new FakeExchange((request) =>
      request.message.method === "hook.hello" ? "nothing" : toResult(request),
    );
    const { call } = createFakeStage({ exchange, greeting: GREETING, isolatesRequests: true });
    const calls = [call(), call()];
    await settle();
    equal(exchange.methods, ["hook.hello", "hook.hello"]);
    exchange.release();
    equal(await Promise.all(calls.map(({ result }) => result)), [{}, {}]);
  }),
  httpCase("ready-greets-and-never-rejects", async () => {
    const { transport, exchange, clock } = createFakeStage({ greeting: GREETING });
    equal(transport.status().state, "starting");
    await transport.ready();
    await transport.ready();
    equal([exchange.methods, transport.status().state, clock.armed], [["hook.hello"], "ready", 0]);
    const silent = createFakeStage({ greeting: GREETING, exchange: new FakeExchange(() => "nothing") });
    const ready = silent.transport.ready();
    await silent.clock.advance(5000);
    await ready;
    equal(silent.transport.status().state, "backing_off");
  }),
];
