import type { Log } from "../log.ts";
import { LogLimit } from "../log-limit.ts";

const LF = 0x0a;
const MAX_LINE_BYTES = 2048;
const TAIL_BYTES = 2048;
const CONTROL = /\p{Cc}+/gu;

/** Options of {@link StderrLog}. */
export interface StderrLogOptions {
  /** The hook's name, for the log. */
  readonly name: string;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/**
 * Takes everything a hook writes to stderr, so that the hook never blocks on it: up to 100 lines at once and 10 a second
 * after that go to the log, cut to 2 KiB each and free of control characters, the others are counted, and the last
 * 2 KiB are kept for when it exits.
 */
export class StderrLog {
  /** Resolves when the stream has been read to its end. Never rejects. */
  readonly readToEnd: Promise<void>;
  readonly #name: string;
  readonly #log: Log;
  readonly #limit: LogLimit;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #line = new Uint8Array(MAX_LINE_BYTES);
  #lineBytes = 0;
  #tail: Uint8Array = new Uint8Array(0);

  constructor(readable: ReadableStream<Uint8Array>, { name, log, now }: StderrLogOptions) {
    this.#name = name;
    this.#log = log;
    this.#limit = new LogLimit({ burst: 100, perSecond: 10, now });
    this.readToEnd = this.#read(readable);
  }

  /** The end of what was written, at most 2 KiB, on one line. */
  get tail(): string {
    return this.#clean(this.#tail);
  }

  /** Writes what the log still owes. */
  flushLog(): void {
    if (this.#lineBytes > 0) this.#endLine();
    const suppressed = this.#limit.takeSuppressed();
    if (suppressed > 0) this.#log.warn("more stderr lines of the hook were dropped", { hook: this.#name, suppressed });
  }

  async #read(readable: ReadableStream<Uint8Array>): Promise<void> {
    const reader = readable.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#push(value);
      }
    } catch {
      // The pipe was let go of: there is no more to read.
    }
  }

  #push(chunk: Uint8Array): void {
    this.#keepTail(chunk);
    let available = this.#limit.available();
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      if (available < 1) {
        this.#suppressFrom(chunk, from);
        return;
      }
      this.#hold(chunk.subarray(from, end));
      this.#endLine();
      available -= 1;
      from = end + 1;
    }
    this.#hold(chunk.subarray(from));
  }

  /** A flood: the lines are counted and not looked at. */
  #suppressFrom(chunk: Uint8Array, from: number): void {
    let lines = 0;
    for (let at = from; at < chunk.length; at += 1) if (chunk[at] === LF) lines += 1;
    this.#limit.suppress(lines);
    this.#lineBytes = 0;
    this.#hold(chunk.subarray(chunk.lastIndexOf(LF) + 1));
  }

  #hold(bytes: Uint8Array): void {
    const room = Math.min(bytes.length, MAX_LINE_BYTES - this.#lineBytes);
    if (room === 0) return;
    this.#line.set(room === bytes.length ? bytes : bytes.subarray(0, room), this.#lineBytes);
    this.#lineBytes += room;
  }

  #endLine(): void {
    const line = this.#clean(this.#line.subarray(0, this.#lineBytes));
    this.#lineBytes = 0;
    if (line === "") return;
    this.#limit.take();
    const suppressed = this.#limit.takeSuppressed();
    this.#log.info("hook stderr", suppressed > 0 ? { hook: this.#name, line, suppressed } : { hook: this.#name, line });
  }

  #keepTail(chunk: Uint8Array): void {
    if (chunk.length >= TAIL_BYTES) {
      this.#tail = chunk.slice(-TAIL_BYTES);
      return;
    }
    const kept = this.#tail.subarray(Math.max(0, this.#tail.length + chunk.length - TAIL_BYTES));
    const tail = new Uint8Array(kept.length + chunk.length);
    tail.set(kept);
    tail.set(chunk, kept.length);
    this.#tail = tail;
  }

  #clean(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes).replace(CONTROL, " ").trim();
  }
}
