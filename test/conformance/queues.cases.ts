import { createLocalPort, type Hook } from "../../src/picoclaw/index.ts";
import { type Case, equal, rejects } from "./case.ts";
import { casesOf, createGate, keepingLog, managerOf, toolCall } from "./fixture.ts";

const FLUSH_MS = 5000;

/** An observer that keeps the kinds of what it is told. */
function keeping(kinds: string[]): Hook {
  return {
    onEvent({ Kind }) {
      kinds.push(Kind);
    },
  };
}

/** Section 8: delivery never blocks a turn. */
export const queueCases: readonly Case[] = casesOf(
  { topic: "queues", source: "PicoClaw hook semantics, section 8" },
  {
    "emit-returns-before-an-observer-is-called": async () => {
      let isTold = false;
      const manager = await managerOf({
        a: {
          onEvent() {
            isTold = true;
          },
        },
      });
      manager.emit({ Kind: "turn_start" });
      equal(isTold, false);
      await manager.flush(FLUSH_MS);
      equal(isTold, true);
    },
    "a-slow-observer-delays-nobody": async () => {
      const kinds: string[] = [];
      const manager = await managerOf({ slow: { onEvent: () => new Promise<never>(() => {}) }, quick: keeping(kinds) });
      for (const Kind of ["a", "b", "c"]) manager.emit({ Kind });
      const decision = await manager.beforeTool(toolCall());
      await manager.flush(5);
      equal([decision.action, kinds], ["continue", ["a", "b", "c"]]);
    },
    "a-full-queue-drops-the-newest-and-counts": async () => {
      const gate = createGate();
      const kinds: string[] = [];
      const { log, warnings } = keepingLog();
      const observer: Hook = {
        async onEvent({ Kind }) {
          kinds.push(Kind);
          await gate.promise;
        },
      };
      const manager = await managerOf({ observer }, { maxQueuedEvents: 3, log });
      for (const Kind of ["a", "b", "c", "d", "e"]) manager.emit({ Kind });
      gate.open();
      await manager.flush(FLUSH_MS);
      equal(kinds, ["a", "b", "c"]);
      equal(manager.hooks()[0]?.events, { delivered: 3, dropped: 2, failed: 0 });
      equal(warnings.length, 1);
    },
    "the-default-bound-is-64": async () => {
      const manager = await managerOf({ a: { onEvent: () => {} } });
      for (let n = 0; n < 100; n += 1) manager.emit({ Kind: "llm_delta" });
      await manager.flush(FLUSH_MS);
      equal(manager.hooks()[0]?.events, { delivered: 64, dropped: 36, failed: 0 });
    },
    "a-bound-out-of-range-is-an-error": async () => {
      for (const maxQueuedEvents of [0, -1, 1.5, 65_537, Number.NaN])
        await rejects(managerOf({}, { maxQueuedEvents }), "RangeError");
    },
    "what-an-observer-is-not-told-fills-no-queue": async () => {
      const kinds: string[] = [];
      const manager = await managerOf(
        { a: createLocalPort(keeping(kinds), { observe: ["turn_end"] }) },
        { maxQueuedEvents: 1 },
      );
      for (let n = 0; n < 10; n += 1) manager.emit({ Kind: "llm_delta" });
      manager.emit({ Kind: "turn_end" });
      await manager.flush(FLUSH_MS);
      equal([kinds, manager.hooks()[0]?.events?.dropped], [["turn_end"], 0]);
    },
    "an-observer-that-fails-is-told-of-the-next": async () => {
      const { log, warnings } = keepingLog();
      let told = 0;
      const observer: Hook = {
        onEvent() {
          told += 1;
          if (told === 1) throw new Error("sync");
          return told === 2 ? Promise.reject(new Error("async")) : undefined;
        },
      };
      const manager = await managerOf({ observer }, { log });
      for (const Kind of ["a", "b", "c"]) manager.emit({ Kind });
      await manager.flush(FLUSH_MS);
      equal(manager.hooks()[0]?.events, { delivered: 1, dropped: 0, failed: 2 });
      equal(
        warnings.map(({ fields }) => fields["kind"]),
        ["hook_error"],
      );
      await manager.close();
      equal(
        warnings.map(({ message, fields }) => [message, fields["suppressed"]]),
        [
          ["event not delivered", undefined],
          ["event not delivered", 1],
        ],
      );
    },
    "an-observer-that-hangs-is-cut-at-its-deadline": async () => {
      let nowMs = 0;
      const observer: Hook = {
        onEvent({ Kind }) {
          if (Kind !== "a") return undefined;
          nowMs += 100;
          return new Promise<never>(() => {});
        },
      };
      const manager = await managerOf({ observer }, { timeouts: { observerMs: 100 }, now: () => nowMs });
      manager.emit({ Kind: "a" });
      manager.emit({ Kind: "b" });
      await manager.flush(FLUSH_MS);
      equal(manager.hooks()[0]?.events, { delivered: 1, dropped: 0, failed: 1 });
    },
    "flush-waits-no-longer-than-it-may": async () => {
      const manager = await managerOf({ a: { onEvent: () => new Promise<never>(() => {}) } });
      manager.emit({ Kind: "a" });
      await manager.flush(1);
      equal(manager.hooks()[0]?.events?.delivered, 0);
    },
    "flush-may-wait-for-ever": async () => {
      const gate = createGate();
      const manager = await managerOf({ a: { onEvent: () => gate.promise } });
      manager.emit({ Kind: "a" });
      setTimeout(gate.open, 5);
      await manager.flush(Infinity);
      equal(manager.hooks()[0]?.events?.delivered, 1);
    },
    "unmount-drops-and-counts-what-waits": async () => {
      const kinds: string[] = [];
      const gate = createGate();
      const observer: Hook = {
        async onEvent({ Kind }) {
          kinds.push(Kind);
          await gate.promise;
        },
      };
      const manager = await managerOf({ observer });
      manager.emit({ Kind: "a" });
      manager.emit({ Kind: "b" });
      await Promise.resolve();
      await manager.unmount("observer");
      gate.open();
      await manager.flush(FLUSH_MS);
      manager.emit({ Kind: "c" });
      await manager.flush(FLUSH_MS);
      equal(kinds, ["a"]);
    },
    "close-drops-and-counts-what-waits": async () => {
      const gate = createGate();
      const manager = await managerOf({ observer: { onEvent: () => gate.promise } });
      for (const Kind of ["a", "b", "c"]) manager.emit({ Kind });
      await Promise.resolve();
      await manager.close();
      gate.open();
      await manager.flush(FLUSH_MS);
      equal(manager.hooks()[0]?.events, { delivered: 1, dropped: 2, failed: 0 });
    },
    "an-observer-mounted-later-is-told-of-later-events": async () => {
      const [early, late]: [string[], string[]] = [[], []];
      const manager = await managerOf({ early: keeping(early) });
      manager.emit({ Kind: "a" });
      await manager.mount(keeping(late), { name: "late" });
      manager.emit({ Kind: "b" });
      await manager.flush(FLUSH_MS);
      equal([early, late], [["a", "b"], ["b"]]);
    },
    "after-close-nothing-is-told": async () => {
      const kinds: string[] = [];
      const manager = await managerOf({ a: keeping(kinds) });
      await manager.close();
      manager.emit({ Kind: "a" });
      await manager.flush(FLUSH_MS);
      equal(kinds, []);
    },
  },
);
