import { isHookgateError, toRpcCode } from "../errors.ts";
import { toTextSink } from "../lines/pipe.ts";
import { LineReader } from "../lines/reader.ts";
import { LineWriter } from "../lines/writer.ts";
import { type Log, silentLog } from "../log.ts";

/** How long calls under way may go on after the host has ended the input, in milliseconds; a host waits 2 s. */
const FINISH_MS = 1500;
/** Replies wait for a host that does not read up to this much text; then no more calls are read. */
const MAX_QUEUED_CHARS = 1_048_576;

/** Answers one method; what it resolves to is the result, and what it throws is the error. */
export type StdioHandle = (method: string, params: unknown, context: StdioContext) => Promise<unknown>;

/** What a handle may know of the call. */
export interface StdioContext {
  /** Aborts when the host is gone. */
  readonly signal: AbortSignal;
}

/** Options of {@link serveStdio}. */
export interface ServeStdioOptions {
  /** What the host writes. */
  readonly readable: ReadableStream<Uint8Array>;
  /** What the host reads. */
  readonly writable: WritableStream<Uint8Array>;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
  /** The longest line the host may write, in bytes. @default 67108864 (64 MiB) */
  readonly maxMessageBytes?: number | undefined;
}

/**
 * Serves the hook protocol over stdio, for hook authors: each line is a call, calls run at the same time, and each reply
 * is written when it is there. Ends when the host ends the input, once the calls under way are answered or 1.5 s later,
 * or as soon as nothing can be written any more; never rejects.
 * @see docs/protocol.md#over-stdio
 */
export async function serveStdio(handle: StdioHandle, options: ServeStdioOptions): Promise<void> {
  const server = new StdioServer(handle, options);
  await server.serve(options.readable);
}

class StdioServer {
  readonly #handle: StdioHandle;
  readonly #log: Log;
  readonly #writer: LineWriter;
  readonly #lines: LineReader;
  readonly #running = new Set<Context>();
  readonly #hostGone: Promise<void>;
  #onHostGone: () => void = () => {};
  #onIdle: () => void = () => {};

  constructor(handle: StdioHandle, { writable, log = silentLog, maxMessageBytes = 67_108_864 }: ServeStdioOptions) {
    this.#handle = handle;
    this.#log = log;
    this.#hostGone = new Promise((resolve) => {
      this.#onHostGone = resolve;
    });
    this.#writer = new LineWriter(toTextSink(writable), {
      maxQueuedChars: Infinity,
      onFailure: () => this.#onHostGone(),
    });
    const drop = (reason: string): void => log.warn("a line from the host was dropped", { reason });
    this.#lines = new LineReader(
      {
        line: (text) => this.#onLine(text),
        tooLong: () => drop("too_long"),
        notUtf8: () => drop("not_utf8"),
        partial: () => drop("partial_line"),
      },
      maxMessageBytes,
    );
  }

  async serve(readable: ReadableStream<Uint8Array>): Promise<void> {
    const reader = readable.getReader();
    await Promise.race([this.#read(reader), this.#hostGone]);
    await this.#finish();
    for (const context of this.#running) context.abort();
    await this.#writer.end();
    reader.cancel().catch(() => {});
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#lines.push(value);
        // A host that does not read its replies is not read from either.
        if (this.#writer.queuedChars > MAX_QUEUED_CHARS) await this.#writer.drained();
      }
      this.#lines.end();
    } catch (error) {
      this.#log.warn("the input cannot be read", { error: String(error) });
    }
  }

  /** Waits for the calls under way, for as long as the host does. */
  #finish(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FINISH_MS);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
      void this.#hostGone.then(this.#onIdle);
    });
  }

  #onLine(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      if (text.trim() !== "") this.#replyError(null, { code: -32700, message: "not JSON" });
      return;
    }
    const { id, method, params }: Message = typeof message === "object" && message !== null ? message : {};
    if (typeof method === "string") void this.#run(method, params, id);
    else if (!isReply(message)) this.#replyError(id ?? null, { code: -32600, message: "not a JSON-RPC request" });
  }

  async #run(method: string, params: unknown, id: unknown): Promise<void> {
    const context = new Context();
    this.#running.add(context);
    try {
      const result = await this.#handle(method, params, context);
      if (id !== undefined) this.#reply(id, result);
    } catch (error) {
      const answer = toRpcError(error);
      if (id !== undefined) this.#replyError(id, answer);
      else this.#log.warn("a notification failed", { method, error: answer.message });
    }
    this.#running.delete(context);
    if (this.#running.size === 0) this.#onIdle();
  }

  #reply(id: unknown, result: unknown): void {
    // What JSON has no form for, undefined among it, is sent as null; a cycle or a bigint throws and becomes an error.
    const text = JSON.stringify(result) ?? "null";
    this.#writer.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}\n`);
  }

  #replyError(id: unknown, error: RpcError): void {
    this.#writer.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
  }
}

/** One call under way. Its signal is made when the hook asks for it. */
class Context implements StdioContext {
  #controller: AbortController | undefined;
  #isAborted = false;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort();
  }
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

interface RpcError {
  readonly code: number;
  readonly message: string;
}

/** The hook's own errors are -32000; what the protocol has a code for keeps it. */
function toRpcError(error: unknown): RpcError {
  if (isHookgateError(error) && (error.code === "ERR_METHOD_NOT_FOUND" || error.code === "ERR_INVALID_PARAMS")) {
    return { code: toRpcCode(error.code), message: error.message };
  }
  return { code: -32000, message: error instanceof Error ? error.message : String(error) };
}

/** A hook sends no requests, so a reply answers nothing; to answer it in turn would never end. */
function isReply(message: unknown): boolean {
  return typeof message === "object" && message !== null && ("result" in message || "error" in message);
}
