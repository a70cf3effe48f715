/** The calls of a host that are under way, for whoever closes it after them. */
export class UnderWay {
  #count = 0;
  #onIdle: (() => void) | undefined;

  /** Makes a call, which is under way until its answer is there. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await call();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.#onIdle?.();
    }
  }

  /** Waits until none is under way; nobody may make calls meanwhile. */
  async idle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }
}
