import { type Case, equal, ok, rejects } from "./case.ts";
import { commandsAt, createBench, createGate, prints } from "./jcli-fixture.ts";

function backgroundCase(id: string, test: () => Promise<void>): Case {
  return { id: `jcli-background/${id}`, source: "YAML hook system, section 2", run: test };
}

const scripts = { a: prints({ retry_feedback: "a" }) };

/** Events that only tell: their hooks run beside the host. */
export const jcliBackgroundCases: readonly Case[] = [
  backgroundCase("notifications-answer-at-once", async () => {
    const gate = createGate();
    const { manager, load, commands } = createBench({ wait: () => gate.opened.then(() => '{"user_input":"x"}') });
    load("user", commandsAt("post_send_message", "wait"));
    const context = {
      event: "post_send_message",
      user_input: "hi",
      messages: [{ role: "user", content: "hi" }],
    } as const;
    const { result, halted, trace } = await manager.run(context);
    equal([result, halted, trace.records, commands.length], [{}, false, [], 0]);
    gate.open();
    await manager.flush(1000);
    equal([commands.length, manager.hooks()[0]?.metrics.successes], [1, 1]);
  }),
  backgroundCase("notifications-see-the-context-as-it-was", async () => {
    const { manager, load, commands } = createBench(scripts);
    load("user", commandsAt("session_start", "a"));
    const messages = [{ role: "user", content: "before" }];
    await manager.run({ event: "session_start", messages });
    Reflect.set(messages[0] ?? {}, "content", "after");
    await manager.flush(1000);
    ok(commands[0]?.input.includes("before"), "a copy was taken");
  }),
  backgroundCase("notifications-of-a-session-keep-their-order", async () => {
    const order: string[] = [];
    const { manager } = createBench({});
    for (const event of ["session_start", "post_send_message", "session_end"] as const) {
      manager.addBuiltin(event, async (context) => void order.push(`${context.event} ${context.session_id}`), {
        name: "a",
      });
    }
    for (const event of ["session_start", "post_send_message", "session_end"] as const)
      await manager.run({ event, session_id: "one" });
    await manager.flush(1000);
    equal(order, ["session_start one", "post_send_message one", "session_end one"]);
  }),
  backgroundCase("one-sessions-slow-hook-does-not-hold-another", async () => {
    const { manager } = createBench({});
    let isTold = false;
    manager.addBuiltin(
      "session_start",
      ({ session_id }) => (session_id === "one" ? new Promise(() => {}) : void (isTold = true)),
      { name: "a" },
    );
    await manager.run({ event: "session_start", session_id: "one" });
    await manager.run({ event: "session_start", session_id: "two" });
    await manager.flush(20);
    ok(isTold, "the other session's hook ran");
    await manager.close();
  }),
  backgroundCase("too-many-notifications-are-dropped-and-counted", async () => {
    const { manager, logged } = createBench({}, { maxBackgroundEvents: 2 });
    let toldCount = 0;
    manager.addBuiltin("session_start", () => void (toldCount += 1), { name: "a" });
    for (let index = 0; index < 5; index += 1)
      await Promise.all([
        manager.run({ event: "session_start" }),
        manager.run({ event: "session_start" }),
        manager.run({ event: "session_start" }),
      ]).then(() => manager.flush(1000));
    equal([toldCount, logged.filter((line) => line.includes("dropped")).length], [10, 1]);
  }),
  backgroundCase("closing-cuts-the-background-and-refuses-what-comes", async () => {
    let isCut = false;
    const { manager } = createBench({});
    const stuck = (_context: object, { signal }: { readonly signal: AbortSignal }): Promise<undefined> =>
      new Promise(() => signal.addEventListener("abort", () => void (isCut = true)));
    manager.addBuiltin("session_end", stuck, { name: "a" });
    await manager.run({ event: "session_end" });
    await manager.flush(5);
    await manager.close();
    await manager.close();
    ok(isCut, "the hook was cut");
    await rejects(manager.run({ event: "stop" }), "ERR_CLOSED");
  }),
];
