import type { Approval } from "../../src/approvals/index.ts";
import { createGatewayApprovals } from "../../src/client/approvals.ts";
import { HookCallError } from "../../src/errors.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { clientOf, type ClientStage, fetchOf, kindOf, open, URL_TEXT } from "./client-approvals-stage.ts";
import { casesOf, countTimers } from "./fixture.ts";
import { openApprovalGateway } from "./gateway-approvals-stage.ts";

const SOURCE = "Human approvals, 3";

interface Waiting extends ClientStage {
  /** What each request to the gateway asked for. */
  readonly asked: string[];
  readonly pauses: number[];
  /** Lets requests fail. */
  isDown: boolean;
}

/** A client that goes by the clock of the gateway, and pauses by moving it. */
async function openWaiting(...given: Parameters<typeof openApprovalGateway>): Promise<Waiting> {
  const stage = await openApprovalGateway(...given);
  const asked: string[] = [];
  const pauses: number[] = [];
  const reach = fetchOf(stage.gateway);
  const { now } = stage.clock;
  const waiting = { ...stage, asked, pauses, isDown: false };
  const people = createGatewayApprovals({
    base: URL_TEXT,
    token: undefined,
    maxReplyBytes: 1_000_000,
    assertOpen: () => {},
    now,
    epochNow: now,
    fetch(url, request) {
      asked.push(url.slice(url.indexOf("?")));
      return waiting.isDown ? Promise.reject(new HookCallError("unreachable", "down")) : reach(url, request);
    },
    async pause(delayMs) {
      pauses.push(delayMs);
      stage.clock.advance(delayMs);
    },
  });
  return Object.assign(waiting, { people });
}

/** Waiting for people with the client. */
export const clientWaitCases: readonly Case[] = casesOf(
  { topic: "client-approval-wait", source: SOURCE },
  {
    "it ends at once when people decide": async () => {
      const { people, pend, decide, clock, asked } = await openWaiting();
      const id = await pend();
      const timer = clock.nextTimer();
      const waiting = people.wait(id);
      await timer;
      await decide(id, "approve");
      equal([(await waiting).status, asked], ["approved", ["?wait=55"]]);
    },
    "it asks again when the gateway has waited as long as it does": async () => {
      const { people, pend, decide, clock, asked, pauses } = await openWaiting();
      const id = await pend();
      let timer = clock.nextTimer();
      const waiting = people.wait(id);
      await timer;
      timer = clock.nextTimer();
      clock.advance(55_000);
      await timer;
      await decide(id, "deny");
      equal([(await waiting).status, asked, pauses], ["denied", ["?wait=55", "?wait=55"], []]);
    },
    "it ends when its own time is up": async () => {
      const { people, pend, clock, asked } = await openWaiting();
      const id = await pend();
      const timer = clock.nextTimer();
      const waiting = people.wait(id, { timeoutMs: 2500 });
      await timer;
      clock.advance(3000);
      equal([(await waiting).status, asked], ["pending", ["?wait=3"]]);
      equal([(await people.wait(id, { timeoutMs: 0 })).status, asked.at(-1)], ["pending", "?wait=0"]);
    },
    "it goes on through a gateway that cannot be reached, with growing waits": async () => {
      const waiting = await openWaiting({ expires_ms: 3_600_000 });
      const { people, pend, decide, clock, pauses, approvals } = waiting;
      const id = await pend();
      const timer = clock.nextTimer();
      const answer = people.wait(id);
      await timer;
      waiting.isDown = true;
      clock.advance(55_000);
      const { advance } = clock;
      clock.advance = (ms) => {
        advance.call(clock, ms);
        if (pauses.length === 6) waiting.isDown = false;
      };
      const again = clock.nextTimer();
      await again;
      equal(pauses, [1000, 2000, 4000, 8000, 10_000, 10_000]);
      await decide(id);
      equal([(await answer).status, (await approvals.get(id)).status], ["approved", "approved"]);
    },
    "it ends some time after nobody can decide any more, whatever the gateway does": async () => {
      const waiting = await openWaiting({ expires_ms: 100_000 });
      const { people, pend, clock } = waiting;
      const id = await pend();
      const timer = clock.nextTimer();
      const answer = people.wait(id);
      await timer;
      waiting.isDown = true;
      clock.advance(55_000);
      equal(await kindOf(answer), "unreachable");
      ok(clock.nowMs >= Date.parse((await waiting.store.get(id))?.expires ?? "") + 60_000, "it gave up early");
    },
    "a gateway that stops is not asked all the time": async () => {
      const { people, pend, gateway, clock, pauses, approvals } = await openWaiting({ expires_ms: 2000 });
      const id = await pend();
      await gateway.drain(0);
      equal([(await people.wait(id)).status, pauses.every((ms) => ms === 500)], ["expired", true]);
      ok(pauses.length <= 4 && clock.running === 0, "it asked too often");
      equal((await approvals.get(id)).status, "expired");
    },
    "an approval that is not there is said at once, and so is a gateway that never was": async () => {
      const waiting = await openWaiting();
      await rejects(waiting.people.wait("nothing"), "ERR_NOT_FOUND");
      waiting.isDown = true;
      equal([await kindOf(waiting.people.wait("x")), waiting.pauses], ["unreachable", []]);
    },
    "a wait leaves no timer behind": async () => {
      const { left } = await countTimers(async () => {
        const { people, pend, decide, clock } = await open();
        const id = await pend();
        const timer = clock.nextTimer();
        const waiting = people.wait(id);
        await timer;
        await decide(id);
        await waiting;
      });
      equal(left, 0);
    },
  },
);

async function take(
  approvals: AsyncIterator<Approval>,
  count: number,
): Promise<readonly (readonly [string, string])[]> {
  const taken: (readonly [string, string])[] = [];
  while (taken.length < count) {
    const step = await approvals.next();
    if (step.done === true) throw new Error(`it ended after ${JSON.stringify(taken)}`);
    const { id, status } = step.value;
    taken.push([id, status]);
  }
  return taken;
}

/** Watching approvals with the client. */
export const clientWatchCases: readonly Case[] = casesOf(
  { topic: "client-approval-watch", source: SOURCE },
  {
    "it yields what is pending, and then what changes": async () => {
      const { people, pend, decide } = await open();
      const first = await pend({ n: 1 });
      const watching = people.watch()[Symbol.asyncIterator]();
      equal(await take(watching, 1), [[first, "pending"]]);
      const second = await pend({ n: 2 });
      equal(await take(watching, 1), [[second, "pending"]]);
      await decide(first, "deny");
      equal(await take(watching, 1), [[first, "denied"]]);
      await watching.return?.();
    },
    "it ends with its signal and with the gateway, and leaves no timer": async () => {
      const { left } = await countTimers(async () => {
        const { people, pend, gateway } = await open();
        await pend();
        const gone = new AbortController();
        const [one, two] = [people.watch({ signal: gone.signal }), people.watch()].map((watch) =>
          watch[Symbol.asyncIterator](),
        );
        await take(one!, 1);
        await take(two!, 1);
        const [first, second] = [one!.next(), two!.next()];
        gone.abort();
        equal((await first).done, true);
        await gateway.drain(1000);
        equal((await second).done, true);
      });
      equal(left, 0);
    },
    "a gateway that refuses is an error": async () => {
      const stage = await open();
      stage.store.isDown = true;
      equal(await kindOf(stage.people.watch()[Symbol.asyncIterator]().next()), "store_unavailable");
      const down = clientOf(() => Promise.reject(new Error("down"))).approvals;
      equal(await kindOf(down.watch()[Symbol.asyncIterator]().next()), "unreachable");
    },
  },
);
