import { HookCallError } from "../errors.ts";
import { MAX_DELAY_MS } from "../wait.ts";
import { type Log, silentLog } from "../log.ts";
import type { Connection } from "./connection.ts";
import type { Greeting, OutgoingMessage, Transport, TransportScope, TransportStatus } from "./contract.ts";
import type { Spawn } from "./spawn.ts";
import { Supervisor } from "./supervisor.ts";

/** Options of {@link createStdioTransport}. */
export interface StdioOptions {
  /** The hook's name, for the log. */
  readonly name: string;
  /** Starts the hook's process. It is called again each time the process has ended. */
  readonly spawn: Spawn;
  /** The first call to each process. */
  readonly greeting: Greeting;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
  /** How long a process may take to answer the greeting, in milliseconds, 1 to 2^31 - 1. @default 5000 */
  readonly helloTimeoutMs?: number | undefined;
  /**
   * The longest line a hook may write, in bytes without its line feed, 1 or more. A longer one ends the calls in flight
   * as no-verdicts. It bounds the memory a hook can make the host use.
   * @default 1048576 (1 MiB)
   */
  readonly maxMessageBytes?: number | undefined;
  /**
   * How much text may wait for a hook that does not read its stdin, in UTF-16 code units, 1 or more; beyond it calls are
   * no-verdicts at once. It bounds the memory a stuck hook can make the host use.
   * @default 4194304
   */
  readonly maxQueuedChars?: number | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
  /** A number from 0 up to but not 1, for the jitter of restarts. @default Math.random */
  readonly random?: (() => number) | undefined;
}

/**
 * Reaches a hook that is a process of its own and speaks JSON-RPC over its stdin and stdout. The process is started at
 * once, greeted, and started again with growing waits when it ends. Calls made before the first greeting is answered
 * wait for it within their own deadline; later, calls to a process that is not up are `not_running` at once.
 * @throws {RangeError} when a number is out of its bounds
 * @see PicoClaw hook protocol, "Wire, stdio"
 */
export function createStdioTransport(options: StdioOptions): Transport {
  const { helloTimeoutMs = 5000, maxMessageBytes = 1_048_576, maxQueuedChars = 4_194_304 } = options;
  assertWithin("helloTimeoutMs", helloTimeoutMs, MAX_DELAY_MS);
  assertWithin("maxMessageBytes", maxMessageBytes, Number.MAX_SAFE_INTEGER);
  assertWithin("maxQueuedChars", maxQueuedChars, Number.MAX_SAFE_INTEGER);
  const supervisor = new Supervisor({
    name: options.name,
    spawn: options.spawn,
    greeting: options.greeting,
    log: options.log ?? silentLog,
    now: options.now ?? (() => performance.now()),
    random: options.random ?? Math.random,
    helloTimeoutMs,
    maxMessageBytes,
    maxQueuedChars,
  });
  return new StdioTransport(supervisor, maxQueuedChars);
}

class StdioTransport implements Transport {
  readonly #supervisor: Supervisor;
  readonly #maxQueuedChars: number;
  #waitingChars = 0;

  constructor(supervisor: Supervisor, maxQueuedChars: number) {
    this.#supervisor = supervisor;
    this.#maxQueuedChars = maxQueuedChars;
  }

  call(message: OutgoingMessage, scope: TransportScope): Promise<unknown> {
    const { connection } = this.#supervisor;
    if (connection !== undefined) return connection.call(message, scope);
    return this.#connect(message, scope).then((late) => late.call(message, scope));
  }

  async notify(message: OutgoingMessage, scope: TransportScope): Promise<void> {
    const connection = this.#supervisor.connection ?? (await this.#connect(message, scope));
    connection.notify(message);
  }

  ready(): Promise<void> {
    return this.#supervisor.firstStart;
  }

  status(): TransportStatus {
    return this.#supervisor.status();
  }

  close(): Promise<void> {
    return this.#supervisor.close();
  }

  /** The way to a hook that is not ready; only its first start is waited for. */
  async #connect({ params }: OutgoingMessage, scope: TransportScope): Promise<Connection> {
    if (!this.#supervisor.isStarted) {
      if (this.#waitingChars > 0 && this.#waitingChars + params.length > this.#maxQueuedChars) {
        throw new HookCallError("overloaded", "too many calls wait for the hook to start");
      }
      this.#waitingChars += params.length;
      await this.#supervisor.firstStart;
      this.#waitingChars -= params.length;
      if (scope.signal.aborted) throw new HookCallError("aborted", "the call was cut before the hook had started");
    }
    const { connection } = this.#supervisor;
    if (connection !== undefined) return connection;
    const { state, lastError = "it is being started again" } = this.#supervisor.status();
    const why = state === "closed" ? "it was closed" : lastError;
    throw new HookCallError("not_running", `the hook is not running: ${why}`);
  }
}

function assertWithin(name: string, value: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= max) return;
  throw new RangeError(`${name} must be an integer from 1 to ${max}, got ${value}`);
}
