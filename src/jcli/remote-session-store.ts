import { isHookgateError } from "../errors.ts";
import {
  readSession,
  type SessionHookStore,
  type SessionReplacement,
  type SessionRow,
  type SessionRowChange,
  sessionsUnavailable,
  toRowChange,
} from "./session-store.ts";

/** What a store of session hooks asks of the one place where they are. Everything that goes in and out is plain data. */
export interface SessionPeer {
  getSession(session: string): Promise<SessionRow | undefined>;
  replaceSession(change: SessionRowChange): Promise<SessionReplacement>;
}

/** Options of {@link createRemoteSessionStore}. */
export interface RemoteSessionStoreOptions {
  /** What it is called in messages. */
  readonly name: string;
  /** A way to where the hooks are, for one call. */
  readonly connect: () => SessionPeer;
  /** Told why a call has failed, which is not said to callers. It must not throw. @default nobody is told */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** How long what was read may be used, in milliseconds. */
const MAX_AGE_MS = 2000;

/**
 * Makes a store of the session hooks that are in one other place, which nothing is told by: what was read is looked at again
 * after 2 s.
 */
export function createRemoteSessionStore(options: RemoteSessionStoreOptions): SessionHookStore {
  const { name, connect, onFailure } = options;
  async function ask<T>(work: (peer: SessionPeer) => Promise<T>): Promise<T> {
    try {
      return await work(connect());
    } catch (error) {
      if (isHookgateError(error)) throw error;
      onFailure?.(error);
      throw sessionsUnavailable("where it is cannot be asked", error);
    }
  }
  return {
    name,
    maxAgeMs: MAX_AGE_MS,
    async get(session) {
      const row = await ask((peer) => peer.getSession(session));
      return row && readSession(row);
    },
    async replace(change) {
      const row = toRowChange(change);
      return ask((peer) => peer.replaceSession(row));
    },
    subscribe: () => () => {},
  };
}
