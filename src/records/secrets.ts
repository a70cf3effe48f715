import { MASKED } from "./mask.ts";

/** A shorter value is not looked for elsewhere: it would be found in everything. */
const MIN_CHARS = 4;
/** How many values are looked for at most. */
const MAX_VALUES = 500;

/**
 * The values that were masked in one record, to be found where nobody said they would be: in a reason that quotes one, in
 * an error, in another part of the payload.
 */
export class MaskedValues {
  readonly #forms = new Set<string>();
  #isFull = false;
  /** The longest first: one may be a part of another. */
  #sorted: readonly string[] | undefined;

  /** Takes a value that was masked, with all that is in it. */
  readonly add = (value: unknown): void => {
    if (this.#isFull) return;
    if (typeof value === "object" && value !== null) for (const item of Object.values(value)) this.add(item);
    else if (typeof value === "string") this.#addText(value);
    else if (typeof value === "number" || typeof value === "bigint") this.#addText(String(value));
  };

  /** A text that says what somebody made of the payload, without the values. */
  scrubText(text: string): string {
    if (this.#isFull && text !== "") return MASKED;
    return this.#scrub(text);
  }

  /** A JSON value without the values, in its keys either. What has none is shared, not copied. */
  scrub(value: unknown): unknown {
    if (this.#forms.size === 0) return value;
    if (typeof value === "string") return this.#scrub(value);
    if (typeof value === "number") return this.#forms.has(String(value)) ? MASKED : value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item: unknown) => this.scrub(item));
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    const before = Object.entries(value);
    const after = before.map(([key, item]) => [this.#scrub(key), this.scrub(item)] as const);
    const isSame = after.every(([key, item], index) => key === before[index]?.[0] && item === before[index][1]);
    return isSame ? value : Object.fromEntries(after);
  }

  #addText(text: string): void {
    if (text.length < MIN_CHARS || text === MASKED) return;
    const quoted = quote(text);
    for (const form of [text, quoted, quote(quoted), toUri(text)]) this.#forms.add(form);
    this.#isFull = this.#forms.size > MAX_VALUES * 4;
    this.#sorted = undefined;
  }

  #scrub(text: string): string {
    if (this.#forms.size === 0 || text.length < MIN_CHARS) return text;
    this.#sorted ??= [...this.#forms].toSorted((a, b) => b.length - a.length);
    let scrubbed = text;
    // No pattern: one too large to be compiled is said in the error, with all that is in it.
    for (const form of this.#sorted) {
      if (form.length <= scrubbed.length) scrubbed = scrubbed.replaceAll(form, () => MASKED);
    }
    return scrubbed;
  }
}

/** As it stands in JSON. */
const quote = (text: string): string => JSON.stringify(text).slice(1, -1);

/** As it stands in a URL; a text with half a character in it has no such form. */
function toUri(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}
