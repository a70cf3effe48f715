import { PortPool } from "../../src/config/index.ts";
import { HookgateError } from "../../src/errors.ts";
import { createReloader } from "../../src/gateway/index.ts";
import { silentLog } from "../../src/log.ts";
import {
  createCompositeHost,
  createLocalPort,
  type Hook,
  HookManager,
  ReloadableHost,
} from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, createGate, managerOf, toolCall } from "./fixture.ts";
import { createBench } from "./jcli-fixture.ts";

const SOURCE = "docs/operations.md, Reload";

const denies = (reason: string, more: Hook = {}): Hook => ({
  beforeTool: () => ({ action: "deny_tool", reason }),
  ...more,
});

/** Lets everything that can go on do so. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port2.addEventListener("message", () => {
      port1.close();
      resolve();
    });
    port2.start();
    port1.postMessage(undefined);
  });
}

/** What becomes of calls when a host's hooks are replaced. */
export const reloadCases: readonly Case[] = casesOf(
  { topic: "reload", source: SOURCE },
  {
    "a-call-under-way-is-answered-by-the-hooks-it-began-with": async () => {
      const gate = createGate();
      const closed: string[] = [];
      const old = await managerOf({
        gate: {
          async beforeTool() {
            await gate.promise;
            return { action: "deny_tool", reason: "old" };
          },
          close: () => void closed.push("old"),
        },
      });
      const host = new ReloadableHost(old);
      const first = host.beforeTool(toolCall());
      const retired = host.swap(await managerOf({ gate: denies("new") }));
      equal((await host.beforeTool(toolCall())).reason, "new");
      await settle();
      equal(closed, []);
      gate.open();
      equal((await first).reason, "old");
      await retired;
      equal(closed, ["old"]);
      await host.close();
    },
    "a-check-is-under-way-between-its-two-points": async () => {
      const asked = createGate();
      const gate = createGate();
      const old = await managerOf({
        first: {
          async beforeTool() {
            asked.open();
            await gate.promise;
          },
        },
        second: { approveTool: () => ({ approved: false, reason: "old" }) },
      });
      const host = new ReloadableHost(old);
      const checked = host.checkTool(toolCall());
      await asked.promise;
      const retired = host.swap(await managerOf({ second: { approveTool: () => ({ approved: true }) } }));
      gate.open();
      const { approved, reason } = await checked;
      equal([approved, reason], [false, "old"]);
      await retired;
    },
    "a-call-of-both-systems-is-under-way-until-both-have-answered": async () => {
      const asked = createGate();
      const gate = createGate();
      const bench = createBench({
        async pre_tool_execution() {
          asked.open();
          await gate.promise;
          return JSON.stringify({ action: "skip" });
        },
      });
      bench.load(
        "user",
        JSON.stringify({ pre_tool_execution: [{ command: "pre_tool_execution", on_error: "abort" }] }),
      );
      const old = createCompositeHost({ hooks: await managerOf({}), lifecycle: bench.manager });
      const host = new ReloadableHost<typeof old>(old);
      const call = host.beforeTool(toolCall());
      await asked.promise;
      const retired = host.swap(
        createCompositeHost({ hooks: await managerOf({}), lifecycle: createBench({}).manager }),
      );
      equal((await host.beforeTool(toolCall())).action, "continue");
      gate.open();
      equal((await call).action, "deny_tool");
      await retired;
    },
    "a-host-is-closed-after-its-events-are-delivered": async () => {
      const gate = createGate();
      const seen: string[] = [];
      const old = await managerOf({
        watch: {
          async onEvent({ Kind }) {
            await gate.promise;
            seen.push(Kind);
          },
          close: () => void seen.push("closed"),
        },
      });
      const host = new ReloadableHost(old);
      host.emit({ Kind: "tool_exec_end" });
      const retired = host.swap(await managerOf({}));
      host.emit({ Kind: "turn_end" });
      gate.open();
      await retired;
      equal([seen.length, seen.at(-1)], [2, "closed"]);
    },
    "closing-waits-for-the-hosts-before": async () => {
      const gate = createGate();
      const closed: string[] = [];
      const old = await managerOf({ gate: { beforeTool: () => gate.promise, close: () => void closed.push("old") } });
      const host = new ReloadableHost(old);
      const call = host.beforeTool(toolCall());
      void host.swap(await managerOf({}));
      const closing = host.close();
      gate.open();
      await Promise.all([call, closing]);
      equal(closed, ["old"]);
    },
    "a-kept-hook-goes-on-with-its-counters-and-is-closed-once": async () => {
      const closed: string[] = [];
      const pool = new PortPool();
      const open = (reason: string) => () => createLocalPort(denies(reason, { close: () => void closed.push(reason) }));
      const first = await pool.lease(["gate", { a: 1, b: 2 }], open("one"));
      const old = new HookManager();
      await old.mount(first.port, { name: "gate" });
      const host = new ReloadableHost(old);
      await host.beforeTool(toolCall());
      const same = await pool.lease(["gate", { b: 2, a: 1 }], open("two"));
      const other = await pool.lease(["gate", { a: 1, b: 3 }], open("three"));
      equal([first.isKept, same.isKept, other.isKept], [false, true, false]);
      const next = new HookManager({ generation: 2 });
      await next.mount(same.port, { name: "gate", keptFrom: old });
      await host.swap(next);
      equal([closed, host.generation], [[], 2]);
      equal((await host.beforeTool(toolCall())).reason, "one");
      equal(
        host.hooks().map(({ calls }) => calls),
        [2],
      );
      await host.close();
      await other.port.close();
      equal(closed, ["one", "three"]);
    },
  },
);

const NOTHING = { warnings: [], started: [], kept: [], ended: [] };

/** How a config is read again. */
export const reloaderCases: readonly Case[] = casesOf(
  { topic: "reloader", source: SOURCE },
  {
    "those-who-ask-during-a-reload-get-one-that-begins-after-it": async () => {
      const gates = [createGate(), createGate()];
      const begun: number[] = [];
      const { reload, status } = createReloader({
        async apply(generation) {
          begun.push(generation);
          await gates[begun.length - 1]?.promise;
          return NOTHING;
        },
        log: silentLog,
      });
      const first = reload();
      const later = Array.from({ length: 50 }, () => reload());
      await settle();
      equal(begun, [2]);
      gates[0]?.open();
      equal((await first).generation, 2);
      gates[1]?.open();
      equal(new Set((await Promise.all(later)).map(({ generation }) => generation)), new Set([3]));
      equal([begun, status()], [[2, 3], { generation: 3 }]);
    },
    "a-failed-one-keeps-the-generation-and-lists-each-problem-until-one-is-good": async () => {
      const outcomes = [new HookgateError("ERR_CONFIG", "a: bad\nb: worse"), undefined];
      const { reload, status } = createReloader({
        async apply() {
          const problem = outcomes.shift();
          if (problem !== undefined) throw problem;
          return NOTHING;
        },
        log: silentLog,
      });
      const { ok: isGood, generation, problems } = await reload();
      equal([isGood, generation, problems], [false, 1, ["a: bad", "b: worse"]]);
      ok(status().failed !== undefined, "the status does not say that it failed");
      equal((await reload()).generation, 2);
      equal(status(), { generation: 2 });
    },
  },
);
