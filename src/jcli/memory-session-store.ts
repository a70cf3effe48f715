import { SessionListeners } from "./session-listeners.ts";
import {
  type KeptSession,
  type OnSessionNews,
  readSession,
  SESSION_KEEP_MS,
  type SessionChange,
  type SessionHookStore,
  type SessionReplacement,
  type SessionRow,
  toSessionText,
} from "./session-store.ts";

/** Options of {@link createMemorySessionStore}. */
export interface MemorySessionStoreOptions {
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** Makes a store of session hooks in memory: for managers of one process, and gone with it. */
export function createMemorySessionStore({ now = Date.now }: MemorySessionStoreOptions = {}): SessionHookStore {
  return new MemorySessionStore(now);
}

interface Row extends SessionRow {
  usedAtMs: number;
}

class MemorySessionStore implements SessionHookStore {
  readonly name = "memory";
  /** No news can be lost. */
  readonly maxAgeMs: number = Infinity;
  readonly #now: () => number;
  readonly #rows = new Map<string, Row>();
  readonly #listeners = new SessionListeners();
  #version = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  async get(session: string): Promise<KeptSession | undefined> {
    const row = this.#find(session);
    if (row === undefined) return undefined;
    row.usedAtMs = this.#now();
    return readSession(row);
  }

  async replace({ session, version, hooks, maxSessions }: SessionChange): Promise<SessionReplacement> {
    const text = toSessionText(hooks);
    const row = this.#find(session);
    if ((row?.version ?? 0) !== version) return { outcome: "conflict" };
    if (row === undefined && text !== "" && this.#size() >= maxSessions) return { outcome: "full" };
    this.#version += 1;
    if (text === "") this.#rows.delete(session);
    else this.#rows.set(session, { version: this.#version, text, usedAtMs: this.#now() });
    this.#listeners.tell({ session, version: this.#version });
    return { outcome: "replaced", version: this.#version };
  }

  subscribe(listener: OnSessionNews): () => void {
    return this.#listeners.add(listener);
  }

  #find(session: string): Row | undefined {
    const row = this.#rows.get(session);
    return row !== undefined && this.#isKept(row) ? row : undefined;
  }

  #size(): number {
    for (const [session, row] of this.#rows) if (!this.#isKept(row)) this.#rows.delete(session);
    return this.#rows.size;
  }

  #isKept({ usedAtMs }: Row): boolean {
    return usedAtMs + SESSION_KEEP_MS > this.#now();
  }
}
