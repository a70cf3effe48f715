import { type Pipe, toPipe } from "../../src/lines/pipe.ts";
import type { Log, LogFields } from "../../src/log.ts";
import { Connection } from "../../src/transport/connection.ts";
import type { ExitStatus, SpawnedProcess } from "../../src/transport/spawn.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A log that can be looked at. */
export class MemoryLog implements Log {
  readonly lines: string[] = [];
  debug = (message: string, fields?: LogFields): void => this.#add(message, fields);
  info = (message: string, fields?: LogFields): void => this.#add(message, fields);
  warn = (message: string, fields?: LogFields): void => this.#add(message, fields);
  error = (message: string, fields?: LogFields): void => this.#add(message, fields);

  get text(): string {
    return this.lines.join("\n");
  }

  /** The `reason` of every dropped line, in order. */
  readonly reasons: string[] = [];

  #add(message: string, fields: LogFields = {}): void {
    if (typeof fields["reason"] === "string") this.reasons.push(fields["reason"]);
    this.lines.push(`${message} ${JSON.stringify(fields)}`);
  }
}

/** The far ends of a process's pipes: what a test reads and writes in the process's place. */
export class MemoryPipes {
  /** Each write as it came, whatever lines it holds. */
  readonly writes: string[] = [];
  readonly stdin: WritableStream<Uint8Array>;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  isStdinEnded = false;
  #out: ReadableStreamDefaultController<Uint8Array> | undefined;
  #err: ReadableStreamDefaultController<Uint8Array> | undefined;
  #seen = 0;
  #onWrite: () => void = () => {};

  /** @param isStuck - whether it never takes what is written to it */
  constructor({ isStuck = false }: { readonly isStuck?: boolean } = {}) {
    this.stdin = new WritableStream<Uint8Array>({
      write: (bytes) => {
        this.writes.push(decoder.decode(bytes));
        this.#onWrite();
        return isStuck ? new Promise<void>(() => {}) : undefined;
      },
      close: () => {
        this.isStdinEnded = true;
      },
    });
    this.stdout = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#out = controller) });
    this.stderr = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#err = controller) });
  }

  /** The next write that was not looked at yet. */
  async nextWrite(): Promise<string> {
    while (this.writes.length <= this.#seen) {
      await new Promise<void>((resolve) => {
        this.#onWrite = resolve;
      });
    }
    this.#seen += 1;
    return this.writes[this.#seen - 1] ?? "";
  }

  /** Resolves when this many lines have been written. */
  async written(count: number): Promise<void> {
    while (this.writes.join("").split("\n").length - 1 < count) {
      await new Promise<void>((resolve) => {
        this.#onWrite = resolve;
      });
    }
    this.#seen = this.writes.length;
  }

  /** Writes to stdout; text gets a line feed, bytes go as they are. */
  say(...lines: readonly (string | Uint8Array)[]): void {
    for (const line of lines) this.#out?.enqueue(typeof line === "string" ? encoder.encode(`${line}\n`) : line);
  }

  complain(line: string): void {
    this.#err?.enqueue(encoder.encode(`${line}\n`));
  }

  /** Closes stdout and stderr, as the end of a process does. */
  end(): void {
    this.#out?.close();
    this.#err?.close();
  }
}

/** A process that is none: a test answers in its place. */
export class MemoryProcess extends MemoryPipes implements SpawnedProcess {
  readonly pid = 4711;
  readonly exited: Promise<ExitStatus>;
  readonly pipe: Pipe;
  readonly signals: string[] = [];
  isReleased = false;
  #resolveExited: (status: ExitStatus) => void = () => {};

  constructor(options: { readonly isStuck?: boolean } = {}) {
    super(options);
    this.pipe = toPipe({ readable: this.stdout, writable: this.stdin });
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  kill(signal: "SIGTERM" | "SIGKILL"): void {
    this.signals.push(signal);
  }

  release(): void {
    this.isReleased = true;
  }

  /** Ends the process, and its pipes unless a descendant holds them. */
  exit(status: Partial<ExitStatus> = { code: 0 }, { isHeld = false }: { readonly isHeld?: boolean } = {}): void {
    this.#resolveExited({ code: null, signal: null, ...status });
    if (!isHeld) this.end();
  }
}

/** A scope that a test cuts. */
export class MemoryScope {
  readonly remainingMs = 5000;
  readonly #controller = new AbortController();
  #listener: (reason: unknown) => void = () => {};

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onAbort(listener: (reason: unknown) => void): void {
    this.#listener = listener;
  }

  cut(): void {
    this.#listener("cut");
    this.#controller.abort("cut");
  }
}

/** The JSON of a result. */
export function result(id: unknown, value: unknown = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: value });
}

/** A connection, the far ends of its pipes and what it logs. */
export function connect(
  limits: { readonly maxMessageBytes?: number; readonly maxQueuedChars?: number; readonly isStuck?: boolean } = {},
): {
  readonly pipes: MemoryPipes;
  readonly log: MemoryLog;
  readonly connection: Connection;
  call(params?: string, scope?: MemoryScope): Promise<unknown>;
} {
  const pipes = new MemoryPipes(limits);
  const log = new MemoryLog();
  const { maxMessageBytes = 1024, maxQueuedChars = 4096 } = limits;
  const connection = new Connection(toPipe({ readable: pipes.stdout, writable: pipes.stdin }), {
    name: "gate",
    log,
    now: () => 0,
    maxMessageBytes,
    maxQueuedChars,
  });
  const call = (params = "{}", scope = new MemoryScope()): Promise<unknown> =>
    connection.call({ method: "hook.before_tool", params }, scope);
  return { pipes, log, connection, call };
}
