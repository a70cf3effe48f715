import process from "node:process";
import type { StdioServing } from "../../src/cli/index.ts";
import { serveStdio as serve, type StdioHandle } from "../../src/endpoint/serve-stdio.ts";
import type { Log, LogFields } from "../../src/log.ts";
import { createHookHandler } from "../../src/picoclaw/handler.ts";
import type { Hook } from "../../src/picoclaw/hook.ts";
import { toByteSource, toByteSink } from "./byte-streams.ts";

const PARENT_CHECK_MS = 1000;

const print = (...args: readonly unknown[]): void => console.error(...args);

const write = (message: string, fields?: LogFields): void =>
  fields === undefined ? print(message) : print(message, fields);

const log: Log = { debug: write, info: write, warn: write, error: write };

/** Options of {@link serveStdio}. */
export interface ServeStdioOptions {
  /** The name the hook gives itself in its reply to `hook.hello`. @default "hookgate-hook" */
  readonly name?: string | undefined;
}

/**
 * Serves a hook on this process's stdin and stdout, and exits when the host ends stdin or is gone. What is printed with
 * `console` goes to stderr, because stdout belongs to the protocol.
 * @see docs/protocol.md#over-stdio
 */
export async function serveStdio(hook: Hook, { name }: ServeStdioOptions = {}): Promise<void> {
  await serveOnStdio(createHookHandler(hook, { name, log }), log).ended;
  await hook.close?.();
  process.exit(0);
}

/**
 * Answers a host on this process's stdin and stdout; when the host is gone without having ended stdin, the process exits.
 * What is printed with `console` goes to stderr.
 */
export function serveOnStdio(handle: StdioHandle, hears: Log): StdioServing {
  Object.assign(console, { log: print, info: print, debug: print, dir: (item: unknown) => print(item) });
  const parent = process.ppid;
  // Stdin ends with the host, unless the host's own child holds the other end of the pipe.
  const watch = setInterval(() => {
    if (process.ppid !== parent) process.exit(0);
  }, PARENT_CHECK_MS);
  watch.unref();
  const { stdin, stdout } = process;
  const ended = serve(handle, { readable: toByteSource(stdin), writable: toByteSink(stdout), log: hears });
  return {
    ended: ended.finally(() => clearInterval(watch)),
    close: () => void stdin.destroy(),
  };
}
