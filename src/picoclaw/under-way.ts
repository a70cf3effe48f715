/** How many calls of a host are under way, for whoever closes it after them. */
export class UnderWay {
  #count = 0;
  #onIdle: (() => void) | undefined;

  /** A call begins; parts of one may be counted too. */
  enter(): void {
    this.#count += 1;
  }

  /** What has entered is done. */
  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle?.();
  }

  /** Waits until none is under way; nobody may make calls meanwhile. */
  async idle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }
}
