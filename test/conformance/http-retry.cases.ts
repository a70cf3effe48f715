import { HookCallError } from "../../src/errors.ts";
import { type Case, equal } from "./case.ts";
import {
  createFakeStage,
  FakeExchange,
  greeted,
  GREETING,
  httpCase,
  kindOf,
  refused,
  reset,
  settle,
  toReply,
  toResult,
} from "./fake-exchange.ts";

/** When a call is sent again. */
export const httpRetryCases: readonly Case[] = [
  httpCase("what-was-never-written-is-sent-again-once", async () => {
    const exchange = new FakeExchange((request, index) => (index === 0 ? refused() : toResult(request)));
    const { call, clock } = createFakeStage({ exchange });
    const { result, scope } = call();
    await clock.advance(200);
    equal(await result, {});
    equal([exchange.sent.length, scope.attempt], [2, 2]);
    equal(exchange.sent[0]?.headers["idempotency-key"], exchange.sent[1]?.headers["idempotency-key"]);
    equal(
      exchange.sent.map(({ headers }) => headers["hook-timeout-ms"]),
      ["5000", "4900"],
    );
  }),
  httpCase("it-is-not-sent-a-third-time", async () => {
    const { call, clock, exchange } = createFakeStage({ exchange: new FakeExchange(refused) });
    const kind = kindOf(call().result);
    await clock.advance(1000);
    equal([await kind, exchange.sent.length], ["unreachable", 2]);
  }),
  httpCase("no-retry-is-made-where-none-is-allowed", async () => {
    const { call, exchange } = createFakeStage({ exchange: new FakeExchange(refused), maxRetries: 0 });
    equal([await kindOf(call().result), exchange.sent.length], ["unreachable", 1]);
  }),
  httpCase("what-may-have-been-done-is-repeated-only-where-that-is-harmless", async () => {
    for (const [idempotent, requests] of [
      [undefined, 1],
      [false, 1],
      ["yes", 1],
      [true, 2],
      [["hook.before_tool"], 2],
      [["before_tool"], 2],
      [["after_tool"], 1],
    ] as const) {
      for (const failure of [reset, () => toReply("", { status: 503 })]) {
        const exchange = greeted({ idempotent }, failure);
        const { call, clock } = createFakeStage({ exchange, greeting: GREETING });
        const kind = kindOf(call().result);
        await clock.advance(1000);
        await kind;
        equal([idempotent, exchange.sent.length - 1], [idempotent, requests]);
      }
    }
  }),
  httpCase("only-four-statuses-are-worth-another-try", async () => {
    for (const status of [400, 401, 408, 425, 429, 500, 501, 502, 503, 504, 307]) {
      const exchange = greeted({ idempotent: true }, () => toReply("", { status }));
      const { call, clock } = createFakeStage({ exchange, greeting: GREETING });
      const kind = kindOf(call().result);
      await clock.advance(1000);
      await kind;
      equal([status, exchange.sent.length - 1], [status, [429, 502, 503, 504].includes(status) ? 2 : 1]);
    }
  }),
  httpCase("a-verdict-that-could-not-be-read-is-not-asked-for-again", async () => {
    for (const body of ["{", "[]", "{}"]) {
      const exchange = greeted({ idempotent: true }, () => toReply(body));
      const { call } = createFakeStage({ exchange, greeting: GREETING });
      await kindOf(call().result);
      equal(exchange.sent.length, 2);
    }
  }),
  httpCase("retry-after-is-kept-when-it-fits-the-deadline", async () => {
    for (const [retryAfter, atMs] of [
      ["2", 2000],
      ["Tue, 14 Nov 2023 22:13:24 GMT", 3000],
      ["soon", 100],
    ] as const) {
      const exchange = greeted({ idempotent: true }, (request, index) =>
        index === 1 ? toReply("", { status: 503, headers: { "retry-after": retryAfter } }) : toResult(request),
      );
      const { call, clock } = createFakeStage({ exchange, greeting: GREETING });
      const { result } = call();
      await clock.advance(atMs - 1);
      equal([retryAfter, exchange.sent.length], [retryAfter, 2]);
      await clock.advance(1);
      equal([await result, exchange.sent.length], [{}, 3]);
    }
  }),
  httpCase("a-retry-after-past-the-deadline-ends-the-call-at-once", async () => {
    for (const retryAfter of ["5", "99999999999", "9".repeat(400)]) {
      const headers = { "retry-after": retryAfter };
      const exchange = greeted({ idempotent: true }, () => toReply("", { status: 429, headers }));
      const { call, clock } = createFakeStage({ exchange, greeting: GREETING });
      const { result } = call();
      await clock.advance(1000);
      equal([await kindOf(result), exchange.sent.length], ["http_status", 2]);
    }
  }),
  httpCase("a-call-that-is-cut-while-it-waits-to-retry-leaves-no-timer", async () => {
    const { call, clock, exchange } = createFakeStage({ exchange: new FakeExchange(refused) });
    const { result, scope } = call();
    await settle();
    equal(clock.armed, 2);
    scope.abort(new HookCallError("timeout", "cut"));
    equal(await kindOf(result), "timeout");
    await settle();
    equal([clock.armed, exchange.sent.length], [0, 1]);
  }),
];
