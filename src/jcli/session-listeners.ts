import type { OnSessionNews, SessionNews } from "./session-store.ts";

/** Who a store of session hooks tells of changes. */
export class SessionListeners {
  readonly #listeners = new Set<OnSessionNews>();

  /** Tells `listener` from now on. @returns lets go of it */
  add(listener: OnSessionNews): () => void {
    // One function may listen twice.
    const own: OnSessionNews = (news) => listener(news);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Tells of a change; without one, that some may have been missed. */
  tell(news: SessionNews | undefined): void {
    for (const listener of this.#listeners) listener(news);
  }
}
