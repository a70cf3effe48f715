import { storeUnavailable } from "../../src/approvals/index.ts";
import type { RedisAddress } from "../../src/config/index.ts";
import { type Log, silentLog } from "../../src/log.ts";
import type { RedisScript } from "./redis-scripts.ts";

/** A channel, and who is told of what is said on it. */
export interface RedisListening {
  readonly channel: string;
  /** Told of each message, in order. It must not throw. */
  readonly onMessage: (message: string) => void;
  /** Called when a new connection can be used, with whether there was one before. It must not throw. */
  readonly onReady: (isAgain: boolean) => void;
}

/** Options of {@link RedisConnection}. */
export interface RedisConnectionOptions extends RedisListening {
  readonly address: RedisAddress;
  /** How long a command may take, a connection included, in milliseconds. */
  readonly timeoutMs: number;
  /** Called with each new connection, before anything else is sent on it. What it rejects with ends the connection. */
  readonly onConnect: (send: SendCommand) => Promise<void>;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

/** Sends a command, and gives what it is answered. */
export type SendCommand = (command: readonly string[]) => Promise<unknown>;

type RedisPlace = Pick<RedisAddress, "host" | "port">;

interface Link {
  readonly send: SendCommand;
  readonly subscribe: (channel: string, listener: (message: string) => void) => Promise<unknown>;
  readonly destroy: () => void;
}

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2000;
/** More than this means that the server answers nothing: whoever comes then is told so, and not kept in memory. */
const MAX_WAITING = 20_000;

/**
 * A connection to a Redis or Valkey server, which is made with the first command, and again with a growing pause for as
 * long as it is lost. A command is sent once or not at all: one that got no answer in time is never sent again, since
 * the server may have run it. While the last try to connect has failed, commands fail at once.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #log: Log;
  readonly #listening: RedisListening[];
  #link: Link | undefined;
  #connecting: Promise<void> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #cause = new Error("the connection is closed");
  /** Where a cluster said that our keys are. */
  #moved: RedisPlace | undefined;
  #wasReady = false;
  #isClosed = false;

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#listening = [options];
  }

  /** Listens to a further channel for as long as there is a connection, this one and all that come. */
  listen(listening: RedisListening): void {
    this.#listening.push(listening);
    if (this.#link !== undefined) this.#listenOn(this.#link, listening);
  }

  /**
   * Sends a command and gives what it is answered.
   * @throws {HookgateError} `ERR_STORE_UNAVAILABLE` when there is no answer in time, or it is an error
   */
  async send(command: readonly string[]): Promise<unknown> {
    try {
      return await this.#send(command);
    } catch (error) {
      throw storeUnavailable(this.#isClosed ? "it is closed" : "Redis cannot be used", error);
    }
  }

  /**
   * Runs a script.
   * @throws {HookgateError} as {@link RedisConnection.send}
   */
  async run({ text, sha1 }: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#send(["EVALSHA", sha1, ...rest]).catch((error: unknown) => {
        if (!isReply(error, "NOSCRIPT")) throw error;
        return this.#send(["EVAL", text, ...rest]);
      });
    } catch (error) {
      throw storeUnavailable(this.#isClosed ? "it is closed" : "Redis cannot be used", error);
    }
  }

  /** Ends it; commands under way are rejected. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#link?.destroy();
    this.#link = undefined;
  }

  async #send(command: readonly string[]): Promise<unknown> {
    const link = await this.#within(this.#connected());
    try {
      return await this.#within(link.send(command));
    } catch (error) {
      // A server that answers nothing is not asked more; one that became a replica or gave our slot away is left.
      const moved = toMoved(error);
      if (moved === undefined && !(error instanceof TimeoutError) && !isReply(error, "READONLY")) throw error;
      this.#moved = moved;
      this.#lose(link, error);
      if (moved === undefined) throw error;
      return this.#within((await this.#within(this.#connected())).send(command));
    }
  }

  async #connected(): Promise<Link> {
    if (this.#isClosed) throw new Error("the connection is closed");
    if (this.#link !== undefined) return this.#link;
    if (this.#failures > 0) throw this.#cause;
    await this.#connect();
    // It may be lost again already.
    if (this.#link === undefined) throw this.#cause;
    return this.#link;
  }

  #connect(): Promise<void> {
    return (this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined)));
  }

  async #open(): Promise<void> {
    const { address, timeoutMs, onConnect } = this.#options;
    let opening: Opening | undefined;
    try {
      opening = await openClient({ ...address, ...this.#moved }, timeoutMs);
      const { link } = opening;
      opening.onLost((cause) => this.#lose(link, cause));
      await this.#within(opening.connect());
      const listening = [...this.#listening];
      for (const each of listening) await this.#subscribe(link, each);
      await this.#within(onConnect(link.send));
      if (this.#isClosed) throw new Error("the connection is closed");
      this.#link = link;
      for (const late of this.#listening.slice(listening.length)) this.#listenOn(link, late);
      if (this.#failures > 0) this.#log.info("Redis is reached again", { store: "redis" });
      this.#failures = 0;
      const isAgain = this.#wasReady;
      this.#wasReady = true;
      for (const { onReady } of this.#listening) onReady(isAgain);
    } catch (error) {
      opening?.link.destroy();
      const wasMoved = this.#moved !== undefined;
      this.#moved = wasMoved ? undefined : toMoved(error);
      if (this.#moved !== undefined && !this.#isClosed) return this.#open();
      this.#fail(error);
    }
  }

  /** What is sent after this is answered after it. */
  #listenOn(link: Link, listening: RedisListening): void {
    this.#subscribe(link, listening).catch((error: unknown) => this.#lose(link, error));
  }

  #subscribe(link: Link, { channel, onMessage }: RedisListening): Promise<unknown> {
    return this.#within(
      link.subscribe(channel, onMessage).catch((error: unknown) => {
        if (!isReply(error, "NOPERM")) throw error;
        this.#log.warn("Redis lets this user listen to no channel: changes are seen late", { store: "redis" });
      }),
    );
  }

  #lose(link: Link, cause: unknown): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    link.destroy();
    if (this.#isClosed) return;
    this.#log.warn("the connection to Redis is lost", { store: "redis", error: messageOf(cause) });
    this.#cause = toError(cause);
    // Who waits for changes sends nothing that would connect it again.
    void this.#connect();
  }

  #fail(cause: unknown): void {
    if (this.#isClosed) return;
    if (this.#failures === 0) {
      this.#log.error("Redis cannot be reached", { store: "redis", error: messageOf(cause) });
    }
    this.#cause = toError(cause);
    const delayMs = Math.min(MIN_BACKOFF_MS * 2 ** Math.min(this.#failures, 10), MAX_BACKOFF_MS);
    this.#failures += 1;
    this.#retry = setTimeout(() => void this.#connect(), delayMs * (0.5 + Math.random() / 2));
    this.#retry.unref();
  }

  #within<T>(work: Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new TimeoutError(`no answer within ${timeoutMs} ms`)), timeoutMs);
      work.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}

class TimeoutError extends Error {}

interface Opening {
  readonly link: Link;
  readonly connect: () => Promise<unknown>;
  readonly onLost: (listener: (cause: unknown) => void) => void;
}

/** The package is loaded with the first connection: a gateway without one does not need it. */
async function openClient(address: RedisAddress, timeoutMs: number): Promise<Opening> {
  const { createClient } = await import("@redis/client");
  const { host, port, isTls, username, password, database } = address;
  const common = { host, port, connectTimeout: timeoutMs, reconnectStrategy: false } as const;
  const client = createClient({
    socket: isTls ? { ...common, tls: true } : common,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    RESP: 3,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_WAITING,
    disableClientInfo: true,
    maintNotifications: "disabled",
  });
  return {
    link: {
      send: (command) => client.sendCommand(command),
      subscribe: (channel, listener) => client.subscribe(channel, listener),
      destroy: () => {
        // It throws where it has ended by itself.
        if (client.isOpen) client.destroy();
      },
    },
    connect: () => client.connect(),
    onLost(listener) {
      client.on("error", listener);
      client.on("end", () => listener(new Error("the server closed the connection")));
    },
  };
}

/** Where a node of a cluster says that our keys are. */
function toMoved(error: unknown): RedisPlace | undefined {
  const [, host, port] = /^MOVED \d+ (.+):(\d+)$/.exec(messageOf(error)) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}

/** Whether the server has answered with an error of this kind. */
function isReply(error: unknown, kind: string): boolean {
  return messageOf(error).startsWith(`${kind} `);
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
