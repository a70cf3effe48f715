import { HookCallError, isHookCallError } from "../errors.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import type { Greeting } from "./contract.ts";
import { describeExit, type ExitStatus, type SpawnedProcess } from "./spawn.ts";
import { StderrLog } from "./stderr-log.ts";
import { settlesWithin } from "../wait.ts";

/** How long what a process wrote before it ended is still read, in milliseconds; a descendant may hold the pipe. */
const DRAIN_MS = 100;
const LEAVE_MS = 2000;
const TERMINATE_MS = 1000;
const KILL_MS = 250;

/** Options of {@link ProcessLife}. */
export interface ProcessLifeOptions extends ConnectionOptions {
  /** Told first of all when the process has ended, with words that follow "the hook process". */
  readonly onEnd: (why: string) => void;
}

/** One process of a hook, from its start to its end. */
export class ProcessLife {
  readonly connection: Connection;
  /** Resolves when the process has ended and every call in flight has been settled, with words for people. Never rejects. */
  readonly gone: Promise<string>;
  readonly pid: number | undefined;
  readonly #process: SpawnedProcess;
  readonly #options: ProcessLifeOptions;
  readonly #stderr: StderrLog;
  #isWanted = true;
  #end: Promise<string> | undefined;

  constructor(process: SpawnedProcess, options: ProcessLifeOptions) {
    this.#process = process;
    this.#options = options;
    this.pid = process.pid;
    this.connection = new Connection(process.pipe, options);
    this.#stderr = new StderrLog(process.stderr, options);
    this.gone = process.exited.then((status) => this.#onExit(status));
    // A hook that has closed a stream cannot answer any more: it is asked to leave.
    void this.connection.broken.then(() => this.end());
  }

  /**
   * Greets the hook; it is the first call, so its id is 1.
   * @throws {HookCallError} when it refuses, ends first or does not answer in time
   */
  async greet(greeting: Greeting, timeoutMs: number): Promise<void> {
    let forget: ((reason: unknown) => void) | undefined;
    const timedOut = new HookCallError("timeout", `no reply to hello within ${timeoutMs} ms`);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        forget?.(timedOut);
        reject(timedOut);
      }, timeoutMs);
    });
    const hello = this.connection.call(greeting, {
      onAbort(listener) {
        forget = listener;
      },
    });
    try {
      greeting.accept(await Promise.race([hello, timeout]));
    } catch (error) {
      throw toHelloError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Ends the process because it is not wanted any more: its stdin is ended, after 2 s its group gets SIGTERM, after 1 s
   * more SIGKILL. Resolves when it has ended, and a quarter of a second after SIGKILL at the latest, with words for
   * people; never rejects.
   */
  stop(): Promise<string> {
    this.#isWanted = false;
    return this.end();
  }

  /** Ends the process in the same steps, if it has not ended by itself. */
  end(): Promise<string> {
    this.#end ??= this.#escalate();
    return this.#end;
  }

  async #escalate(): Promise<string> {
    const { exited } = this.#process;
    this.connection.end();
    if (await settlesWithin(exited, LEAVE_MS)) return this.gone;
    this.#process.kill("SIGTERM");
    if (await settlesWithin(exited, TERMINATE_MS)) return this.gone;
    this.#options.log.warn("the hook process does not leave and is killed", {
      hook: this.#options.name,
      pid: this.pid,
    });
    this.#process.kill("SIGKILL");
    if (await settlesWithin(exited, KILL_MS)) return this.gone;
    // Even the kernel could not end it. Its calls are settled all the same.
    this.connection.fail(new HookCallError("exited", "the hook process does not end"));
    this.#process.release();
    return "does not end";
  }

  async #onExit(status: ExitStatus): Promise<string> {
    const why = describeExit(status);
    this.#options.onEnd(why);
    const drained = Promise.all([this.connection.readToEnd, this.#stderr.readToEnd]);
    await settlesWithin(drained, DRAIN_MS);
    const kind = status.failure === undefined ? "exited" : "not_running";
    this.connection.fail(new HookCallError(kind, `the hook process ${why}`));
    this.#process.release();
    this.connection.flushLog();
    this.#stderr.flushLog();
    const fields = { hook: this.#options.name, pid: this.pid, why };
    if (!this.#isWanted && status.code === 0) this.#options.log.info("the hook process has left", fields);
    else this.#options.log.warn("the hook process has ended", { ...fields, stderr: this.#stderr.tail });
    return why;
  }
}

/** A refusal is told from a hook that did not get as far as to refuse. */
function toHelloError(cause: unknown): HookCallError {
  if (!isHookCallError(cause)) return new HookCallError("bad_result", "hello could not be read", { cause });
  if (cause.kind === "exited")
    return new HookCallError("exited", `${cause.message}, before it answered hello`, { cause });
  const isRefusal = cause.kind === "rpc_error" || cause.kind === "bad_envelope" || cause.kind === "bad_result";
  return isRefusal ? new HookCallError(cause.kind, `hello refused: ${cause.message}`, { cause }) : cause;
}
