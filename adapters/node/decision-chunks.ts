/** Decisions as one piece of memory that is handed from thread to thread: the UTF-8 of a JSON list. */
export interface DecisionChunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many of the bytes are used. */
  readonly length: number;
  /** How many decisions they are. */
  readonly count: number;
}

/** What is written to: large enough that to hand it over costs little for each decision in it. */
const CHUNK_BYTES = 131_072;
/** How many pieces of memory are kept to be used again. */
const MAX_FREE = 16;
const MAX_COUNT = 500;
const OPEN = 0x5b;
const COMMA = 0x2c;
const CLOSE = 0x5d;

const encoder = new TextEncoder();

/**
 * Gathers the texts of decisions. They are written to memory at once: as objects they would outlive one collection of
 * garbage after another while they wait.
 */
export class DecisionChunks {
  readonly #maxCount: number;
  readonly #free: Uint8Array<ArrayBuffer>[] = [];
  #filled: DecisionChunk[] = [];
  #bytes: Uint8Array<ArrayBuffer> | undefined;
  #length = 0;
  #count = 0;
  #total = 0;

  /** @param maxWaiting - How many decisions may wait; a chunk holds no more than an eighth of them. */
  constructor(maxWaiting: number) {
    this.#maxCount = Math.max(1, Math.min(MAX_COUNT, Math.floor(maxWaiting / 8)));
  }

  /** How many decisions wait. */
  get count(): number {
    return this.#total;
  }

  add(text: string): void {
    if (this.#count >= this.#maxCount) this.#close();
    if (!this.#write(text)) {
      this.#close();
      // A character is at most three bytes.
      if (!this.#write(text)) this.#begin(text.length * 3 + 2);
      if (this.#count === 0) this.#write(text);
    }
    this.#total += 1;
  }

  /** The oldest decisions, which wait here no longer. */
  take(): DecisionChunk | undefined {
    if (this.#filled.length === 0) this.#close();
    const chunk = this.#filled.shift();
    if (chunk !== undefined) this.#total -= chunk.count;
    return chunk;
  }

  /** Takes memory back that nobody needs any more. */
  reuse(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.byteLength === CHUNK_BYTES && this.#free.length < MAX_FREE) this.#free.push(bytes);
  }

  #write(text: string): boolean {
    const bytes = this.#bytes ?? this.#begin(CHUNK_BYTES);
    // With room for what stands before it and for the end.
    const { read, written } = encoder.encodeInto(text, bytes.subarray(this.#length + 1, bytes.byteLength - 1));
    if (read < text.length) return false;
    bytes[this.#length] = this.#count === 0 ? OPEN : COMMA;
    this.#length += written + 1;
    this.#count += 1;
    return true;
  }

  #begin(size: number): Uint8Array<ArrayBuffer> {
    const bytes = (size === CHUNK_BYTES ? this.#free.pop() : undefined) ?? new Uint8Array(size);
    this.#bytes = bytes;
    this.#length = 0;
    this.#count = 0;
    return bytes;
  }

  #close(): void {
    const bytes = this.#bytes;
    if (bytes === undefined || this.#count === 0) return;
    bytes[this.#length] = CLOSE;
    this.#filled.push({ bytes, length: this.#length + 1, count: this.#count });
    this.#bytes = undefined;
    this.#count = 0;
  }
}
