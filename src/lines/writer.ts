import type { TextSink } from "./pipe.ts";

const settled = Promise.resolve();

/** Options of {@link LineWriter}. */
export interface LineWriterOptions {
  /**
   * How much text may wait for a peer that does not read, in UTF-16 code units. A line that finds nothing waiting is
   * taken whatever its length.
   */
  readonly maxQueuedChars: number;
  /** Called once when nothing can be written any more. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Writes lines. The lines of one tick are one write, and while the sink wants no more the lines that come are kept for
 * the next, up to a bound; nothing ever waits. A line that follows quiet is written at once: a caller with one call at a
 * time has nothing to gain from the end of the tick.
 */
export class LineWriter {
  readonly #sink: TextSink;
  readonly #maxQueuedChars: number;
  readonly #onFailure: (cause: unknown) => void;
  #state: "open" | "ending" | "closed" = "open";
  #text = "";
  #lines = 0;
  /** Whether the last tick with lines had several. */
  #isBursting = false;
  /** Whether this tick's lines are kept for its end. */
  #isTicking = false;
  /** Whether the sink wants no more for now. */
  #isFull = false;
  #onDrained: (() => void)[] = [];
  #ended: Promise<void> = settled;

  constructor(sink: TextSink, { maxQueuedChars, onFailure }: LineWriterOptions) {
    this.#sink = sink;
    this.#maxQueuedChars = maxQueuedChars;
    this.#onFailure = onFailure;
    void sink.failed.then(this.#fail);
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
    if (this.#isTicking) return true;
    this.#isTicking = true;
    if (!this.#isBursting) this.#flush();
    // Cheaper than queueMicrotask, which in Node makes an async resource each time.
    void settled.then(this.#onTick);
    return true;
  }

  /** How much text waits, in UTF-16 code units. */
  get queuedChars(): number {
    return this.#text.length;
  }

  /** Resolves when the sink has taken everything and wants more, or when nothing can be written any more. */
  drained(): Promise<void> {
    if (this.#state === "closed" || (this.#text === "" && !this.#isFull)) return settled;
    return new Promise((resolve) => {
      this.#onDrained.push(resolve);
    });
  }

  /** Ends the sink once everything taken has been written. Resolves when that is done or cannot be; never rejects. */
  async end(): Promise<void> {
    if (this.#state === "open") {
      this.#state = "ending";
      await this.drained();
      if (!this.#isClosed()) this.#ended = this.#sink.end();
      this.#close();
    }
    await this.#ended;
  }

  readonly #onTick = (): void => {
    this.#isTicking = false;
    this.#isBursting = this.#lines > 1;
    this.#lines = 0;
    this.#flush();
  };

  #flush(): void {
    if (this.#isFull || this.#text === "" || this.#state === "closed") return;
    const text = this.#text;
    this.#text = "";
    const isWelcome = this.#sink.write(text);
    if (isWelcome === undefined) {
      this.#drain();
      return;
    }
    this.#isFull = true;
    void isWelcome.then(this.#onWelcome);
  }

  readonly #onWelcome = (): void => {
    this.#isFull = false;
    if (this.#text === "") this.#drain();
    else this.#flush();
  };

  readonly #fail = (cause: unknown): void => {
    if (this.#state === "closed") return;
    this.#close();
    this.#onFailure(cause);
  };

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  #close(): void {
    this.#state = "closed";
    this.#text = "";
    this.#drain();
  }

  #drain(): void {
    if (this.#onDrained.length === 0) return;
    const waiting = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of waiting) resolve();
  }
}
