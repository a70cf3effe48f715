const LF = 0x0a;
const CR = 0x0d;

/** The buffer for a line that came in pieces is kept for the next one up to this size, in bytes. */
const KEPT_BUFFER_BYTES = 65_536;

/** Who gets the lines of a {@link LineReader}. Its methods must not throw. */
export interface LineSink {
  /** A line, without its line feed and without a carriage return before it. */
  line(text: string): void;
  /** A line was longer than the limit; what follows its line feed is read again. */
  tooLong(): void;
  /** A line was not UTF-8. */
  notUtf8(bytes: number): void;
  /** The stream ended inside a line. */
  partial(bytes: number): void;
}

/**
 * Splits bytes into lines on the byte 0x0A and on nothing else: a JSON text may hold U+2028, at which line readers for
 * text split. Bytes are joined before they are decoded, so a character may be cut anywhere; the work and the memory for
 * a line are linear in its length, however small its pieces.
 * @see PicoClaw hook protocol, "Wire, stdio"
 */
export class LineReader {
  readonly #sink: LineSink;
  readonly #maxLineBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #held: Uint8Array = new Uint8Array(0);
  #heldBytes = 0;
  #skipping = false;

  /** @param maxLineBytes - the longest line in bytes, without its line feed */
  constructor(sink: LineSink, maxLineBytes: number) {
    this.#sink = sink;
    this.#maxLineBytes = maxLineBytes;
  }

  /** Takes the next piece of the stream. It is not kept. */
  push(chunk: Uint8Array): void {
    const isWithin = this.#heldBytes === 0 && !this.#skipping;
    // Mostly a chunk is whole lines: looking at its last byte is enough.
    if (isWithin && chunk[chunk.length - 1] === LF) {
      this.#lines(chunk);
      return;
    }
    const end = chunk.lastIndexOf(LF) + 1;
    const from = isWithin || end === 0 ? 0 : this.#complete(chunk);
    if (from < end) this.#lines(chunk.subarray(from, end));
    this.#hold(end === 0 ? chunk : chunk.subarray(end));
  }

  /** Ends the line that is held with the chunk's first line feed, and gives the place after it. */
  #complete(chunk: Uint8Array): number {
    const end = chunk.indexOf(LF);
    this.#hold(chunk.subarray(0, end));
    if (!this.#skipping) this.#line(this.#held.subarray(0, this.#heldBytes));
    this.#skipping = false;
    this.#forget();
    return end + 1;
  }

  /** Ends the stream. A line without its line feed may be cut short, so it is not given out. */
  end(): void {
    if (this.#heldBytes > 0) this.#sink.partial(this.#heldBytes);
    this.#heldBytes = 0;
    this.#skipping = false;
  }

  /** Whole lines, each with its line feed. One decoding serves them all. */
  #lines(bytes: Uint8Array): void {
    // No line among them can be too long if all of them together are not.
    const text = bytes.length > this.#maxLineBytes ? undefined : this.#decode(bytes);
    let from = 0;
    if (text !== undefined) {
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
        this.#emit(text.slice(from, end));
        from = end + 1;
      }
      return;
    }
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, from)) {
      this.#line(bytes.subarray(from, end));
      from = end + 1;
    }
  }

  #line(bytes: Uint8Array): void {
    const text = bytes.length > this.#maxLineBytes ? undefined : this.#decode(bytes);
    if (text !== undefined) this.#emit(text);
    else if (bytes.length > this.#maxLineBytes) this.#sink.tooLong();
    else this.#sink.notUtf8(bytes.length);
  }

  #decode(bytes: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return undefined;
    }
  }

  #emit(text: string): void {
    this.#sink.line(text.charCodeAt(text.length - 1) === CR ? text.slice(0, -1) : text);
  }

  #hold(bytes: Uint8Array): void {
    if (this.#skipping || bytes.length === 0) return;
    const total = this.#heldBytes + bytes.length;
    if (total > this.#maxLineBytes) {
      this.#skipping = true;
      this.#forget();
      this.#sink.tooLong();
      return;
    }
    if (total > this.#held.length) {
      const grown = new Uint8Array(Math.min(Math.max(total, 2 * this.#held.length), this.#maxLineBytes));
      grown.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    this.#held.set(bytes, this.#heldBytes);
    this.#heldBytes = total;
  }

  #forget(): void {
    this.#heldBytes = 0;
    if (this.#held.length > KEPT_BUFFER_BYTES) this.#held = new Uint8Array(0);
  }
}
