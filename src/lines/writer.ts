const settled = Promise.resolve();

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
 * Writes lines to a stream that sends text as UTF-8. The lines of one tick are one write, and while a write is under way
 * the lines that come are kept for the next, up to a bound; nothing ever waits. A line that follows quiet is written at
 * once: a caller with one call at a time has nothing to gain from the end of the tick.
 */
export class LineWriter {
  readonly #writer: WritableStreamDefaultWriter<string>;
  readonly #maxQueuedChars: number;
  readonly #ended: Promise<void>;
  readonly #onFailure: (cause: unknown) => void;
  #text = "";
  #lines = 0;
  #isBursting = false;
  #scheduled = false;
  #writing = false;
  #state: "open" | "ending" | "closed" = "open";
  #onDrained: (() => void)[] = [];

  constructor(writable: WritableStream<string>, { maxQueuedChars, onFailure }: LineWriterOptions) {
    this.#writer = writable.getWriter();
    this.#maxQueuedChars = maxQueuedChars;
    this.#onFailure = onFailure;
    // An idle stream that fails is noticed here; a rejection nobody waits for must not be reported as unhandled.
    this.#ended = this.#writer.closed.catch(this.#fail);
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
    this.#lines += 1;
    if (this.#scheduled || this.#writing) return true;
    if (!this.#isBursting) {
      this.#flush();
      return true;
    }
    this.#scheduled = true;
    // Cheaper than queueMicrotask, which in Node makes an async resource each time.
    void settled.then(this.#onTick);
    return true;
  }

  /** How much text waits, in UTF-16 code units. */
  get queuedChars(): number {
    return this.#text.length;
  }

  /** Resolves when everything taken has been written, or when nothing can be written any more. */
  drained(): Promise<void> {
    if (this.#state === "closed" || (this.#text === "" && !this.#writing)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained.push(resolve);
    });
  }

  /** Ends the stream once everything taken has been written. Resolves when that is done or cannot be; never rejects. */
  end(): Promise<void> {
    if (this.#state === "open") {
      this.#state = "ending";
      if (!this.#scheduled && !this.#writing) this.#flush();
    }
    return this.#ended;
  }

  readonly #onTick = (): void => {
    this.#scheduled = false;
    this.#isBursting = this.#lines > 1;
    this.#flush();
  };

  #flush(): void {
    if (this.#state === "closed") return;
    if (this.#text === "") {
      this.#settle();
      return;
    }
    const text = this.#text;
    this.#text = "";
    this.#lines = 0;
    this.#writing = true;
    this.#writer.write(text).then(this.#written, this.#fail);
  }

  readonly #written = (): void => {
    this.#writing = false;
    if (this.#lines > 0) this.#isBursting = true;
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
