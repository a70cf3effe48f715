import { createGatewayClient } from "../../src/client/index.ts";
import { createTurn, endSession, type HookEvent, startSession, withContext } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { bothOf } from "./composite.cases.ts";
import { prints } from "./jcli-fixture.ts";
import { casesOfTurns, nextTurn, ranOf, request, type Run, SOURCE } from "./turn-stage.ts";

const RUNS: Readonly<Record<string, Run>> = {
  "stop-asks-for-another-round-and-is-bounded": async (stage) => {
    const { turn, shown, bench } = await stage(
      { stop: prints({ retry_feedback: "tests", additional_context: "c" }) },
      { userMessage: "do it" },
    );
    const next = [{ role: "user", content: "tests" }];
    for (let round = 0; round < 3; round += 1) {
      equal(await turn.stop({ messages: request.messages, model: "m" }), { next, additionalContext: "c" });
    }
    equal(await turn.stop(), { additionalContext: "c" });
    equal(shown, ["stop: hooks asked for another round after 3: the turn ends here. They said: tests"]);
    const { user_input, model } = JSON.parse(bench.commands[0]?.input ?? "") as { user_input: string; model: string };
    equal([user_input, model], ["do it", "m"]);
  },
  "an-action-at-stop-ends-the-turn-whatever-else": async (stage) => {
    const { turn } = await stage({ stop: prints({ action: "stop", retry_feedback: "x" }) });
    equal(await turn.stop(), {});
  },
  "a-conversation-is-made-shorter": async (stage) => {
    const { turn, bench } = await stage({
      pre_auto_compact: prints({ additional_context: "keep names" }),
      post_auto_compact: ({ messages }) =>
        JSON.stringify({ messages: [...(messages ?? []), { role: "user", content: "p" }] }),
      pre_micro_compact: prints({ action: "stop" }),
    });
    const messages = [{ role: "system", content: "s" }, ...request.messages];
    let heard: string | undefined;
    const step = await turn.compact("auto", {
      messages,
      model: "m",
      compact([system, ...rest], { additionalContext }) {
        heard = additionalContext;
        return [...(system ? [system] : []), { role: "user", content: `${rest.length}` }];
      },
    });
    equal([step.status, heard], ["compacted", "keep names"]);
    equal(step.messages, [messages[0], { role: "user", content: "1" }, { role: "user", content: "p" }]);
    const stopped = await turn.compact("micro", { messages, compact: () => Promise.reject(new Error("compacted")) });
    equal(stopped, { status: "stopped", messages });
    equal(ranOf(bench), ["pre_auto_compact", "post_auto_compact", "pre_micro_compact"]);
  },
  "a-session-is-told-of": async (stage) => {
    const { host, bench } = await stage({ session_start: prints({}), session_end: prints({}) });
    await startSession(host, { sessionId: "s" });
    await endSession(host, { sessionId: "s", messages: request.messages });
    for (let round = 0; ranOf(bench).length < 2 && round < 100; round += 1) await nextTurn();
    equal(ranOf(bench), ["session_start", "session_end"]);
  },
};

const fetch = (): Promise<never> => Promise.reject(new Error("gone"));

/** The ends of turns and sessions, and making conversations shorter. */
export const turnEndCases: readonly Case[] = [
  ...casesOfTurns(RUNS),
  {
    id: "turn-lifecycle/a-gateway-that-is-gone-is-skipped-or-stops",
    source: SOURCE,
    async run() {
      for (const [interceptors, status] of [
        ["continue", "sent"],
        ["abort_turn", "stopped"],
      ] as const) {
        const host = createGatewayClient({ url: "http://127.0.0.1:1", failure: { interceptors }, fetch });
        equal((await createTurn(host).userMessage("hi")).status, status);
        const { result, trace } = await host.run({ event: "session_start" });
        equal([result, trace.records[0]?.kind, trace.records[0]?.failed_open], [{}, "unreachable", true]);
      }
    },
  },
  {
    id: "turn-lifecycle/bounds-and-context",
    source: SOURCE,
    async run() {
      const events: HookEvent[] = [];
      const { host } = await bothOf({}, { a: { onEvent: (event) => void events.push(event) } });
      for (const maxRetryCount of [-1, 1.5, 101]) {
        await rejects(
          Promise.resolve().then(() => createTurn(host, { maxRetryCount })),
          "RangeError",
        );
      }
      equal(events, []);
      equal(withContext([{ role: "system", content: "a" }], "b"), [{ role: "system", content: "a\n\nb" }]);
      equal(withContext(request.messages, "b"), [{ role: "system", content: "b" }, ...request.messages]);
      ok(withContext(request.messages, undefined) === request.messages, "a copy");
    },
  },
];
