import { HookCallError } from "../../src/errors.ts";
import type { LifecycleOutcome } from "../../src/jcli/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { createStages, feedbackOf, hook, stop } from "./stored-sessions-stage.ts";

const missing = { hook: "session.store", kind: "store_unavailable" };

function missingOf({ trace }: LifecycleOutcome): unknown {
  const [record] = trace.records;
  return record && { hook: record.hook, kind: record.kind, failed_open: record.failed_open };
}

const staleness = {
  "a session that is known costs no look and no promise": async () => {
    const { store, node, advance } = createStages();
    const { stored } = node();
    await stored.register("s", hook("a"));
    const before = store.lookCount;
    advance(store.maxAgeMs - 1);
    ok(Array.isArray(stored.find("s", "stop", {})), "it is there at once");
    equal(store.lookCount, before);
    advance(1);
    ok(stored.find("s", "stop", {}) instanceof Promise, "it is looked at again");
  },
  "what another changes is seen within the bound, also when its news is lost": async () => {
    const { store, node, advance } = createStages();
    const [a, b] = [node(), node()];
    await a.stored.register("s", hook("a"));
    equal(feedbackOf(await b.manager.run(stop)), "a");
    store.losesNews = true;
    await a.stored.end("s");
    advance(store.maxAgeMs - 1);
    equal(feedbackOf(await b.manager.run(stop)), "a");
    advance(1);
    equal(feedbackOf(await b.manager.run(stop)), undefined);
    await a.stored.register("s", hook("b"));
    advance(store.maxAgeMs);
    equal(feedbackOf(await b.manager.run(stop)), "b");
  },
  "a new connection makes everything that is known one of before": async () => {
    const { store, node } = createStages();
    const [a, b] = [node(), node()];
    await b.manager.run(stop);
    store.losesNews = true;
    await a.stored.register("s", hook("a"));
    store.reconnect();
    equal(feedbackOf(await b.manager.run(stop)), "a");
  },
  "news that come while it is looked are not missed": async () => {
    const { store, node } = createStages();
    const [a, b] = [node(), node()];
    await a.stored.register("s", hook("a"));
    store.onLook = async () => {
      store.onLook = undefined;
      await a.stored.end("s");
    };
    equal(feedbackOf(await b.manager.run(stop)), undefined);
    store.onLook = async () => {
      store.onLook = undefined;
      await a.stored.register("t", hook("b"));
    };
    equal(feedbackOf(await b.manager.run({ ...stop, session_id: "t" })), "b");
  },
  "many events of one session look once": async () => {
    const { store, node } = createStages();
    const [a, b] = [node(), node()];
    await a.stored.register("s", hook("a"));
    const before = store.lookCount;
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => b.manager.run(stop)));
    equal(new Set(outcomes.map(feedbackOf)), new Set(["a"]));
    equal(store.lookCount, before + 1);
  },
  "no request waits for another's look where they are isolated": async () => {
    const { store, node } = createStages();
    const b = node({ isolatesRequests: true });
    const before = store.lookCount;
    await Promise.all(Array.from({ length: 3 }, () => b.manager.run(stop)));
    equal(store.lookCount, before + 3);
  },
  "only so many sessions are known at once": async () => {
    const { store, node } = createStages();
    const b = node();
    for (let index = 0; index < 10_001; index += 1) await b.stored.refresh(`${index}`);
    ok(Array.isArray(b.stored.find("10000", "stop", {})), "the last is known");
    ok(b.stored.find("0", "stop", {}) instanceof Promise, "the first is not");
    ok(Array.isArray(b.stored.find("x".repeat(257), "stop", {})), "what is no id has none");
    equal(store.lookCount, 10_002);
  },
  "a manager that is closed listens no more": async () => {
    const { store, node } = createStages();
    const { manager } = node();
    equal(store.listenerCount, 1);
    await manager.close();
    equal(store.listenerCount, 0);
  },
};

const outage = {
  "nothing is registered, removed or listed while the store is down": async () => {
    const { store, node } = createStages();
    const { stored, manager } = node();
    await stored.register("s", hook("a"));
    store.state = "down";
    for (const change of [
      stored.register("s", hook("b")),
      stored.remove("s", 0),
      stored.end("s"),
      stored.refresh("s"),
    ]) {
      await rejects(change, "ERR_STORE_UNAVAILABLE");
    }
    store.state = "up";
    await stored.refresh("s");
    equal(
      manager.hooks("s").map(({ label }) => label),
      ["a"],
    );
  },
  "hooks that are known go on, visibly": async () => {
    const { store, node, advance } = createStages();
    const { stored, manager, logged } = node();
    await stored.register("s", hook("a"));
    store.state = "down";
    equal((await manager.run(stop)).trace.records.length, 1);
    advance(store.maxAgeMs);
    const outcome = await manager.run(stop);
    equal(feedbackOf(outcome), "a");
    equal(missingOf(outcome), { ...missing, failed_open: true });
    ok(
      logged.some((line) => line.includes("cannot be looked up")),
      "the log says so",
    );
    const before = store.lookCount;
    equal(missingOf(await manager.run(stop)), { ...missing, failed_open: true });
    equal(store.lookCount, before);
    store.state = "up";
    advance(1000);
    equal((await manager.run(stop)).trace.records.length, 1);
  },
  "one session whose hooks cannot be read keeps no other from being looked at, and is named": async () => {
    const { store, node, advance } = createStages();
    const [a, b] = [node(), node({ onSessionStoreError: "abort" })];
    await a.stored.register("s", hook("a"));
    await store.replace({ session: "bad", version: 0, hooks: [1 as never], maxSessions: 100 });
    equal(feedbackOf(await b.manager.run(stop)), "a");
    store.losesNews = true;
    await a.stored.end("s");
    await a.stored.register("s", hook("b"));
    advance(store.maxAgeMs);
    const bad = await b.manager.run({ ...stop, session_id: "bad" });
    equal([bad.halted, missingOf(bad)], [true, { ...missing, failed_open: undefined }]);
    const outcome = await b.manager.run(stop);
    equal([feedbackOf(outcome), outcome.trace.records.length], ["b", 1]);
    ok(
      b.logged.some((line) => line.includes("cannot be looked up") && line.includes("bad")),
      b.logged.join("\n"),
    );
  },
  "a session of which nothing is known is stopped where that is wanted": async () => {
    const { store, node } = createStages();
    const { manager, load } = node({ onSessionStoreError: "abort" });
    load("user", JSON.stringify({ stop: [{ command: "a" }] }));
    store.state = "down";
    const { result, halted, trace } = await manager.run({ event: "pre_tool_execution", session_id: "s" });
    equal([result, halted], [{ action: "stop" }, true]);
    equal(
      trace.records.map(({ hook: name, kind }) => [name, kind]),
      [["session.store", "store_unavailable"]],
    );
    const outcome = await manager.run(stop);
    equal(
      outcome.trace.records.map(({ hook: name }) => name),
      ["user.stop[0]", "session.store"],
    );
    equal((await manager.run({ event: "stop" })).trace.records.length, 1);
    store.state = "up";
    equal((await manager.run({ event: "pre_tool_execution", session_id: "s" })).halted, false);
  },
  "or goes on without its hooks, visibly": async () => {
    const { store, node } = createStages();
    const { manager } = node();
    store.state = "down";
    const outcome = await manager.run({ event: "pre_tool_execution", session_id: "s" });
    equal([outcome.result, outcome.halted], [{}, false]);
    equal(missingOf(outcome), { ...missing, failed_open: true });
  },
  "a store that answers nothing holds an event no longer than its host waits": async () => {
    const { store, node } = createStages();
    const { manager } = node({ onSessionStoreError: "abort" });
    store.state = "hanging";
    const outcome = await manager.run(stop, { timeoutMs: 20 });
    equal([outcome.halted, outcome.trace.records[0]?.kind], [true, "store_unavailable"]);
    const controller = new AbortController();
    const run = manager.run(stop, { signal: controller.signal });
    controller.abort();
    await rejects(run, "ERR_ABORTED");
  },
  "what is only told waits for nothing, and does not get lost": async () => {
    const { store, node } = createStages();
    const [a, b] = [node(), node()];
    await a.stored.register("s", { event: "post_tool_execution_failure", command: "a" });
    await a.stored.register("s", { event: "session_start", command: "b" });
    await b.manager.run({ event: "session_start", session_id: "s" });
    await b.manager.flush(1000);
    equal(
      b.commands.map(({ command }) => command),
      ["b"],
    );
    store.state = "down";
    const c = node();
    await c.manager.run({ event: "session_start", session_id: "s" });
    await c.manager.flush(1000);
    ok(
      c.logged.some((line) => line.includes("session.store session_start store_unavailable")),
      c.logged.join("\n"),
    );
    await c.manager.run({ event: "session_end", session_id: "s" });
    ok(
      c.logged.some((line) => line.includes("still kept")),
      c.logged.join("\n"),
    );
  },
  "an error that is none of ours is one of the store": async () => {
    const { store, node } = createStages();
    const { manager, logged } = node();
    store.onLook = () => Promise.reject(new HookCallError("hook_error", "odd"));
    equal((await manager.run(stop)).trace.records[0]?.kind, "store_unavailable");
    ok(
      logged.some((line) => line.includes("odd")),
      "the log says what it was",
    );
  },
};

/** How long what a manager knows of sessions is good for, and what it does without the store. */
export const storedSessionOutageCases: readonly Case[] = casesOf(
  { topic: "stored-sessions-outage", source: "docs/yaml.md, Hooks of a session" },
  { ...staleness, ...outage },
);
