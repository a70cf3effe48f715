/** Turns a payload into the text that goes to a remote hook. */
export type Encode<P extends object> = (value: P) => string;

/**
 * The payload as the chain holds it between two hooks. It is never changed, only replaced, so an encoding made for one
 * hook is the same bytes for the next.
 */
export class Current<P extends object> {
  readonly value: P;
  #encodings: Map<unknown, string> | undefined;

  constructor(value: P) {
    this.value = value;
  }

  /** The encoding of the value, made once per encoder. */
  encode(encode: Encode<P>): string {
    this.#encodings ??= new Map();
    let text = this.#encodings.get(encode);
    if (text === undefined) {
      text = encode(this.value);
      this.#encodings.set(encode, text);
    }
    return text;
  }
}
