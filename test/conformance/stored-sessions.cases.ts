import type { HookgateError } from "../../src/errors.ts";
import { type Case, equal, rejects } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { createBench } from "./jcli-fixture.ts";
import { createStages, feedbackOf, hook, labelsOf, scripts, stop } from "./stored-sessions-stage.ts";

const sharing = {
  "what cannot be read is not changed in part, and can be taken away": async () => {
    const { node, store } = createStages();
    const { stored, manager } = node();
    await stored.register("s", hook("a"));
    store.isGarbled = true;
    const other = node();
    for (const change of [stored.register("s", hook("b")), stored.remove("s", 0), stored.refresh("s")]) {
      await rejects(change, "ERR_STORE_UNAVAILABLE");
    }
    const { trace } = await other.manager.run(stop);
    equal(
      trace.records.map(({ kind }) => kind),
      ["store_unavailable"],
    );
    await stored.end("s");
    equal(await stored.register("s", hook("b")), 0);
    store.isGarbled = false;
    equal(feedbackOf(await manager.run(stop)), "b");
  },
  "what one node registers another runs, and removes for all": async () => {
    const { node } = createStages();
    const [a, b] = [node(), node()];
    equal(feedbackOf(await b.manager.run(stop)), undefined);
    equal(await a.stored.register("s", hook("a")), 0);
    equal(await b.stored.register("s", hook("b")), 1);
    equal(feedbackOf(await a.manager.run(stop)), "b");
    equal(feedbackOf(await b.manager.run(stop)), "b");
    equal(labelsOf(b), ["0 a", "1 b"]);
    await b.stored.remove("s", 1);
    equal(feedbackOf(await a.manager.run(stop)), "a");
    equal(labelsOf(a), ["0 a"]);
    await rejects(b.stored.remove("s", 1), "ERR_INVALID_PARAMS");
    await a.stored.end("s");
    equal(feedbackOf(await b.manager.run(stop)), undefined);
    equal(labelsOf(b), []);
  },
  "fifty registered at once from two nodes are all there, and no more than may": async () => {
    const { node } = createStages();
    const nodes = [node({ maxSessionHooks: 40 }), node({ maxSessionHooks: 40 })];
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, async (_, index) => nodes[index % 2]?.stored.register("s", hook(`h${index}`))),
    );
    const indices = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    equal(
      indices.toSorted((left, right) => Number(left) - Number(right)),
      Array.from({ length: 40 }, (_, index) => index),
    );
    for (const result of results) {
      if (result.status === "rejected") equal((result.reason as HookgateError).code, "ERR_OVERLOADED");
    }
    await nodes[0]?.stored.refresh("s");
    const listed = nodes[0] === undefined ? [] : labelsOf(nodes[0]);
    const registered = results.flatMap((result, index) =>
      result.status === "fulfilled" ? [`${result.value} h${index}`] : [],
    );
    equal(new Set(listed), new Set(registered));
  },
  "a node that starts again has them, with counts of its own": async () => {
    const { node } = createStages();
    const before = node();
    await before.stored.register("s", hook("a"));
    await before.manager.run(stop);
    await before.manager.close();
    const after = node();
    equal(feedbackOf(await after.manager.run(stop)), "a");
    equal(
      after.manager.hooks("s").map(({ metrics }) => metrics.executions),
      [1],
    );
  },
  "counts and indices move along with a change by another": async () => {
    const { node } = createStages();
    const [a, b] = [node(), node()];
    for (const command of ["a", "no", "b"]) await a.stored.register("s", hook(command));
    await b.manager.run(stop);
    await a.stored.remove("s", 0);
    await b.manager.run(stop);
    await a.stored.register("s", hook("a"));
    await b.manager.run(stop);
    equal(
      b.manager.hooks("s").map(({ session_index, label, metrics }) => [session_index, label, metrics.executions]),
      [
        [0, "no", 3],
        [1, "b", 3],
        [2, "a", 1],
      ],
    );
  },
  "there are only so many sessions": async () => {
    const { node } = createStages();
    const [a, b] = [node({ maxSessions: 2 }), node({ maxSessions: 2 })];
    await a.stored.register("1", hook("a"));
    await b.stored.register("2", hook("a"));
    await rejects(a.stored.register("3", hook("a")), "ERR_OVERLOADED");
    await b.stored.end("1");
    equal(await a.stored.register("3", hook("a")), 0);
  },
  "the last event of a session takes its hooks away for all": async () => {
    const { node } = createStages();
    const [a, b] = [node(), node()];
    await a.stored.register("s", hook("a"));
    await a.stored.register("s", { event: "session_end", command: "b" });
    await b.manager.run({ event: "session_end", session_id: "s" });
    await b.manager.flush(1000);
    equal(
      b.commands.map(({ command }) => command),
      ["b"],
    );
    equal((await a.manager.run(stop)).trace.records, []);
  },
  "what was in memory is taken over, and nothing twice": async () => {
    const { node } = createStages();
    const old = createBench(scripts).manager;
    for (const command of ["a", "b"]) old.sessions.register("s", hook(command));
    const next = node();
    await next.stored.register("s", hook("b"));
    for (let round = 0; round < 2; round += 1) equal(await next.stored.adopt(old.sessions), []);
    equal(labelsOf(next), ["0 b", "1 a"]);
    equal(await node({ maxSessionHooks: 1 }).stored.adopt(old.sessions), []);
  },
  "what does not fit is refused before it is written": async () => {
    const { store, node } = createStages();
    const { stored } = node({ sessionTypes: ["llm"] });
    for (const wrong of [undefined, {}, { event: "stopp", type: "llm", prompt: "a" }, { event: "stop", type: "llm" }]) {
      await rejects(stored.register("s", wrong), "ERR_INVALID_PARAMS");
    }
    await rejects(stored.register("", { event: "stop", type: "llm", prompt: "a" }), "ERR_INVALID_PARAMS");
    await rejects(stored.register("s", hook("a")), "ERR_FORBIDDEN");
    equal(store.lookCount, 0);
  },
  "what is in a store is not changed past it": async () => {
    const { manager } = createStages().node();
    await rejects(
      Promise.resolve().then(() => manager.sessions),
      "TypeError",
    );
  },
};

const leftOut = {
  "a command that a node does not allow is not run there, and said": async () => {
    const { node } = createStages();
    const [a, b] = [node(), node({ sessionTypes: ["llm"] })];
    await a.stored.register("s", hook("a"));
    await a.stored.register("s", { event: "stop", type: "llm", prompt: "b now" });
    const { result, trace } = await b.manager.run(stop);
    equal([result.retry_feedback, trace.records.length, b.commands.length], ["b", 1, 0]);
    equal(labelsOf(b), ["1 b now"]);
    for (let count = 0; count < 3; count += 1) await b.manager.run(stop);
    equal(
      b.logged.filter((line) => line.includes("may not run here")),
      ["a hook of a session may not run here s 0 bash hooks may not be registered here"],
    );
    equal(feedbackOf(await a.manager.run(stop)), "b");
  },
  "a guard that may not run stops what it guards": async () => {
    const { node } = createStages();
    const [a, b] = [node(), node({ sessionTypes: ["llm"] })];
    const guard = { event: "pre_tool_execution", command: "a", on_error: "abort", filter: { tool_name: "rm" } };
    await a.stored.register("s", guard);
    const call = { event: "pre_tool_execution", session_id: "s" } as const;
    const { result, halted, trace } = await b.manager.run({ ...call, tool_name: "rm" });
    equal([result, halted, trace.records[0]?.kind], [{ action: "stop" }, true, "unsupported_runtime"]);
    equal((await b.manager.run({ ...call, tool_name: "ls" })).halted, false);
    equal(b.commands, []);
  },
  "what nobody can read is left out, but for a guard": async () => {
    const { store, node } = createStages();
    const hooks = [{ event: "stop", type: "new" }, { event: "none", on_error: "abort" }, hook("a")];
    await store.replace({ session: "s", version: 0, hooks, maxSessions: 10 });
    const { manager, logged } = node();
    equal(feedbackOf(await manager.run(stop)), "a");
    equal(logged.filter((line) => line.includes("may not run here")).length, 2);
    const guard = { event: "stop", type: "new", on_error: "abort" };
    await store.replace({ session: "t", version: 0, hooks: [guard], maxSessions: 10 });
    equal((await manager.run({ ...stop, session_id: "t" })).halted, true);
  },
};

/** Hooks of sessions that several managers share. */
export const storedSessionCases: readonly Case[] = casesOf(
  { topic: "stored-sessions", source: "docs/yaml.md, Hooks of a session" },
  { ...sharing, ...leftOut },
);
