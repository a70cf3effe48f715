import {
  type ChainHook,
  type ChainOutcome,
  type ChainRules,
  Current,
  failClosed,
  failOpen,
  type HookRecord,
  runChain,
} from "../../src/chain/index.ts";
import { type Case, equal, ok } from "./case.ts";

interface Payload {
  readonly text: string;
}

type Call = ChainHook<Payload>["call"];

/** A reply is the new text; `stop` ends the chain. */
const rules: ChainRules<Payload, string> = {
  point: "p",
  judge(reply, current) {
    if (reply === "stop") return { outcome: "stop", halt: "stop" };
    return typeof reply === "string" ? { outcome: "modify", next: { text: current.text + reply } } : { outcome: "go" };
  },
};

function hook(name: string, call: Call, more: Partial<ChainHook<Payload>> = {}): ChainHook<Payload> {
  return { name, source: "test", timeoutMs: 10_000, policy: failOpen, call, ...more };
}

/** A clock that only the hooks move. */
function createClock(): { readonly now: () => number; spend(ms: number): void } {
  let atMs = 1000;
  return { now: () => atMs, spend: (ms) => void (atMs += ms) };
}

function run(
  hooks: readonly ChainHook<Payload>[],
  options: { readonly budgetMs?: number; readonly now?: () => number; readonly signal?: AbortSignal } = {},
): Promise<ChainOutcome<Payload, string>> {
  return runChain(hooks, new Current<Payload>({ text: "" }), { rules, ...options });
}

function brief(records: readonly HookRecord[]): readonly string[] {
  return records.map(({ hook: name, outcome, kind, attempt }) => `${name} ${kind ?? outcome} ${attempt}`);
}

/** Fails as often as told, then answers. */
function failing(times: number, reply: string, spend: () => void = () => {}): Call {
  let callCount = 0;
  return () => {
    callCount += 1;
    spend();
    if (callCount <= times) throw new Error("no");
    return reply;
  };
}

function attemptsCase(id: string, test: () => Promise<void>): Case {
  return { id: `attempts/${id}`, source: "YAML hook system, section 3", run: test };
}

/** Retries, a budget for the whole chain, and hooks that do not apply. */
export const attemptsCases: readonly Case[] = [
  attemptsCase("a-failed-call-is-made-again", async () => {
    const { current, records } = await run([hook("a", failing(2, "x"), { retryCount: 2 })]);
    equal(current.value.text, "x");
    equal(brief(records), ["a hook_error 1", "a hook_error 2", "a modify 3"]);
    ok(
      records.every(({ failed_open }) => failed_open === undefined),
      "a retried call did not fail open",
    );
  }),
  attemptsCase("the-policy-is-asked-once-all-attempts-failed", async () => {
    let askedCount = 0;
    const policy = { effectOf: () => ((askedCount += 1), "continue" as const) };
    const { records } = await run([hook("a", failing(9, "x"), { retryCount: 2, policy }), hook("b", () => "y")]);
    equal(brief(records), ["a hook_error 1", "a hook_error 2", "a hook_error 3", "b modify 1"]);
    equal([askedCount, records.map(({ failed_open }) => failed_open)], [1, [undefined, undefined, true, undefined]]);
  }),
  attemptsCase("a-closed-policy-ends-the-chain-after-the-last-attempt", async () => {
    const { failure, records } = await run([
      hook("a", failing(9, "x"), { retryCount: 1, policy: failClosed }),
      hook("b", () => "y"),
    ]);
    equal([failure?.hook, failure?.effect, records.length], ["a", "deny", 2]);
  }),
  attemptsCase("a-verdict-is-never-asked-for-again", async () => {
    const { halt, records } = await run([hook("a", () => "stop", { retryCount: 5 })]);
    equal([halt?.verdict, brief(records)], ["stop", ["a stop 1"]]);
  }),
  attemptsCase("what-does-not-apply-is-not-called", async () => {
    const { current, records } = await run([
      hook("a", () => "x"),
      hook("b", () => "never", { appliesTo: ({ text }) => text !== "x" }),
      hook("c", () => "z", { appliesTo: ({ text }) => text === "x" }),
    ]);
    equal([current.value.text, brief(records)], ["xz", ["a modify 1", "b filtered 0", "c modify 1"]]);
  }),
  attemptsCase("no-call-begins-once-the-budget-is-used-up", async () => {
    const { now, spend } = createClock();
    const slow =
      (reply: string): Call =>
      () => (spend(60), reply);
    const hooks = [hook("a", slow("x")), hook("b", slow("y")), hook("c", slow("z")), hook("d", slow("-"))];
    const { current, exhausted, records, failure } = await run(hooks, { budgetMs: 120, now });
    equal([current.value.text, exhausted, failure], ["x", true, undefined]);
    equal(brief(records), ["a modify 1", "b timeout 1", "c out_of_budget 0"]);
  }),
  attemptsCase("a-budget-that-is-just-enough-ends-nothing", async () => {
    const { now, spend } = createClock();
    const { current, exhausted } = await run([hook("a", () => (spend(99), "x"))], { budgetMs: 100, now });
    equal([current.value.text, exhausted], ["x", false]);
  }),
  attemptsCase("the-budget-cuts-the-call-under-way", async () => {
    let isCut = false;
    const stuck: Call = (_current, scope) => new Promise(() => scope.onAbort(() => void (isCut = true)));
    const { current, records, exhausted } = await run(
      [hook("a", () => "x"), hook("stuck", stuck, { retryCount: 3 }), hook("b", () => "y")],
      { budgetMs: 20 },
    );
    equal([current.value.text, isCut, exhausted], ["x", true, true]);
    equal(brief(records), ["a modify 1", "stuck timeout 1", "b out_of_budget 0"]);
  }),
  attemptsCase("a-hook-cut-by-the-budget-still-asks-its-policy", async () => {
    const { now, spend } = createClock();
    const { failure } = await run([hook("a", () => (spend(500), "x"), { policy: failClosed })], { budgetMs: 100, now });
    equal([failure?.noVerdict.kind, failure?.effect], ["timeout", "deny"]);
  }),
  attemptsCase("retries-stop-with-the-budget", async () => {
    const { now, spend } = createClock();
    const { records } = await run(
      [
        hook(
          "a",
          failing(99, "x", () => spend(40)),
          { retryCount: 99 },
        ),
      ],
      {
        budgetMs: 100,
        now,
      },
    );
    equal(brief(records), ["a hook_error 1", "a hook_error 2", "a timeout 3"]);
    equal(records.at(-1)?.failed_open, true);
  }),
  attemptsCase("retries-stop-when-the-host-gives-up", async () => {
    const controller = new AbortController();
    const giveUp: Call = () => (controller.abort(), Promise.reject(new Error("no")));
    const { aborted, records } = await run([hook("a", giveUp, { retryCount: 9 })], { signal: controller.signal });
    equal([aborted, records.length], [true, 1]);
  }),
  attemptsCase("what-a-transport-notes-is-in-the-record-of-that-call", async () => {
    const { records } = await run([
      hook("a", (_current, scope) => (scope.note({ usage: 1 }), scope.note({ model: "m" }), "x")),
      hook("b", (_current, scope) => (scope.note({ usage: 2 }), Promise.reject(new Error("no")))),
      hook("c", () => "y"),
    ]);
    equal(
      records.map(({ detail }) => detail),
      [{ usage: 1, model: "m" }, { usage: 2 }, undefined],
    );
  }),
];
