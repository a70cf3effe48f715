import { createGatewayClient } from "../../src/client/index.ts";
import {
  createTurn,
  type ExecuteTool,
  type HookEvent,
  type HookHost,
  resumeTurn,
  type ToolStep,
  type Turn,
} from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { fetchOf } from "./client-approvals-stage.ts";
import { casesOf, META } from "./fixture.ts";
import { gatewayOf } from "./gateway-fixture.ts";
import { type HumanStage, openHumanStage } from "./human-approval-stage.ts";

const SOURCE = "Human approvals, 3";

const call = { id: "call-1", type: "function", function: { name: "exec", arguments: '{"command":"ls"}' } };

interface Stage extends HumanStage {
  /** What a bot asks: the manager, or a gateway in front of it. */
  readonly asked: HookHost;
  /** What the tool was run with. */
  readonly ran: unknown[];
  readonly execute: ExecuteTool;
  readonly events: HookEvent[];
}

/** The manager itself, and behind a gateway. */
const KINDS: Readonly<Record<string, (host: HookHost) => Promise<HookHost>>> = {
  local: async (host) => host,
  gateway: async (host) =>
    createGatewayClient({ url: "http://127.0.0.1:8787", fetch: fetchOf(await gatewayOf({}, { host })) }),
};

async function open(kind: string, rules: object = {}): Promise<Stage> {
  const stage = await openHumanStage({ wait_ms: 0, denial_holds_ms: 0, ...rules });
  const ran: unknown[] = [];
  const events: HookEvent[] = [];
  await stage.host.mount(
    {
      onEvent: (event) => void events.push(event),
      afterTool: ({ result }) => ({ result: { for_llm: `checked: ${result?.for_llm}` } }),
    },
    { name: "watcher" },
  );
  return {
    ...stage,
    ran,
    events,
    asked: await (KINDS[kind] ?? KINDS["local"]!)(stage.host),
    async execute({ tool, arguments: given }) {
      ran.push([tool, given]);
      return "done";
    },
  };
}

function start({ asked }: Stage): Turn {
  return createTurn(asked, { meta: META, channel: "cli", chatId: "direct", userMessage: "list" });
}

/** The approval that a step waits for. */
function pendingOf(step: ToolStep): string {
  if (step.status !== "pending") throw new Error(`expected a step that waits, got ${step.status}`);
  return step.pending;
}

/** Behaviour that is the same for every kind of host. */
const RUNS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "a call that people are asked for has not run, and says so": async (stage) => {
    const turn = start(stage);
    equal(turn.suspended(), undefined);
    const step = await turn.tool(call, stage.execute);
    const id = pendingOf(step);
    equal([step.message["tool_call_id"], step.result.is_error, stage.ran], ["call-1", true, []]);
    ok(String(step.message.content).includes(`approval ${id} is pending`), "the model is not told");
    equal(step.status === "pending" && step.expires, (await stage.store.get(id))?.expires);
    equal(
      turn.suspended()?.calls.map(({ pending, tool }) => [pending, tool]),
      [[id, "exec"]],
    );
  },
  "it goes on once people have approved it, and once only": async (stage) => {
    const turn = start(stage);
    const id = pendingOf(await turn.tool(call, stage.execute));
    equal(pendingOf(await turn.resume(id, stage.execute)), id);
    await stage.decide(id);
    const step = await turn.resume(id, stage.execute);
    equal(
      [step.status, step.message, stage.ran],
      ["executed", { role: "tool", content: "checked: done", tool_call_id: "call-1" }, [["exec", { command: "ls" }]]],
    );
    equal([(await stage.store.get(id))?.status, turn.suspended()], ["consumed", undefined]);
    await rejects(turn.resume(id, stage.execute), "ERR_NOT_FOUND");
    equal(stage.ran.length, 1);
  },
  "what people deny does not run": async (stage) => {
    const turn = start(stage);
    const id = pendingOf(await turn.tool(call, stage.execute));
    await stage.decide(id, "deny", { comment: "not today" });
    const step = await turn.resume(id, stage.execute);
    equal([step.status, stage.ran, turn.suspended()], ["denied", [], undefined]);
    equal(step.message, {
      role: "tool",
      content: `Tool execution denied by approval hook: ann denied this: not today (approval ${id})`,
      tool_call_id: "call-1",
    });
    // The same call made anew is another question.
    equal(pendingOf(await turn.tool(call, stage.execute)) === id, false);
  },
  "a turn goes on in another process": async (stage) => {
    const first = start(stage);
    await first.tool({ tool: "other", arguments: { n: [1, null, "é"] } }, stage.execute);
    const id = pendingOf(await first.tool(call, stage.execute));
    const kept = JSON.stringify({ turn: first.suspended() });
    await stage.decide(id);
    const { turn: state } = JSON.parse(kept) as { readonly turn: unknown };
    const second = resumeTurn(stage.asked, state);
    equal(second.suspended()?.calls.length, 2);
    const step = await second.resume(id, stage.execute);
    equal(
      [step.status, step.message["tool_call_id"], stage.ran],
      ["executed", "call-1", [["exec", { command: "ls" }]]],
    );
    equal(
      second.suspended()?.calls.map(({ tool, arguments: given }) => [tool, given]),
      [["other", { n: [1, null, "é"] }]],
    );
    second.end();
    await stage.asked.flush(1000);
    await stage.host.flush(1000);
    const started = stage.events.filter(({ Kind }) => Kind === "turn_start");
    equal(
      started.map(({ Meta, Payload }) => [Meta.TurnID, (Payload as { readonly Resumed?: boolean }).Resumed]),
      [
        ["turn-1", undefined],
        ["turn-1", true],
      ],
    );
    equal(
      started.map(({ Payload }) => (Payload as Record<string, unknown>)["UserMessage"]),
      ["list", "list"],
    );
  },
  "an approval that has expired is a no, and a call that changed is asked about anew": async (stage) => {
    const turn = start(stage);
    const id = pendingOf(await turn.tool(call, stage.execute));
    const kept = turn.suspended()!;
    stage.clock.advance(3_600_000);
    const step = await turn.resume(id, stage.execute);
    equal([step.status, String(step.message.content).includes("nobody approved this in time")], ["denied", true]);
    const other = { ...kept, calls: kept.calls.map((held) => ({ ...held, arguments: { command: "rm" } })) };
    const again = pendingOf(await resumeTurn(stage.asked, other).resume(id, stage.execute));
    equal([again === id, stage.ran], [false, []]);
  },
  "two attempts at once run it once": async (stage) => {
    const turn = start(stage);
    const id = pendingOf(await turn.tool(call, stage.execute));
    await stage.decide(id, "approve", { scope: "hour" });
    const [one, two] = await Promise.allSettled([turn.resume(id, stage.execute), turn.resume(id, stage.execute)]);
    equal([one.status, two.status, stage.ran.length], ["fulfilled", "rejected", 1]);
  },
};

const eachKind = Object.keys(KINDS).flatMap((kind) =>
  Object.entries(RUNS).map(([name, run]) => [`${name} (${kind})`, async () => run(await open(kind))] as const),
);

/** Turns that wait for people. */
export const turnSuspendCases: readonly Case[] = casesOf(
  { topic: "turn-suspend", source: SOURCE },
  {
    ...Object.fromEntries(eachKind),
    "what hooks change is changed again, and approved as it runs": async () => {
      const stage = await open("local");
      await stage.host.mount(
        { beforeTool: ({ arguments: given = {} }) => ({ call: { arguments: { ...given, safe: true } } }) },
        { name: "rewrite" },
      );
      const turn = start(stage);
      const id = pendingOf(await turn.tool(call, stage.execute));
      equal((await stage.store.get(id))?.arguments, { command: "ls", safe: true });
      equal(turn.suspended()?.calls[0]?.arguments, { command: "ls" });
      await stage.decide(id);
      await turn.resume(id, stage.execute);
      equal(stage.ran, [["exec", { command: "ls", safe: true }]]);
    },
    "a question that is not answered leaves the call waiting": async () => {
      const stage = await open("local");
      const turn = start(stage);
      const id = pendingOf(await turn.tool(call, stage.execute));
      await stage.host.close();
      await rejects(turn.resume(id, stage.execute), "ERR_CLOSED");
      equal(
        turn.suspended()?.calls.map(({ pending }) => pending),
        [id],
      );
    },
    "a call whose tool has run does not wait again, whatever fails after it": async () => {
      const stage = await open("local");
      const turn = start(stage);
      const id = pendingOf(await turn.tool(call, stage.execute));
      await stage.decide(id);
      const closes: ExecuteTool = async (given, context) => {
        await stage.host.close();
        return stage.execute(given, context);
      };
      await rejects(turn.resume(id, closes), "ERR_CLOSED");
      equal([turn.suspended(), stage.ran.length], [undefined, 1]);
    },
    "only a host that asks people has calls wait": async () => {
      const stage = await open("local", { match: { tool: ["never"] } });
      for (const approval of [
        undefined,
        { status: "pending" },
        { id: "", status: "pending" },
        { id: "x", status: "denied" },
        "x",
      ]) {
        const denies = {
          approveTool: () => ({ approved: false, reason: "no", ...(approval !== undefined && { approval }) }),
        };
        await stage.host.mount(denies as never, { name: "denies" });
        const turn = start(stage);
        equal([(await turn.tool(call, stage.execute)).status, turn.suspended()], ["denied", undefined]);
        await stage.host.unmount("denies");
      }
    },
    "so many calls wait and no more": async () => {
      const stage = await open("local");
      const turn = start(stage);
      for (let n = 0; n < 100; n += 1) pendingOf(await turn.tool({ tool: "exec", arguments: { n } }, stage.execute));
      equal((await turn.tool({ tool: "exec", arguments: { n: 100 } }, stage.execute)).status, "denied");
      equal(resumeTurn(stage.asked, turn.suspended()).suspended()?.calls.length, 100);
    },
    "what is no suspended turn is refused": async () => {
      const stage = await open("local");
      const turn = start(stage);
      pendingOf(await turn.tool(call, stage.execute));
      const good = turn.suspended()!;
      const [held] = good.calls;
      let deep: unknown = {};
      for (let level = 0; level < 600; level += 1) deep = { deep };
      for (const state of [
        undefined,
        null,
        "{}",
        {},
        { ...good, version: 2 },
        { ...good, more: true },
        { ...good, meta: { AgentID: 1 } },
        { ...good, iterations: -1 },
        { ...good, calls: [{ ...held, pending: "" }] },
        { ...good, calls: [{ ...held, arguments: [] }] },
        { ...good, calls: [{ ...held, arguments: { text: "x".repeat(1_048_577) } }] },
        { ...good, calls: [{ ...held, approved: true }] },
        { ...good, calls: [{ ...held, arguments: deep }] },
        { ...good, calls: Array.from({ length: 101 }, () => held) },
      ]) {
        await rejects((async () => resumeTurn(stage.asked, state))(), "ERR_INVALID_PARAMS");
      }
      resumeTurn(stage.asked, good);
    },
  },
);
