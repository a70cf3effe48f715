import {
  type KeptSession,
  type OnSessionNews,
  readSession,
  SESSION_KEEP_MS,
  SESSION_TOUCH_MS,
  type SessionChange,
  type SessionHookStore,
  SessionListeners,
  type SessionReplacement,
  sessionsUnavailable,
  toRowChange,
} from "../../src/jcli/index.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { FIND_SESSION, REPLACE_SESSION, SESSION_KEYS } from "./redis-scripts.ts";

/** Options of {@link RedisSessionStore}. */
export interface RedisSessionStoreOptions {
  readonly connection: RedisConnection;
  /** What all keys begin with. */
  readonly prefix: string;
  /** What changes are told on. */
  readonly channel: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How long what was read may be used when a message of its change was lost, in milliseconds. */
const MAX_AGE_MS = 5000;

/**
 * The hooks of sessions in Redis, for any number of gateways. Each change is one script and one message; with each new
 * connection everything that was read is of before.
 */
export class RedisSessionStore implements SessionHookStore {
  readonly name = "redis";
  readonly maxAgeMs: number = MAX_AGE_MS;
  readonly #connection: RedisConnection;
  readonly #keys: readonly string[];
  readonly #channel: string;
  readonly #now: () => number;
  readonly #listeners = new SessionListeners();
  #isListening = false;

  constructor({ connection, prefix, channel, now }: RedisSessionStoreOptions) {
    this.#connection = connection;
    this.#keys = SESSION_KEYS.map((key) => `${prefix}${key}`);
    this.#channel = channel;
    this.#now = now;
  }

  async get(session: string): Promise<KeptSession | undefined> {
    const nowMs = this.#now();
    const args = [session, nowMs - SESSION_KEEP_MS, nowMs - SESSION_TOUCH_MS, nowMs].map(String);
    const reply = await this.#connection.run(FIND_SESSION, this.#keys, args);
    if (reply === null) return undefined;
    const [, version, text = ""] = (typeof reply === "string" && /^(\d+) (.*)$/s.exec(reply)) || [];
    return readSession({ version: Number(version), text });
  }

  async replace(change: SessionChange): Promise<SessionReplacement> {
    const { session, version, text, maxSessions } = toRowChange(change);
    const nowMs = this.#now();
    const numbers = [version, maxSessions, nowMs - SESSION_KEEP_MS, nowMs].map(String);
    const reply = await this.#connection.run(REPLACE_SESSION, this.#keys, [session, text, this.#channel, ...numbers]);
    if (reply === "conflict" || reply === "full") return { outcome: reply };
    if (typeof reply === "number") return { outcome: "replaced", version: reply };
    throw sessionsUnavailable("Redis answers something else than was asked");
  }

  subscribe(listener: OnSessionNews): () => void {
    const letGo = this.#listeners.add(listener);
    if (!this.#isListening) {
      this.#isListening = true;
      this.#connection.listen({
        channel: this.#channel,
        onMessage: (message) => this.#hear(message),
        onReady: () => this.#listeners.tell(undefined),
      });
    }
    return letGo;
  }

  #hear(message: string): void {
    const [, version, session] = /^(\d+) (.+)$/s.exec(message) ?? [];
    this.#listeners.tell(session === undefined ? undefined : { session, version: Number(version) });
  }
}
