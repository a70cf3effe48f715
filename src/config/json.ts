import { formatPath, type JsonPath } from "./path.ts";

/** A place in a text; both count from 1, columns in UTF-16 code units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A JSON text that was read. */
export interface JsonDocument {
  readonly value: unknown;
  /** Object keys that were there already; the last one counts in `value`. */
  readonly duplicates: readonly (TextPosition & { readonly path: JsonPath })[];
  /** Where the value at a path begins, or the nearest value around it. */
  positionOf(path: JsonPath): TextPosition;
}

/** Why a text is not JSON, and where. */
export interface JsonFault extends TextPosition {
  readonly fault: string;
}

const MAX_DEPTH = 128;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Reads JSON as RFC 8259 has it, knowing where everything is: `JSON.parse` neither reports duplicate keys nor, on every
 * runtime, the place of an error.
 */
export function readJson(text: string): JsonDocument | JsonFault {
  // Editors on Windows write a byte order mark.
  const start = text.startsWith("\uFEFF") ? 1 : 0;
  const reader = new Reader(text, start);
  try {
    reader.document();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: error.message, ...new Lines(text).positionOf(error.offset) };
  }
  const lines = new Lines(text);
  return {
    value: JSON.parse(text.slice(start)),
    duplicates: reader.duplicates.map(({ path, offset }) => ({ path, ...lines.positionOf(offset) })),
    positionOf(path) {
      for (let length = path.length; length > 0; length -= 1) {
        const offset = reader.offsets.get(formatPath(path.slice(0, length)));
        if (offset !== undefined) return lines.positionOf(offset);
      }
      return lines.positionOf(start);
    },
  };
}

class Fault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

class Reader {
  readonly offsets = new Map<string, number>();
  readonly duplicates: { readonly path: JsonPath; readonly offset: number }[] = [];
  readonly #text: string;
  #at: number;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#at = start;
  }

  document(): void {
    this.#skipSpace();
    if (this.#at === this.#text.length) throw new Fault("the file is empty", this.#at);
    this.#value([]);
    if (this.#at < this.#text.length) throw this.#fault("there is more after the end of the JSON value");
  }

  #value(path: JsonPath): void {
    if (path.length > MAX_DEPTH) throw this.#fault(`nested deeper than ${MAX_DEPTH} levels`);
    this.offsets.set(formatPath(path), this.#at);
    const char = this.#text[this.#at];
    if (char === "{") this.#object(path);
    else if (char === "[") this.#array(path);
    else if (char === '"') this.#string();
    else if (!this.#takes(NUMBER) && !this.#takes(WORD)) throw this.#fault("expected a value");
    this.#skipSpace();
  }

  #object(path: JsonPath): void {
    const keys = new Set<string>();
    this.#items("}", () => {
      if (this.#text[this.#at] !== '"') throw this.#fault('expected a key in double quotes or "}"');
      const offset = this.#at;
      const key = this.#string();
      if (keys.has(key)) this.duplicates.push({ path: [...path, key], offset });
      keys.add(key);
      this.#skipSpace();
      if (!this.#takesChar(":")) throw this.#fault('expected ":" after the key');
      this.#value([...path, key]);
    });
  }

  #array(path: JsonPath): void {
    let index = 0;
    this.#items("]", () => {
      this.#value([...path, index]);
      index += 1;
    });
  }

  #items(close: string, item: () => void): void {
    this.#at += 1;
    this.#skipSpace();
    if (this.#takesChar(close)) return;
    for (;;) {
      item();
      if (this.#takesChar(close)) return;
      const comma = this.#at;
      if (!this.#takesChar(",")) throw this.#fault(`expected "," or "${close}"`);
      if (this.#text[this.#at] === close) throw new Fault(`a "," must not stand before "${close}"`, comma);
    }
  }

  #string(): string {
    const start = this.#at;
    for (this.#at += 1; this.#text[this.#at] !== '"';) {
      const code = this.#text.charCodeAt(this.#at);
      if (Number.isNaN(code) || code === 0x0a) throw new Fault("the string that begins here is not closed", start);
      if (code < 0x20) throw this.#fault("a control character in a string must be escaped");
      if (code !== 0x5c) this.#at += 1;
      else if (!this.#takes(ESCAPE)) throw this.#fault("not an escape sequence of JSON; write a backslash as two");
    }
    this.#at += 1;
    return String(JSON.parse(this.#text.slice(start, this.#at)));
  }

  #takesChar(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    this.#skipSpace();
    return true;
  }

  #takes(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #skipSpace(): void {
    this.#takes(SPACE);
    const char = this.#text[this.#at];
    if (char === "/" || char === "#") throw this.#fault("comments are not allowed in JSON");
  }

  #fault(expectation: string): Fault {
    const char = this.#text[this.#at];
    if (char === undefined) return new Fault(`${expectation}, but the file ends`, this.#at);
    if (char === "'") return new Fault("strings and keys take double quotes", this.#at);
    return new Fault(expectation, this.#at);
  }
}

/** Looks up places in a text, which may be many. */
class Lines {
  /** Where each line begins. */
  readonly #starts: readonly number[];

  constructor(text: string) {
    const starts = [text.startsWith("\uFEFF") ? 1 : 0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    this.#starts = starts;
  }

  positionOf(offset: number): TextPosition {
    let low = 0;
    let high = this.#starts.length;
    // The last line that begins at or before the offset.
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}
