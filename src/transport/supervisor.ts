import { isHookgateError } from "../errors.ts";
import { backoffMs } from "./backoff.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import type { Greeting, TransportState, TransportStatus } from "./contract.ts";
import { ProcessLife } from "./process-life.ts";
import type { Spawn } from "./spawn.ts";

/** A process that stayed up this long, in milliseconds, is started again as if it had never failed. */
const HEALTHY_MS = 60_000;
/** After so many failed starts in a row the hook is shown as failed. */
const FAILED_STARTS = 5;
const MAX_ERROR_CHARS = 300;

/** Options of {@link Supervisor}. */
export interface SupervisorOptions extends ConnectionOptions {
  readonly spawn: Spawn;
  readonly greeting: Greeting;
  /** How long a process may take to answer the greeting, in milliseconds. */
  readonly helloTimeoutMs: number;
  /** A number from 0 up to but not 1. */
  readonly random: () => number;
}

/** Keeps one process of a hook running: starts it, greets it, and starts it again when it ends. */
export class Supervisor {
  /** Resolves when the first start has succeeded or failed, or on {@link Supervisor.close}. Never rejects. */
  readonly firstStart: Promise<void>;
  readonly #options: SupervisorOptions;
  #state: TransportState = "starting";
  #lastError: string | undefined;
  #restartCount = 0;
  #droppedLines = 0;
  /** Ends in a row without {@link HEALTHY_MS} in between: they make the wait longer. */
  #failures = 0;
  #failedStarts = 0;
  #isStarted = false;
  #life: ProcessLife | undefined;
  #connection: Connection | undefined;
  #resolveFirstStart: () => void = () => {};
  #wake: () => void = () => {};
  #closed: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.firstStart = new Promise((resolve) => {
      this.#resolveFirstStart = resolve;
    });
    void this.#supervise();
  }

  /** The way to the hook; absent while it is not ready. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** Whether the first start has succeeded or failed. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** What is known of the process. */
  status(): TransportStatus {
    const { pid, connection } = this.#life ?? {};
    return {
      state: this.#state,
      restartCount: this.#restartCount,
      droppedLines: this.#droppedLines + (connection?.droppedLines ?? 0),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
      ...(pid === undefined ? {} : { pid }),
    };
  }

  /** Ends the process and starts no other. Resolves within 3.25 s; idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#state = "closed";
    this.#lastError = undefined;
    this.#connection = undefined;
    this.#wake();
    this.#settleFirstStart();
    await this.#life?.stop();
  }

  async #supervise(): Promise<void> {
    while (this.#state !== "closed") {
      await this.#live();
      if (this.#isClosed()) return;
      this.#failures += 1;
      const waitMs = Math.round(backoffMs(this.#failures, this.#options.random()));
      this.#options.log.info("the hook process is started again", { hook: this.#options.name, inMs: waitMs });
      await this.#pause(waitMs);
      this.#restartCount += 1;
    }
  }

  /** One life of the process: resolves when it has ended. Never rejects. */
  async #live(): Promise<void> {
    const { spawn, greeting, helloTimeoutMs, now } = this.#options;
    this.#state = this.#failedStarts >= FAILED_STARTS ? "failed" : "starting";
    let isReady = false;
    let endedBy: string | undefined;
    const onEnd = (why: string): void => {
      endedBy = why;
      if (isReady) this.#onDown(`the hook process ${why}`);
    };
    try {
      this.#life = new ProcessLife(spawn(), { ...this.#options, onEnd });
    } catch (error) {
      this.#onFailedStart(toMessage(error));
      return;
    }
    const life = this.#life;
    try {
      await life.greet(greeting, helloTimeoutMs);
    } catch (error) {
      if (!this.#isClosed()) this.#onFailedStart(toMessage(error));
      await life.stop();
      this.#bury(life);
      return;
    }
    const readyAtMs = now();
    isReady = true;
    if (!this.#isClosed()) this.#onReady(life);
    const why = await life.connection.broken;
    if (endedBy === undefined) this.#onDown(`the hook ${why}`);
    await life.end();
    if (now() - readyAtMs >= HEALTHY_MS) this.#failures = 0;
    this.#bury(life);
  }

  #onReady(life: ProcessLife): void {
    this.#state = "ready";
    this.#lastError = undefined;
    this.#failedStarts = 0;
    this.#connection = life.connection;
    this.#options.log.info("the hook process is ready", { hook: this.#options.name, pid: life.pid });
    this.#settleFirstStart();
  }

  #onFailedStart(message: string): void {
    const { log, name } = this.#options;
    this.#failedStarts += 1;
    const failedStarts = this.#failedStarts;
    const isFailed = failedStarts >= FAILED_STARTS;
    this.#state = isFailed ? "failed" : "backing_off";
    const error = isFailed ? `${failedStarts} starts in a row failed: ${message}` : message;
    this.#lastError = error.slice(0, MAX_ERROR_CHARS);
    if (failedStarts === FAILED_STARTS) log.error("the hook has failed", { hook: name, error: message, failedStarts });
    else log.warn("the hook process did not start", { hook: name, error: message, failedStarts });
    this.#settleFirstStart();
  }

  #onDown(message: string): void {
    if (this.#isClosed()) return;
    this.#connection = undefined;
    this.#state = "backing_off";
    this.#lastError = message.slice(0, MAX_ERROR_CHARS);
  }

  #bury(life: ProcessLife): void {
    this.#droppedLines += life.connection.droppedLines;
    this.#life = undefined;
  }

  #settleFirstStart(): void {
    this.#isStarted = true;
    this.#resolveFirstStart();
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function toMessage(error: unknown): string {
  return error instanceof Error || isHookgateError(error) ? error.message : String(error);
}
