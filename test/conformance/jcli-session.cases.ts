import { LifecycleManager, type SavedHook } from "../../src/jcli/index.ts";
import { type Case, equal, rejects } from "./case.ts";
import { commandsAt, createBench, createGate, fails, prints } from "./jcli-fixture.ts";

function sessionCase(id: string, test: () => Promise<void>): Case {
  return { id: `jcli-session/${id}`, source: "YAML hook system, sections 1, 7 and 8", run: test };
}

const scripts = { a: prints({ retry_feedback: "a" }), b: prints({ retry_feedback: "b" }), no: fails };
const one = { event: "stop", session_id: "one" } as const;
const two = { event: "stop", session_id: "two" } as const;

async function throwing(work: () => unknown): Promise<unknown> {
  return work();
}

/** Session hooks, levels and counters. */
export const jcliSessionCases: readonly Case[] = [
  sessionCase("hooks-are-of-one-session", async () => {
    const { manager } = createBench(scripts);
    equal(manager.sessions.register("one", { event: "stop", command: "a" }), 0);
    equal((await manager.run(one)).result, { retry_feedback: "a" });
    equal((await manager.run(two)).result, {});
    equal((await manager.run({ event: "stop" })).result, {});
  }),
  sessionCase("the-list-shows-everything", async () => {
    const { manager, load } = createBench(scripts);
    manager.addBuiltin("stop", () => undefined, { name: "first" });
    load("user", commandsAt("stop", { command: "a", timeout: 2, retry: 1, on_error: "abort" }));
    manager.sessions.register("one", { event: "session_end", command: "no" });
    manager.sessions.register("one", {
      event: "stop",
      type: "llm",
      prompt: "b  {{model}}\nx",
      model: "m",
      filter: { model_prefix: "g" },
    });
    await manager.run(one);
    const list = manager.hooks("one").map(({ metrics, last_fired: lastFired, latency_ms: latency, ...hook }) => {
      const isTimed = Date.parse(lastFired ?? "") > 0 && (latency?.p50 ?? -1) >= 0;
      return { ...hook, isTimed, ms: metrics.total_ms >= 0, ...metrics, total_ms: 0 };
    });
    const counts = {
      isTimed: true,
      ms: true,
      executions: 1,
      successes: 1,
      failures: 0,
      skipped: 0,
      total_ms: 0,
      ignored_fields: [],
    };
    const never = { ...counts, isTimed: false, executions: 0, successes: 0 };
    equal(list, [
      {
        index: 0,
        event: "session_end",
        level: "session",
        session_index: 0,
        type: "bash",
        label: "no",
        timeout_ms: 10_000,
        retry: 0,
        on_error: "skip",
        ...never,
      },
      {
        index: 1,
        event: "stop",
        level: "builtin",
        type: "in-process",
        label: "first",
        timeout_ms: 10_000,
        retry: 0,
        on_error: "skip",
        ...counts,
      },
      {
        index: 2,
        event: "stop",
        level: "user",
        type: "bash",
        label: "a",
        timeout_ms: 2000,
        retry: 1,
        on_error: "abort",
        ...counts,
      },
      {
        index: 3,
        event: "stop",
        level: "session",
        session_index: 1,
        type: "llm",
        label: "b {{model}} x",
        timeout_ms: 30_000,
        retry: 1,
        on_error: "skip",
        model: "m",
        filter: { model_prefix: "g" },
        ...never,
        skipped: 1,
      },
    ]);
    equal(manager.hooks().length, 2);
  }),
  sessionCase("indices-shift-after-a-removal-and-counters-move-along", async () => {
    const { manager } = createBench(scripts);
    for (const command of ["a", "b", "no"]) manager.sessions.register("one", { event: "stop", command });
    await manager.run(one);
    manager.sessions.remove("one", 1);
    const list = manager
      .hooks("one")
      .map(({ session_index, label, metrics }) => [session_index, label, metrics.failures]);
    equal(list, [
      [0, "a", 0],
      [1, "no", 1],
    ]);
    await rejects(
      throwing(() => manager.sessions.remove("one", 2)),
      "ERR_INVALID_PARAMS",
    );
    await rejects(
      throwing(() => manager.sessions.remove("two", 0)),
      "ERR_INVALID_PARAMS",
    );
  }),
  sessionCase("what-does-not-fit-is-refused", async () => {
    const { sessions } = createBench(scripts).manager;
    const wrong = [
      undefined,
      "stop",
      { command: "a" },
      { event: "stopp", command: "a" },
      { event: "stop" },
      { event: "stop", command: 5 },
      { event: "stop", command: "a", timeout: 0 },
      { event: "stop", type: "htp", url: "https://example.com" },
    ];
    for (const request of wrong)
      await rejects(
        throwing(() => sessions.register("one", request)),
        "ERR_INVALID_PARAMS",
      );
    await rejects(
      throwing(() => sessions.register("", { event: "stop", command: "a" })),
      "ERR_INVALID_PARAMS",
    );
    equal(sessions.hooks("one"), []);
  }),
  sessionCase("bash-can-be-forbidden", async () => {
    const { manager } = createBench(scripts, { sessionTypes: ["llm"] });
    await rejects(
      throwing(() => manager.sessions.register("one", { event: "stop", command: "a" })),
      "ERR_FORBIDDEN",
    );
    equal(manager.sessions.register("one", { event: "stop", type: "llm", prompt: "a" }), 0);
    const saved = [
      { event: "stop", command: "a" },
      { event: "stop", type: "llm", prompt: "b" },
    ];
    equal(manager.sessions.restore("one", saved), ["[0] bash hooks may not be registered here"]);
    equal(
      manager.hooks("one").map(({ label }) => label),
      ["b"],
    );
  }),
  sessionCase("there-are-only-so-many", async () => {
    const { sessions } = createBench(scripts, { maxSessionHooks: 2, maxSessions: 2 }).manager;
    const hook = { event: "stop", command: "a" };
    for (const id of ["one", "one", "two"]) sessions.register(id, hook);
    await rejects(
      throwing(() => sessions.register("one", hook)),
      "ERR_OVERLOADED",
    );
    await rejects(
      throwing(() => sessions.register("three", hook)),
      "ERR_OVERLOADED",
    );
    sessions.end("one");
    equal(sessions.register("three", hook), 0);
  }),
  sessionCase("saved-hooks-can-be-restored", async () => {
    const { manager } = createBench(scripts);
    manager.sessions.register("one", { event: "stop", command: "a", timeout: 0.5, retry: 2, on_error: "abort" });
    manager.sessions.register("one", {
      event: "stop",
      type: "llm",
      prompt: "b",
      model: "m",
      filter: { model_prefix: "g" },
    });
    const saved = JSON.parse(JSON.stringify(manager.sessions.save("one"))) as readonly SavedHook[];
    const other = createBench(scripts).manager;
    other.sessions.register("two", { event: "stop", command: "no" });
    equal(other.sessions.restore("two", saved), []);
    equal(
      other.hooks("two"),
      manager.hooks("one").map((hook) => hook),
    );
    equal(other.sessions.save("two"), saved);
    await rejects(
      throwing(() => other.sessions.restore("two", "x")),
      "ERR_INVALID_PARAMS",
    );
  }),
  sessionCase("a-session-ends-with-its-last-event", async () => {
    const { manager, commands } = createBench(scripts);
    for (const event of ["stop", "session_end"]) manager.sessions.register("one", { event, command: "a" });
    await manager.run({ event: "session_end", session_id: "one" });
    await manager.flush(1000);
    equal([commands.length, manager.sessions.hooks("one")], [1, []]);
    equal((await manager.run(one)).result, {});
  }),
  sessionCase("a-reload-keeps-builtins-sessions-and-counters", async () => {
    const { manager, load } = createBench(scripts);
    manager.addBuiltin("stop", () => undefined, { name: "first" });
    manager.sessions.register("one", { event: "stop", command: "b" });
    load("user", commandsAt("stop", "a", "no"));
    load("project", commandsAt("stop", "a"));
    await manager.run(one);
    load("user", commandsAt("stop", "b"));
    await manager.run(one);
    const list = manager.hooks("one").map(({ level, label, metrics }) => `${level} ${label} ${metrics.executions}`);
    equal(list, ["builtin first 2", "user b 2", "project a 2", "session b 2"]);
    load("user", "{}");
    equal(manager.hooks().length, 2);
  }),
  sessionCase("two-hooks-with-one-command-stay-apart", async () => {
    const { manager, load } = createBench(scripts);
    load("user", commandsAt("stop", { command: "a", filter: { model_prefix: "x" } }, "a"));
    await manager.run(one);
    equal(
      manager.hooks().map(({ metrics }) => [metrics.executions, metrics.skipped]),
      [
        [0, 1],
        [1, 0],
      ],
    );
  }),
  sessionCase("a-reload-does-not-touch-a-call-under-way", async () => {
    const gate = createGate();
    const { manager, load } = createBench({ ...scripts, wait: () => gate.opened.then(() => "{}") });
    load("user", commandsAt("stop", "wait", "a"));
    const run = manager.run(one);
    load("user", "{}");
    gate.open();
    equal((await run).result, { retry_feedback: "a" });
  }),
  sessionCase("a-type-without-a-port-is-not-loaded", async () => {
    const manager = new LifecycleManager();
    const { load } = createBench(scripts);
    const hooks = load("user", commandsAt("stop", "a"));
    await rejects(
      throwing(() => manager.load("user", hooks)),
      "RangeError",
    );
    equal([manager.hooks(), manager.types], [[], []]);
  }),
  sessionCase("bounds-are-checked", async () => {
    for (const options of [
      { chainTimeoutMs: 0 },
      { maxBackgroundEvents: 0 },
      { maxSessionHooks: -1 },
      { maxSessions: Number.NaN },
    ]) {
      await rejects(
        throwing(() => new LifecycleManager(options)),
        "RangeError",
      );
    }
    const { manager } = createBench({});
    await rejects(
      throwing(() => manager.addBuiltin("stop", () => undefined, { name: "" })),
      "TypeError",
    );
    await rejects(
      throwing(() => manager.addBuiltin("stop", () => undefined, { name: "a", timeoutMs: 0 })),
      "RangeError",
    );
  }),
];
