import { createLocalPort, type DenyReply, type Hook, HookManager, type ToolCall } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf, createGate, managerOf, remoteHook, toolCall } from "./fixture.ts";

const SECTION = "PicoClaw hook semantics, section 2";

function closing(closed: string[], name: string): Hook {
  return {
    close() {
      closed.push(name);
    },
  };
}

/** How hooks come and go. */
export const mountCases: readonly Case[] = casesOf(
  { topic: "mount", source: SECTION },
  {
    "one-name-space-for-all-hooks": async () => {
      const closed: string[] = [];
      const manager = await managerOf({ a: closing(closed, "near") });
      await manager.mount(remoteHook(["before_tool"], () => null).port, { name: "a" });
      equal(closed, ["near"]);
      equal(
        manager.hooks().map(({ name, source }) => [name, source]),
        [["a", "stdio"]],
      );
    },
    "an-existing-name-is-closed-and-replaced": async () => {
      const closed: string[] = [];
      const manager = await managerOf({ a: closing(closed, "old") });
      await manager.mount(closing(closed, "new"), { name: "a", priority: 7 });
      equal(closed, ["old"]);
      equal(
        manager.hooks().map(({ priority }) => priority),
        [7],
      );
    },
    "a-hook-that-fails-to-close-is-replaced-all-the-same": async () => {
      const manager = await managerOf({
        a: {
          close() {
            throw new Error("no");
          },
        },
      });
      await manager.mount({}, { name: "a", priority: 1 });
      equal(
        manager.hooks().map(({ priority }) => priority),
        [1],
      );
    },
    "unmount-closes-once": async () => {
      const closed: string[] = [];
      const manager = await managerOf({ a: closing(closed, "a") });
      await Promise.all([manager.unmount("a"), manager.unmount("a")]);
      await manager.close();
      equal([closed, manager.hooks()], [["a"], []]);
    },
    "unmounting-an-unknown-name-does-nothing": async () => {
      const manager = await managerOf({ a: {} });
      await manager.unmount("b");
      await manager.unmount("__proto__");
      equal(manager.hooks().length, 1);
    },
    "an-empty-name-is-an-error": async () => {
      await rejects(new HookManager().mount({}, { name: "" }), "TypeError");
    },
    "a-missing-hook-is-an-error-that-names-it": async () => {
      for (const missing of [null, undefined]) {
        const error = await new HookManager()
          .mount(missing as unknown as Hook, { name: "gate" })
          .catch((e: unknown) => e);
        ok(error instanceof TypeError && error.message.includes('"gate"'), "the error does not name the hook");
      }
    },
    "a-priority-that-is-no-number-is-an-error": async () => {
      await rejects(new HookManager().mount({}, { name: "a", priority: Number.NaN }), "TypeError");
      await rejects(new HookManager().mount({}, { name: "a", priority: "1" as unknown as number }), "TypeError");
    },
    "a-handler-that-is-no-function-is-an-error": async () => {
      await rejects(new HookManager().mount({ approveTool: true } as unknown as Hook, { name: "a" }), "TypeError");
    },
    "a-handler-named-like-its-point-is-an-error": async () => {
      const hook = { approve_tool: () => ({ approved: false }) };
      await rejects(new HookManager().mount(hook as unknown as Hook, { name: "a" }), "TypeError");
    },
    "an-instance-of-a-class-is-a-hook": async () => {
      class Gate implements Hook {
        readonly #denied = "exec";

        beforeTool({ tool }: ToolCall): DenyReply | undefined {
          return tool === this.#denied ? { action: "deny_tool" } : undefined;
        }
      }
      equal((await (await managerOf({ gate: new Gate() })).beforeTool(toolCall())).action, "deny_tool");
    },
    "after-close-is-an-error": async () => {
      const manager = new HookManager();
      await manager.close();
      await rejects(manager.mount({}, { name: "a" }), "ERR_CLOSED");
    },
    "a-failed-mount-leaves-the-old-hook": async () => {
      const closed: string[] = [];
      const manager = await managerOf({ a: closing(closed, "a") });
      await rejects(manager.mount({}, { name: "a", priority: Infinity }), "TypeError");
      equal([closed, manager.hooks().length], [[], 1]);
    },
    "close-closes-every-hook-once": async () => {
      const closed: string[] = [];
      const manager = await managerOf({ a: closing(closed, "a"), b: closing(closed, "b") });
      await Promise.all([manager.close(), manager.close()]);
      await manager.close();
      equal(closed, ["a", "b"]);
    },
    "every-close-waits-for-the-hooks": async () => {
      const gate = createGate();
      const manager = await managerOf({ a: { close: () => gate.promise } });
      let isDone = false;
      const first = manager.close();
      const second = manager.close().then(() => {
        isDone = true;
      });
      await Promise.resolve();
      await Promise.resolve();
      equal(isDone, false);
      gate.open();
      await Promise.all([first, second]);
    },
    "after-close-every-call-is-refused": async () => {
      const manager = await managerOf({ a: {} });
      await manager.close();
      await rejects(manager.beforeLlm({ model: "m" }), "ERR_CLOSED");
      await rejects(manager.afterLlm({ model: "m" }), "ERR_CLOSED");
      await rejects(manager.beforeTool(toolCall()), "ERR_CLOSED");
      await rejects(manager.approveTool(toolCall()), "ERR_CLOSED");
      await rejects(manager.checkTool(toolCall()), "ERR_CLOSED");
      await rejects(manager.afterTool(toolCall()), "ERR_CLOSED");
      manager.emit({ Kind: "turn_start" });
      await manager.flush(1);
    },
    "a-closed-hook-says-so": async () => {
      const port = createLocalPort({});
      equal(port.status().state, "ready");
      await port.close();
      await port.close();
      equal(port.status().state, "closed");
    },
    "a-call-under-way-outlives-close": async () => {
      const gate = createGate();
      const manager = await managerOf({
        a: { beforeTool: () => gate.promise.then(() => ({ action: "deny_tool" as const })) },
      });
      const call = manager.beforeTool(toolCall());
      await manager.close();
      gate.open();
      equal((await call).action, "deny_tool");
    },
    "ready-waits-for-every-hook": async () => {
      const { port } = remoteHook(["before_tool"], () => null);
      const gate = createGate();
      const manager = await managerOf({ a: { ...port, ready: () => gate.promise } });
      let isReady = false;
      const ready = manager.ready().then(() => {
        isReady = true;
      });
      await Promise.resolve();
      equal(isReady, false);
      gate.open();
      await ready;
    },
    "a-hook-is-shown-with-what-it-did": async () => {
      const manager = await managerOf({
        a: {
          beforeTool() {
            throw new Error("no");
          },
          afterTool: () => {},
          onEvent: () => {},
        },
      });
      await manager.beforeTool(toolCall());
      await manager.afterTool(toolCall());
      const [status] = manager.hooks();
      ok(status?.last_fired !== undefined, "last_fired is missing");
      const { name, source, points, observes, calls, verdicts, no_verdicts, failed_open } = status;
      equal([name, source, points, observes], ["a", "in-process", ["before_tool", "after_tool"], true]);
      equal([calls, verdicts, no_verdicts, failed_open], [2, 1, { hook_error: 1 }, 1]);
    },
  },
);
