import type { Log, LogFields } from "./log.ts";

/** Options of {@link LogLimit}. */
export interface LogLimitOptions {
  /** How many lines may come at once. */
  readonly burst: number;
  /** How many lines a second are allowed after that. */
  readonly perSecond: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** Decides which of many log lines are written, and counts the others. */
export class LogLimit {
  readonly #options: LogLimitOptions;
  #tokens: number;
  #filledAtMs: number;
  #suppressed = 0;

  constructor(options: LogLimitOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAtMs = options.now();
  }

  /** How many lines may be written now. Looks at the clock; {@link LogLimit.take} does not. */
  available(): number {
    const { burst, perSecond, now } = this.#options;
    const atMs = now();
    this.#tokens = Math.min(burst, this.#tokens + ((atMs - this.#filledAtMs) / 1000) * perSecond);
    this.#filledAtMs = atMs;
    return Math.floor(this.#tokens);
  }

  /** Uses up one line. */
  take(): void {
    this.#tokens -= 1;
  }

  /** Counts lines that are not written. */
  suppress(count: number): void {
    this.#suppressed += count;
  }

  /** Whether there are lines that were not written and that nobody has asked for. */
  get isOwing(): boolean {
    return this.#suppressed > 0;
  }

  /** How many lines were not written since this was last asked. */
  takeSuppressed(): number {
    const count = this.#suppressed;
    this.#suppressed = 0;
    return count;
  }
}

/** Options of {@link RepeatLog}. */
export interface RepeatLogOptions {
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** How long a line stands for all of its kind, in milliseconds. @default 60000 */
  readonly intervalMs?: number | undefined;
}

/** The most kinds that are told apart; what is beyond them counts as one. */
const MAX_KINDS = 1000;

/**
 * Warns once of what happens again and again. The first of a kind is written; after that at most one an interval, with
 * how many were not in `suppressed`.
 */
export class RepeatLog {
  readonly #options: RepeatLogOptions;
  readonly #kinds = new Map<string, Repeated>();

  constructor(options: RepeatLogOptions) {
    this.#options = options;
  }

  /** Warns, unless the same kind was warned of lately. */
  warn(kind: string, message: string, fields: LogFields): void {
    const repeated = this.#of(kind);
    const { limit } = repeated;
    repeated.last = { message, fields };
    if (limit.available() < 1) {
      limit.suppress(1);
      return;
    }
    limit.take();
    this.#write(repeated);
  }

  /** Writes what is still owed: for each kind with lines that were not written the last one, and how many they were. */
  flush(): void {
    for (const repeated of this.#kinds.values()) if (repeated.limit.isOwing) this.#write(repeated);
  }

  #write({ limit, last: { message, fields } }: Repeated): void {
    const suppressed = limit.takeSuppressed();
    this.#options.log.warn(message, suppressed > 0 ? { ...fields, suppressed } : fields);
  }

  #of(kind: string): Repeated {
    const { now, intervalMs = 60_000 } = this.#options;
    const key = this.#kinds.size < MAX_KINDS || this.#kinds.has(kind) ? kind : "";
    let repeated = this.#kinds.get(key);
    if (repeated === undefined) {
      const limit = new LogLimit({ burst: 1, perSecond: 1000 / intervalMs, now });
      repeated = { limit, last: { message: "", fields: {} } };
      this.#kinds.set(key, repeated);
    }
    return repeated;
  }
}

interface Repeated {
  readonly limit: LogLimit;
  last: { readonly message: string; readonly fields: LogFields };
}

const MAX_ERROR_CHARS = 300;

/**
 * Makes what says in the log why a place cannot be asked, where callers are not told: each failure once a minute.
 * @param message - What cannot be done, as a sentence without its full stop.
 */
export function createFailureLog(log: Log, message: string): (failure: unknown) => void {
  const repeats = new RepeatLog({ log, now: () => performance.now() });
  return (failure) => {
    const error = (failure instanceof Error ? failure.message : String(failure)).slice(0, MAX_ERROR_CHARS);
    repeats.warn(error, message, { error });
  };
}
