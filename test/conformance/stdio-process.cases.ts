import { HookCallError, isHookCallError } from "../../src/errors.ts";
import type { Greeting, Transport } from "../../src/transport/contract.ts";
import { createStdioTransport, type StdioOptions } from "../../src/transport/stdio.ts";
import { equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { MemoryLog, MemoryProcess, MemoryScope, result } from "./memory-stdio.ts";

const MESSAGE = { method: "hook.before_tool", params: "{}" };

const greeting: Greeting = {
  method: "hook.hello",
  params: '{"name":"gate"}',
  accept(reply) {
    if (typeof reply === "number") throw new HookCallError("bad_result", "the result is not an object");
  },
};

interface Started {
  readonly transport: Transport;
  readonly log: MemoryLog;
  /** The processes that were started, in order. */
  process(index: number): Promise<MemoryProcess>;
  call(scope?: MemoryScope): Promise<unknown>;
}

/** A transport over processes that are none. */
function start(options: Partial<StdioOptions> = {}): Started {
  const processes: MemoryProcess[] = [];
  const log = new MemoryLog();
  let onSpawn: (() => void) | undefined;
  const transport = createStdioTransport({
    name: "gate",
    greeting,
    log,
    random: () => 0.999,
    spawn: () => {
      const child = new MemoryProcess();
      processes.push(child);
      onSpawn?.();
      return child;
    },
    ...options,
  });
  const process = async (index: number): Promise<MemoryProcess> => {
    for (;;) {
      const child = processes[index];
      if (child !== undefined) return child;
      await new Promise<void>((resolve) => {
        onSpawn = resolve;
      });
    }
  };
  return { transport, log, process, call: (scope = new MemoryScope()) => transport.call(MESSAGE, scope) };
}

/** Starts a transport and answers its first hello. */
async function startReady(): Promise<Started & { readonly first: MemoryProcess }> {
  const started = start();
  const first = await started.process(0);
  await first.nextWrite();
  first.say(result(1));
  await started.transport.ready();
  return { ...started, first };
}

async function failure(call: Promise<unknown>): Promise<string> {
  try {
    return `no failure, but ${JSON.stringify(await call)}`;
  } catch (error) {
    return isHookCallError(error) ? `${error.kind}: ${error.message}` : String(error);
  }
}

/** Ends a process as a well-behaved one ends, and waits for the transport. */
async function closed(transport: Transport, process: MemoryProcess): Promise<void> {
  const closing = transport.close();
  process.exit({ code: 0 });
  await closing;
}

/** A hook's process from its start to its end. */
export const stdioProcessCases = casesOf(
  { topic: "stdio-process", source: "PicoClaw hook protocol, Wire, stdio: hello, exit, close" },
  {
    "hello-is-the-first-call-and-calls-made-before-wait-for-it": async () => {
      const { transport, process, call } = start();
      const reply = call();
      equal(transport.status().state, "starting");
      const child = await process(0);
      equal(await child.nextWrite(), '{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"gate"}}\n');
      child.say(result(1));
      equal(JSON.parse(await child.nextWrite()), { jsonrpc: "2.0", id: 2, method: "hook.before_tool", params: {} });
      child.say(result(2, { action: "continue" }));
      equal(await reply, { action: "continue" });
      equal(transport.status(), { state: "ready", restartCount: 0, droppedLines: 0, pid: 4711 });
      await closed(transport, child);
    },
    "a-hello-that-is-refused-is-a-failed-start-that-says-why": async () => {
      const replies = ['{"id":1,"error":{"message":"wrong version"}}', result(1, 7)];
      const causes = ["wrong version", "the result is not an object"];
      for (const [index, reply] of replies.entries()) {
        const { transport, process, call } = start();
        const waiting = failure(call());
        const child = await process(0);
        child.say(reply);
        await transport.ready();
        const why = `hello refused: ${causes[index]}`;
        equal(await waiting, `not_running: the hook is not running: ${why}`);
        equal([transport.status().state, transport.status().lastError], ["backing_off", why]);
        await closed(transport, child);
      }
    },
    "a-process-that-ends-before-it-answers-hello-is-a-failed-start": async () => {
      const { transport, process } = start();
      const child = await process(0);
      child.exit({ code: 3 });
      await transport.ready();
      equal(transport.status().lastError, "the hook process exited with code 3, before it answered hello");
      await transport.close();
    },
    "a-command-that-cannot-be-started-is-a-failed-start": async () => {
      const { transport } = start({
        spawn: () => {
          throw new Error("command not found");
        },
      });
      await transport.ready();
      equal([transport.status().state, transport.status().lastError], ["backing_off", "command not found"]);
      await transport.close();
    },
    "a-call-that-is-cut-while-it-waits-for-hello-is-never-sent": async () => {
      const { transport, process, call } = start();
      const scope = new MemoryScope();
      const cut = failure(call(scope));
      const reply = call();
      scope.cut();
      const child = await process(0);
      child.say(result(1));
      await child.written(2);
      child.say(result(2, "second"));
      equal(await reply, "second");
      ok((await cut).startsWith("aborted"), "the cut call went on");
      equal(child.writes.length, 2);
      await closed(transport, child);
    },
    "calls-in-flight-at-the-exit-name-its-code-or-signal-and-stderrs-end-is-in-the-log": async () => {
      const ends = [{ code: 7 }, { signal: "SIGSEGV" }];
      const words = ["exited with code 7", "was ended by SIGSEGV"];
      for (const [index, end] of ends.entries()) {
        const { transport, first, log, call } = await startReady();
        const calls = [failure(call()), failure(call())];
        first.complain("Traceback: it hurts");
        first.exit(end);
        const expected = `exited: the hook process ${words[index]}`;
        equal(await Promise.all(calls), [expected, expected]);
        ok(/has ended .*it hurts/.test(log.text), log.text);
        await transport.close();
      }
    },
    "a-reply-written-just-before-the-exit-counts": async () => {
      const { transport, first, call } = await startReady();
      const reply = call();
      first.say(result(2, "last words"));
      first.exit({ code: 1 });
      equal(await reply, "last words");
      await transport.close();
    },
    "a-descendant-that-holds-the-pipes-delays-nothing": async () => {
      const { transport, first, call } = await startReady();
      const reply = failure(call());
      first.exit({ code: 0 }, { isHeld: true });
      equal(await reply, "exited: the hook process exited with code 0");
      ok(first.isReleased, "the pipes are kept");
      await transport.close();
    },
    "it-is-started-again-and-calls-in-between-are-no-verdict-at-once": async () => {
      const { transport, first, process, call } = await startReady();
      const inFlight = failure(call());
      first.exit({ code: 1 });
      await inFlight;
      equal(transport.status().state, "backing_off");
      const why = "the hook is not running: the hook process exited with code 1";
      equal(await failure(call()), `not_running: ${why}`);
      const second = await process(1);
      equal(transport.status().restartCount, 1);
      equal(await failure(call()), `not_running: ${why}`);
      await second.nextWrite();
      second.say(result(1));
      await transport.ready();
      await closed(transport, second);
    },
    "five-failed-starts-in-a-row-are-shown-as-failed": async () => {
      const { transport, process, call } = start();
      for (let index = 0; index < 5; index += 1) (await process(index)).exit({ code: 1 });
      const sixth = await process(5);
      const { state, lastError, restartCount } = transport.status();
      const why = "the hook process exited with code 1, before it answered hello";
      equal([state, lastError, restartCount], ["failed", `5 starts in a row failed: ${why}`, 5]);
      equal(await failure(call()), `not_running: the hook is not running: ${lastError}`);
      sixth.say(result(1));
      await transport.ready();
      await closed(transport, sixth);
    },
    "closing-ends-stdin-answers-what-is-in-flight-and-starts-nothing-again": async () => {
      const { transport, first, call } = await startReady();
      const reply = call();
      const lost = failure(call());
      const closing = transport.close();
      equal(await failure(call()), "not_running: the hook is not running: it was closed");
      await first.written(3);
      first.say(result(2, "bye"));
      equal(await reply, "bye");
      first.exit({ code: 0 });
      equal(await lost, "exited: the hook process exited with code 0");
      await closing;
      equal([first.isStdinEnded, first.signals, transport.status().state], [true, [], "closed"]);
      await transport.close();
    },
    "closing-before-hello-ends-the-wait-for-it": async () => {
      const { transport, process, call } = start();
      const waiting = failure(call());
      await closed(transport, await process(0));
      await transport.ready();
      equal(await waiting, "not_running: the hook is not running: it was closed");
    },
    "a-number-out-of-its-bounds-is-the-callers-mistake": async () => {
      for (const name of ["helloTimeoutMs", "maxMessageBytes", "maxQueuedChars"]) {
        for (const value of [0, -1, 1.5, Number.NaN, Infinity]) {
          try {
            start({ [name]: value });
          } catch (error) {
            ok(error instanceof RangeError && error.message.startsWith(name), String(error));
            continue;
          }
          throw new Error(`${name} ${value} was taken`);
        }
      }
    },
  },
);
