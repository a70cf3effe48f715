/** Options of {@link LineWriter}. */
export interface LineWriterOptions {
  /**
   * How much text may wait for a peer that does not read, in UTF-16 code units. A line that finds nothing waiting is
   * taken whatever its length.
   */
  readonly maxQueuedChars: number;
  /** Called once when the stream cannot be written any more. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Writes lines to a byte stream. The lines of one tick are one write, and while a write is under way the lines that
 * come are kept for the next, up to a bound; nothing ever waits.
 */
export class LineWriter {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #maxQueuedChars: number;
  readonly #onFailure: (cause: unknown) => void;
  readonly #encoder = new TextEncoder();
  #text = "";
  #scheduled = false;
  #writing = false;
  #state: "open" | "ending" | "closed" = "open";
  #onDrained: (() => void)[] = [];

  constructor(writable: WritableStream<Uint8Array>, { maxQueuedChars, onFailure }: LineWriterOptions) {
    this.#writer = writable.getWriter();
    this.#maxQueuedChars = maxQueuedChars;
    this.#onFailure = onFailure;
    // An idle stream that fails is noticed here; a rejection nobody waits for must not be reported as unhandled.
    this.#writer.closed.catch(this.#fail);
    this.#writer.ready.catch(() => {});
  }

  /**
   * Takes a line, which ends with its line feed.
   * @returns false when too much is waiting or nothing can be written any more; the line is then not taken
   */
  write(line: string): boolean {
    if (this.#state !== "open") return false;
    if (this.#text === "") this.#text = line;
    else if (this.#text.length + line.length > this.#maxQueuedChars) return false;
    else this.#text += line;
    if (!this.#scheduled && !this.#writing) {
      this.#scheduled = true;
      queueMicrotask(this.#flush);
    }
    return true;
  }

  /** Whether what waits is at its bound. */
  get full(): boolean {
    return this.#text.length >= this.#maxQueuedChars;
  }

  /** Resolves when everything taken has been written, or when nothing can be written any more. */
  drained(): Promise<void> {
    if (this.#state === "closed" || (this.#text === "" && !this.#writing)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained.push(resolve);
    });
  }

  /** Ends the stream once everything taken has been written. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ending";
    if (!this.#scheduled && !this.#writing) this.#flush();
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#state === "closed") return;
    if (this.#text === "") {
      this.#settle();
      return;
    }
    const bytes = this.#encoder.encode(this.#text);
    this.#text = "";
    this.#writing = true;
    this.#writer.write(bytes).then(this.#written, this.#fail);
  };

  readonly #written = (): void => {
    this.#writing = false;
    this.#flush();
  };

  readonly #fail = (cause: unknown): void => {
    if (this.#state === "closed") return;
    this.#close();
    this.#onFailure(cause);
  };

  #settle(): void {
    if (this.#state === "ending") {
      this.#close();
      this.#writer.close().catch(() => {});
    } else {
      this.#wake();
    }
  }

  #close(): void {
    this.#state = "closed";
    this.#text = "";
    this.#wake();
  }

  #wake(): void {
    if (this.#onDrained.length === 0) return;
    const waiting = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of waiting) resolve();
  }
}
