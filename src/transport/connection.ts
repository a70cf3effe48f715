import { HookCallError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { OutgoingMessage, TransportScope } from "./contract.ts";
import type { Pipe } from "../lines/pipe.ts";
import { LineReader, type LineSink } from "../lines/reader.ts";
import { LineWriter } from "../lines/writer.ts";
import { LogLimit } from "../log-limit.ts";
import { PendingCalls } from "./pending-calls.ts";
import { type DropReason, parseReply, toCallError } from "./reply.ts";

/** Options of {@link Connection}. */
export interface ConnectionOptions {
  /** The hook's name, for the log. */
  readonly name: string;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** The longest line that is read, in bytes without its line feed. */
  readonly maxMessageBytes: number;
  /** How much text may wait for a peer that does not read, in UTF-16 code units. */
  readonly maxQueuedChars: number;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: HookCallError) => void;
}

/**
 * A JSON-RPC 2.0 client over a pipe, one message a line. Ids are 1, 2, 3 … in the order of the calls. It holds
 * no timer: a caller that gives up has its scope cut, and the id is forgotten.
 * @see PicoClaw hook protocol, "Wire, stdio"
 */
export class Connection {
  /** Resolves when the peer can be called no more, with words that follow "the hook". Never rejects. */
  readonly broken: Promise<string>;
  /** Resolves when the peer's stream has been read to its end. Never rejects. */
  readonly readToEnd: Promise<void>;
  readonly #options: ConnectionOptions;
  readonly #pending = new PendingCalls<Pending>();
  readonly #writer: LineWriter;
  readonly #limit: LogLimit;
  #nextId = 1;
  #droppedLines = 0;
  #brokenBy: string | undefined;
  #resolveBroken: (why: string) => void = () => {};

  constructor(pipe: Pipe, options: ConnectionOptions) {
    this.#options = options;
    this.#limit = new LogLimit({ burst: 10, perSecond: 1, now: options.now });
    this.broken = new Promise((resolve) => {
      this.#resolveBroken = resolve;
    });
    this.#writer = new LineWriter(pipe, {
      maxQueuedChars: options.maxQueuedChars,
      onFailure: () => this.#break("closed its stdin"),
    });
    this.readToEnd = this.#read(pipe);
  }

  /** How many lines were dropped because they were not readable or matched no call. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  /**
   * Sends a request and waits for its reply, which may come in any order and is the first with its id.
   * @throws {HookCallError} `not_running` when the peer has closed a stream, `overloaded` when it does not read what is
   * written, `too_large` when a line beyond the limit came meanwhile, `rpc_error` and `bad_envelope` for error replies,
   * and what {@link Connection.fail} was given
   */
  call({ method, params }: OutgoingMessage, scope: Pick<TransportScope, "onAbort">): Promise<unknown> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const id = this.#nextId;
    const line = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${toOneLine(params)}}\n`;
    if (!this.#writer.write(line)) return Promise.reject(overloaded());
    this.#nextId = id + 1;
    const pending = this.#pending;
    return new Promise((resolve, reject) => {
      pending.add(id, { resolve, reject });
      scope.onAbort(() => void pending.take(id));
    });
  }

  /**
   * Sends a notification, which has no id and no reply.
   * @throws {HookCallError} `not_running` when the peer has closed a stream, `overloaded` when it does not read
   */
  notify({ method, params }: OutgoingMessage): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    const line = `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${toOneLine(params)}}\n`;
    if (!this.#writer.write(line)) throw overloaded();
  }

  /** Ends the peer's input; replies to calls in flight are still taken. */
  end(): void {
    this.#break("is being stopped");
    void this.#writer.end();
  }

  /** Ends every call in flight without a verdict. */
  fail(error: HookCallError): void {
    this.#break("is not running");
    for (const { reject } of this.#pending.takeAll()) reject(error);
  }

  /** Writes what the log still owes. */
  flushLog(): void {
    const suppressed = this.#limit.takeSuppressed();
    if (suppressed > 0)
      this.#options.log.warn("more lines from the hook were dropped", { hook: this.#options.name, suppressed });
  }

  #refusal(): HookCallError | undefined {
    return this.#brokenBy === undefined ? undefined : new HookCallError("not_running", `the hook ${this.#brokenBy}`);
  }

  #break(why: string): void {
    if (this.#brokenBy !== undefined) return;
    this.#brokenBy = why;
    this.#resolveBroken(why);
  }

  #read(pipe: Pipe): Promise<void> {
    const lines = new LineReader(this.#sink, this.#options.maxMessageBytes);
    return new Promise((resolve) => {
      pipe.start({
        chunk: (bytes) => lines.push(bytes),
        end: (error) => {
          lines.end();
          this.#break(error === undefined ? "closed its stdout" : "has a stdout that cannot be read");
          resolve();
        },
      });
    });
  }

  readonly #sink: LineSink = {
    line: (text) => this.#onLine(text),
    tooLong: () => {
      this.#drop("too_long", this.#options.maxMessageBytes);
      const limit = this.#options.maxMessageBytes;
      for (const { reject } of this.#pending.takeAll()) {
        reject(new HookCallError("too_large", `the hook wrote a line longer than ${limit} bytes`));
      }
    },
    notUtf8: (bytes) => this.#drop("not_utf8", bytes),
    partial: (bytes) => this.#drop("partial_line", bytes),
  };

  #onLine(text: string): void {
    const reply = parseReply(text);
    if (typeof reply === "string") {
      this.#drop(reply, text.length);
      return;
    }
    const call = this.#pending.take(reply.id);
    if (call === undefined) {
      this.#drop(reply.id < this.#nextId ? "late_or_duplicate" : "unknown_id", text.length);
      return;
    }
    if (reply.error === undefined || reply.error === null) call.resolve(reply.result);
    else call.reject(toCallError(reply.error));
  }

  /** Records a line that is not used: its reason and its length, never what it says. */
  #drop(reason: DropReason, length: number): void {
    this.#droppedLines += 1;
    if (this.#limit.available() < 1) {
      this.#limit.suppress(1);
      return;
    }
    this.#limit.take();
    const suppressed = this.#limit.takeSuppressed();
    const fields = { hook: this.#options.name, reason, length };
    this.#options.log.warn("a line from the hook was dropped", suppressed > 0 ? { ...fields, suppressed } : fields);
  }
}

function overloaded(): HookCallError {
  return new HookCallError("overloaded", "the hook does not read what is sent to it");
}

/** JSON text without the characters at which some line readers split. Outside a JSON string a line feed is a space. */
function toOneLine(json: string): string {
  let text = json;
  if (text.includes("\n")) text = text.replaceAll("\n", " ");
  // Most text is stored one byte a character, and then these look at nothing.
  if (text.includes("\u2028")) text = text.replaceAll("\u2028", "\\u2028");
  if (text.includes("\u2029")) text = text.replaceAll("\u2029", "\\u2029");
  return text;
}
