import * as z from "zod";
import { HookgateError } from "../errors.ts";
import type { SavedHook } from "./session-entry.ts";

/** The hooks of a session, as a store keeps them. */
export interface KeptSession {
  /** Which change made it what it is: of two changes, of whichever sessions, the later one has the higher. 1 or more. */
  readonly version: number;
  /** At least one, by session index. */
  readonly hooks: readonly SavedHook[];
}

/** A conditional change of a session's hooks. */
export interface SessionChange {
  /** Its id, 1 to 256 characters. */
  readonly session: string;
  /** The version that is known; 0 when it is known to have none. */
  readonly version: number;
  /** What it has from now on; an empty list takes it away. */
  readonly hooks: readonly SavedHook[];
  /** How many sessions may have hooks at once. */
  readonly maxSessions: number;
}

/** What came of {@link SessionHookStore.replace}. */
export type SessionReplacement =
  | { readonly outcome: "replaced"; readonly version: number }
  /** That is not the version there is; nothing is changed. */
  | { readonly outcome: "conflict" }
  /** As many sessions have hooks as may; nothing is changed. */
  | { readonly outcome: "full" };

/** A {@link KeptSession} as one text. */
export interface SessionRow {
  readonly version: number;
  /** What {@link readSession} reads. */
  readonly text: string;
}

/** A {@link SessionChange} as one text. */
export interface SessionRowChange extends Omit<SessionChange, "hooks"> {
  /** What {@link toSessionText} made; empty for no hooks. */
  readonly text: string;
}

/** That the hooks of a session were changed. */
export interface SessionNews {
  readonly session: string;
  readonly version: number;
}

/**
 * Told of changes by this process and, where a store can, by others. Undefined when some may have been missed. It must not
 * throw.
 */
export type OnSessionNews = (news: SessionNews | undefined) => void;

/**
 * Where the hooks of sessions are kept, for any number of gateways. A store knows no rules: it keeps what it is given under
 * conditions that it checks in one atomic step. What it holds outlives the process, but for a store in memory. A session
 * that was neither changed nor looked at for {@link SESSION_KEEP_MS} has none any more.
 *
 * `get` and `replace` reject with a {@link HookgateError} of code `ERR_STORE_UNAVAILABLE` when the store cannot be reached
 * or cannot tell.
 */
export interface SessionHookStore {
  /** What it is called in messages, such as `sqlite`. */
  readonly name: string;
  /**
   * How long what was read may be used without looking again, in milliseconds: the bound of how long a change by another
   * gateway goes unnoticed when no news of it arrives.
   */
  readonly maxAgeMs: number;
  /** The hooks of a session; undefined when it has none. To look counts as use. */
  get(session: string): Promise<KeptSession | undefined>;
  /**
   * Puts a list of hooks in the place of the one that is known.
   * @throws {HookgateError} `ERR_OVERLOADED` when the hooks take more than {@link MAX_SESSION_BYTES}
   */
  replace(change: SessionChange): Promise<SessionReplacement>;
  /** Calls `listener` after changes. @returns lets go of it */
  subscribe(listener: OnSessionNews): () => void;
}

/** What the hooks of one session may take together as JSON in UTF-8, in bytes. */
export const MAX_SESSION_BYTES = 1_048_576;

/** How long the hooks of a session are kept that were neither changed nor looked at, in milliseconds: 30 days. */
export const SESSION_KEEP_MS: number = 30 * 86_400_000;

/** How exact the time of the last look is, in milliseconds: a look writes at most once an hour. */
export const SESSION_TOUCH_MS = 3_600_000;

/** How many sessions that are over a change takes away: more than it adds, so that they do not pile up. */
export const MAX_SWEPT_SESSIONS = 16;

/** The most hooks that are read of a session. */
const MAX_HOOKS = 1024;

const keptSchema = z.array(z.record(z.string(), z.unknown())).min(1).max(MAX_HOOKS);

const versionSchema = z.int().min(1);

/**
 * The hooks of a session as the text that a store keeps; empty when there are none.
 * @throws {HookgateError} `ERR_OVERLOADED` when it would be longer than {@link MAX_SESSION_BYTES}
 */
export function toSessionText(hooks: readonly SavedHook[]): string {
  if (hooks.length === 0) return "";
  const text = JSON.stringify(hooks);
  // Three bytes are the most that one UTF-16 unit becomes.
  if (text.length * 3 <= MAX_SESSION_BYTES || new TextEncoder().encode(text).length <= MAX_SESSION_BYTES) return text;
  const message = `the hooks of a session may take ${MAX_SESSION_BYTES} bytes together`;
  throw new HookgateError("ERR_OVERLOADED", message);
}

/** A change of a session's hooks, as a store keeps them. @throws {HookgateError} as {@link toSessionText} */
export function toRowChange({ hooks, ...change }: SessionChange): SessionRowChange {
  return { ...change, text: toSessionText(hooks) };
}

/** The hooks of a session that a store keeps and nobody can read: all that can be done is to take them away. */
export class UnreadableSessionError extends HookgateError {
  /** By which they can be replaced. */
  readonly version: number;

  constructor(version: number, cause: unknown) {
    const why = "it holds hooks of this session that cannot be read: remove all of them, and register them anew";
    super("ERR_STORE_UNAVAILABLE", `the store of session hooks is not available: ${why}`, { cause });
    this.version = version;
  }
}

/**
 * Reads what a store kept of a session.
 * @throws {UnreadableSessionError} when it is nothing that {@link toSessionText} made
 */
export function readSession({ version, text }: SessionRow): KeptSession {
  try {
    if (text.length > MAX_SESSION_BYTES) throw new RangeError("it is too long");
    return { version: versionSchema.parse(version), hooks: keptSchema.parse(JSON.parse(text)) };
  } catch (cause) {
    throw new UnreadableSessionError(version, cause);
  }
}

/** The error of a store that cannot be reached or cannot tell. What went wrong is in `cause`, for the log. */
export function sessionsUnavailable(why: string, cause?: unknown): HookgateError {
  return new HookgateError("ERR_STORE_UNAVAILABLE", `the store of session hooks is not available: ${why}`, { cause });
}
