import { HookCallError } from "../../src/errors.ts";
import type { LifecycleOutcome } from "../../src/jcli/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { commandsAt, createBench, fails, prints, type Script } from "./jcli-fixture.ts";

function chainCase(id: string, test: () => Promise<void>): Case {
  return { id: `jcli-chain/${id}`, source: "YAML hook system, sections 3 and 9", run: test };
}

function brief({ trace }: LifecycleOutcome): readonly string[] {
  return trace.records.map(({ hook, outcome, kind, attempt }) => `${hook} ${kind ?? outcome} ${attempt}`);
}

/** A script that adds a word to the user's input. */
function adds(by: string): Script {
  return ({ user_input }) => JSON.stringify({ user_input: `${user_input} ${by}` });
}

const SEND = "pre_send_message";
const send = { event: SEND, user_input: "hi" } as const;

/** How the hooks of an event make one result. */
export const jcliChainCases: readonly Case[] = [
  chainCase("a-result-changes-the-input", async () => {
    const { manager, load, commands } = createBench({ a: prints({ user_input: "hooked" }) });
    load("user", commandsAt(SEND, "a"));
    const { result, halted } = await manager.run(send);
    equal([result, halted], [{ user_input: "hooked" }, false]);
    equal(commands[0]?.env, { JCLI_HOOK_EVENT: SEND, JCLI_CWD: "/work" });
    equal([commands[0]?.cwd, JSON.parse(commands[0]?.input ?? "")], ["/work", { ...send, cwd: "/work" }]);
  }),
  chainCase("nothing-and-an-empty-object-change-nothing", async () => {
    const { manager, load } = createBench({
      a: () => "\n",
      b: () => "",
      c: () => " {} ",
      d: prints({ user_input: "hi" }),
    });
    load("user", commandsAt(SEND, "a", "b", "c", "d"));
    const outcome = await manager.run(send);
    equal(outcome.result, {});
    ok(
      outcome.trace.records.every(({ outcome: name }) => name === "continue"),
      "all of them went on",
    );
  }),
  chainCase("a-builtins-change-is-seen-by-a-session-hook", async () => {
    const { manager } = createBench({ s: ({ user_input }) => JSON.stringify({ user_input: `${user_input} s` }) });
    manager.addBuiltin(SEND, ({ user_input }) => ({ user_input: `${user_input} b` }), { name: "b" });
    manager.sessions.register("one", { event: SEND, command: "s" });
    equal((await manager.run({ ...send, session_id: "one" })).result, { user_input: "hi b s" });
  }),
  chainCase("the-levels-are-called-in-order", async () => {
    const { manager, load } = createBench({ u: adds("u"), v: adds("v"), p: adds("p"), s: adds("s") });
    manager.sessions.register("one", { event: SEND, command: "s" });
    load("project", commandsAt(SEND, "p"));
    load("user", commandsAt(SEND, "u", "v"));
    manager.addBuiltin(SEND, ({ user_input }) => ({ user_input: `${user_input} b` }), { name: "b" });
    equal((await manager.run({ ...send, session_id: "one" })).result, { user_input: "hi b u v p s" });
  }),
  chainCase("the-second-writer-wins", async () => {
    const { manager, load } = createBench({ a: prints({ user_input: "a" }), b: prints({ user_input: "b" }) });
    load("user", commandsAt(SEND, "a", "b"));
    equal((await manager.run(send)).result, { user_input: "b" });
  }),
  chainCase("tool-error-is-passed-on", async () => {
    const { manager, load } = createBench({
      a: prints({ tool_error: "first" }),
      b: ({ tool_error }) => JSON.stringify({ tool_error: `${tool_error} second` }),
    });
    load("user", commandsAt("post_tool_execution_failure", "a", "b"));
    const { result } = await manager.run({ event: "post_tool_execution_failure", tool_name: "Bash", tool_error: "x" });
    equal(result, { tool_error: "first second" });
  }),
  chainCase("on-error-abort-halts-without-a-change", async () => {
    const { manager, load, commands } = createBench({
      a: prints({ user_input: "a" }),
      no: fails,
      b: prints({ user_input: "b" }),
    });
    load("user", commandsAt(SEND, "a", { command: "no", on_error: "abort" }, "b"));
    const { result, halted } = await manager.run(send);
    equal([result, halted, commands.map(({ command }) => command)], [{ action: "stop" }, true, ["a", "no"]]);
  }),
  chainCase("stop-is-a-synonym-of-abort", async () => {
    const { manager, load } = createBench({ no: fails });
    load("user", commandsAt(SEND, { command: "no", on_error: "stop" }));
    equal((await manager.run(send)).result, { action: "stop" });
  }),
  chainCase("a-guard-that-fails-never-lets-the-tool-run", async () => {
    const { manager, load } = createBench({ guard: fails });
    load("user", commandsAt("pre_tool_execution", { command: "guard", on_error: "abort" }));
    const { result } = await manager.run({ event: "pre_tool_execution", tool_name: "Bash", tool_arguments: "{}" });
    equal(result, { action: "stop" });
  }),
  chainCase("an-abort-where-stop-means-nothing-only-ends-the-chain", async () => {
    const { manager, load, commands } = createBench({ a: prints({ tool_result: "a" }), no: fails, b: prints({}) });
    load("user", commandsAt("post_tool_execution", "a", { command: "no", on_error: "abort" }, "b"));
    const { result, halted } = await manager.run({ event: "post_tool_execution", tool_name: "Bash", tool_result: "x" });
    equal([result, halted, commands.length], [{}, true, 2]);
  }),
  chainCase("on-error-skip-goes-on", async () => {
    const { manager, load } = createBench({ no: fails, b: prints({ user_input: "survived" }) });
    load("user", commandsAt(SEND, "no", "b"));
    const outcome = await manager.run(send);
    equal([outcome.result, outcome.halted], [{ user_input: "survived" }, false]);
    equal(outcome.trace.records[0]?.failed_open, true);
  }),
  chainCase("a-stop-drops-what-was-changed-before-it", async () => {
    const { manager, load, commands } = createBench({
      a: prints({ system_prompt: "a", additional_context: "x", system_message: "from a", retry_feedback: "from a" }),
      b: prints({ action: "stop", system_prompt: "b", retry_feedback: "again", system_message: "shown" }),
      c: prints({ system_prompt: "c" }),
    });
    load("user", commandsAt("pre_llm_request", "a", "b", "c"));
    const { result, halted } = await manager.run({ event: "pre_llm_request", system_prompt: "" });
    equal([result, halted], [{ action: "stop", retry_feedback: "again", system_message: "shown" }, true]);
    equal(commands.length, 2);
  }),
  chainCase("stop-with-retry-feedback", async () => {
    const { manager, load } = createBench({ a: prints({ action: "stop", retry_feedback: "cite a source" }) });
    load("user", commandsAt("stop", "a"));
    equal((await manager.run({ event: "stop" })).result, { action: "stop", retry_feedback: "cite a source" });
  }),
  chainCase("skip-leaves-out-the-tool", async () => {
    const { manager, load } = createBench({ a: prints({ tool_arguments: "{}" }), b: prints({ action: "skip" }) });
    load("user", commandsAt("pre_tool_execution", "a", "b"));
    const { result } = await manager.run({ event: "pre_tool_execution", tool_name: "Bash", tool_arguments: '{"a":1}' });
    equal(result, { action: "skip" });
  }),
  chainCase("injected-messages-are-joined-and-not-seen-later", async () => {
    const one = { role: "user", content: "one" };
    const two = { role: "user", content: "two" };
    const { manager, load, commands } = createBench({
      a: prints({ inject_messages: [one] }),
      b: prints({ messages: [two], inject_messages: [two], additional_context: "first" }),
      c: prints({ additional_context: "second", system_message: "" }),
    });
    load("user", commandsAt("pre_llm_request", "a", "b", "c"));
    const { result } = await manager.run({ event: "pre_llm_request", messages: [one] });
    equal(result, { messages: [two], inject_messages: [one, two], additional_context: "first\n\nsecond" });
    const seen = commands.map(({ input }) => JSON.parse(input) as object);
    equal(seen[1], { event: "pre_llm_request", messages: [one], cwd: "/work" });
    equal(seen[2], { event: "pre_llm_request", messages: [two], cwd: "/work" });
  }),
  chainCase("feedback-and-message-of-the-last-writer-win", async () => {
    const { manager, load } = createBench({
      a: prints({ retry_feedback: "a", system_message: "a" }),
      b: prints({ retry_feedback: "b", system_message: "b" }),
    });
    load("user", commandsAt("post_llm_response", "a", "b"));
    const { result } = await manager.run({ event: "post_llm_response", assistant_output: "x" });
    equal(result, { retry_feedback: "b", system_message: "b" });
  }),
  chainCase("retry-counts-every-attempt", async () => {
    const { manager, load } = createBench({ no: fails });
    load("user", commandsAt(SEND, { command: "no", retry: 2 }));
    equal(
      brief(await manager.run(send)),
      [1, 2, 3].map((attempt) => `user.${SEND}[0] exited ${attempt}`),
    );
    const { executions, failures, successes, skipped } = manager.hooks()[0]?.metrics ?? {};
    equal([executions, failures, successes, skipped], [3, 3, 0, 0]);
  }),
  chainCase("a-verdict-ends-the-retries", async () => {
    let callCount = 0;
    const second: Script = () => {
      callCount += 1;
      if (callCount === 1) throw new HookCallError("exited", "once");
      return '{"user_input":"ok"}';
    };
    const { manager, load } = createBench({ second });
    load("user", commandsAt(SEND, { command: "second", retry: 5 }));
    equal([(await manager.run(send)).result, callCount], [{ user_input: "ok" }, 2]);
    const { executions, failures, successes } = manager.hooks()[0]?.metrics ?? {};
    equal([executions, failures, successes], [2, 1, 1]);
  }),
  chainCase("a-filter-that-does-not-match-skips", async () => {
    const { manager, load, commands } = createBench({ a: prints({}) });
    load("user", commandsAt("pre_tool_execution", { command: "a", filter: { tool_name: "Write" } }));
    const outcome = await manager.run({ event: "pre_tool_execution", tool_name: "Bash" });
    equal([brief(outcome), commands.length], [["user.pre_tool_execution[0] filtered 0"], 0]);
    const { executions, skipped } = manager.hooks()[0]?.metrics ?? {};
    equal([executions, skipped], [0, 1]);
  }),
  chainCase("beyond-the-budget-nothing-runs-and-earlier-changes-stand", async () => {
    let atMs = 0;
    const slow: (reply: string) => Script = (reply) => () => ((atMs += 60), JSON.stringify({ user_input: reply }));
    const options = { chainTimeoutMs: 100, now: () => atMs };
    const { manager, load, commands } = createBench({ a: slow("a"), b: slow("b"), c: slow("c") }, options);
    load("user", commandsAt(SEND, "a", "b", "c"));
    const outcome = await manager.run(send);
    equal([outcome.result, outcome.halted, commands.length], [{ user_input: "a" }, false, 2]);
    equal(brief(outcome).slice(1), [`user.${SEND}[1] timeout 1`, `user.${SEND}[2] out_of_budget 0`]);
    equal(
      manager.hooks().map(({ metrics }) => metrics.executions),
      [1, 1, 0],
    );
  }),
  chainCase("the-budget-cuts-an-attempt-under-way", async () => {
    let isCut = false;
    const stuck: Script = (_input, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => void (isCut = true)));
    const { manager, load } = createBench({ stuck }, { chainTimeoutMs: 20 });
    load("user", commandsAt(SEND, { command: "stuck", timeout: 9, on_error: "abort" }));
    equal([(await manager.run(send)).result, isCut], [{ action: "stop" }, true]);
  }),
  chainCase("a-hooks-own-timeout-cuts-it", async () => {
    const { manager, load } = createBench({ stuck: () => new Promise(() => {}), b: prints({ user_input: "b" }) });
    load("user", commandsAt(SEND, { command: "stuck", timeout: 0.02 }, "b"));
    const outcome = await manager.run(send);
    equal([outcome.result, outcome.trace.records[0]?.kind], [{ user_input: "b" }, "timeout"]);
  }),
  chainCase("an-ignored-field-is-recorded-once", async () => {
    const { manager, load, logged } = createBench({ a: prints({ tool_result: "x", user_input: "ok", colour: "red" }) });
    load("user", commandsAt(SEND, "a"));
    equal((await manager.run(send)).result, { user_input: "ok" });
    await manager.run(send);
    equal(manager.hooks()[0]?.ignored_fields, ["tool_result"]);
    equal(logged.filter((line) => line.includes("no effect")).length, 1);
  }),
  chainCase("null-fields-are-absent", async () => {
    const { manager, load } = createBench({ a: prints({ user_input: null, action: null, retry_feedback: "x" }) });
    load("user", commandsAt(SEND, "a"));
    equal((await manager.run(send)).result, { retry_feedback: "x" });
  }),
  chainCase("a-result-of-the-wrong-shape-is-an-error", async () => {
    const wrong: readonly [unknown, string][] = [
      [{ user_input: 5 }, "bad_result"],
      [{ messages: [{ content: "no role" }] }, "bad_result"],
      [{ inject_messages: {} }, "bad_result"],
      [{ action: "abort" }, "unsupported_action"],
      [{ action: "" }, "unsupported_action"],
      [{ action: true }, "bad_result"],
      [{ tool_result: {} }, "bad_result"],
    ];
    for (const [result, kind] of wrong) {
      const { manager, load } = createBench({ a: () => JSON.stringify(result) });
      load("user", commandsAt(SEND, "a"));
      const outcome = await manager.run(send);
      equal([outcome.result, outcome.trace.records[0]?.kind], [{}, kind]);
    }
  }),
  chainCase("the-context-is-encoded-once-while-it-is-the-same", async () => {
    let readCount = 0;
    const message = {
      role: "user",
      get content() {
        readCount += 1;
        return "hi";
      },
    };
    const { manager, load, commands } = createBench({ a: prints({}), b: prints({ additional_context: "x" }) });
    load("user", commandsAt("pre_llm_request", "a", "b", "a", "a"));
    await manager.run({ event: "pre_llm_request", messages: [message] });
    equal([commands.length, readCount], [4, 1]);
  }),
  chainCase("a-builtin-cannot-change-what-others-see", async () => {
    const { manager } = createBench({});
    const messages = [{ role: "user", content: "hi" }];
    const seen: unknown[] = [];
    manager.addBuiltin("pre_llm_request", (context) => void Reflect.set(context.messages?.[0] ?? {}, "content", "x"), {
      name: "rude",
    });
    manager.addBuiltin("pre_llm_request", (context) => void seen.push(context.messages?.[0]?.content), {
      name: "next",
    });
    const { result } = await manager.run({ event: "pre_llm_request", messages });
    equal([result, seen, messages[0]?.content], [{}, ["hi"], "hi"]);
  }),
  chainCase("builtins-that-change-nothing-read-no-message", async () => {
    let readCount = 0;
    const messages = [1, 2, 3].map(() => ({
      role: "user",
      get content() {
        readCount += 1;
        return "hi";
      },
    }));
    const { manager } = createBench({});
    for (const name of ["a", "b", "c"]) {
      manager.addBuiltin("pre_llm_request", ({ model }) => (model === "x" ? { system_prompt: "" } : undefined), {
        name,
      });
    }
    await manager.run({ event: "pre_llm_request", model: "m", messages });
    equal(readCount, 0);
  }),
  chainCase("a-builtin-that-throws-is-no-verdict", async () => {
    const { manager } = createBench({});
    manager.addBuiltin("stop", () => Promise.reject(new Error("broken")), { name: "a", retryCount: 1 });
    manager.addBuiltin("stop", () => ({ retry_feedback: "b" }), { name: "b" });
    const outcome = await manager.run({ event: "stop" });
    equal(brief(outcome), ["builtin.stop[0] hook_error 1", "builtin.stop[0] hook_error 2", "builtin.stop[1] modify 1"]);
    equal(manager.hooks()[0]?.last_error, "broken");
  }),
  chainCase("the-host-can-give-up", async () => {
    const { manager, load } = createBench({ stuck: () => new Promise(() => {}) });
    load("user", commandsAt(SEND, "stuck"));
    const controller = new AbortController();
    const run = manager.run(send, { signal: controller.signal });
    controller.abort();
    await rejects(run, "ERR_ABORTED");
  }),
];
