/**
 * The calls that wait for a reply, by id. They are few, so they are looked for one by one. A map would be laid out anew
 * every few calls, and each layout keeps the next one and the calls in it: once one of them is old, the collector copies
 * every later call until a full collection.
 */
export class PendingCalls<T> {
  readonly #ids: number[] = [];
  readonly #calls: T[] = [];

  add(id: number, call: T): void {
    this.#ids.push(id);
    this.#calls.push(call);
  }

  /** Takes a call out; undefined when it does not wait, or not any more. */
  take(id: number): T | undefined {
    const at = this.#ids.indexOf(id);
    if (at < 0) return undefined;
    const call = this.#calls[at];
    const lastId = this.#ids.pop();
    const last = this.#calls.pop();
    // The last one fills the gap, unless it was the one: their order means nothing.
    if (lastId !== undefined && last !== undefined && at < this.#ids.length) {
      this.#ids[at] = lastId;
      this.#calls[at] = last;
    }
    return call;
  }

  /** Takes all of them out. */
  takeAll(): T[] {
    this.#ids.length = 0;
    return this.#calls.splice(0);
  }
}
