import { HookgateError } from "../errors.ts";
import type { LifecycleHook } from "./hook.ts";
import {
  assertSessionId,
  checkSessionHook,
  openSessionHook,
  type SavedHook,
  type SessionEntry,
  type SessionHookRules,
  toSavedHook,
  toSessionHook,
} from "./session-entry.ts";

/** Options of {@link SessionHooks}. */
export interface SessionHooksOptions extends SessionHookRules {
  /** How many hooks a session may have, 1 or more. */
  readonly maxHooks: number;
  /** How many sessions may have hooks at once, 1 or more. */
  readonly maxSessions: number;
}

/** The hooks that agents registered at run time, each for one session only. */
export class SessionHooks {
  readonly #options: SessionHooksOptions;
  readonly #sessions = new Map<string, readonly LifecycleHook[]>();
  readonly #entries = new Map<string, readonly SessionEntry[]>();

  constructor(options: SessionHooksOptions) {
    this.#options = options;
  }

  /**
   * Adds a hook at the end of a session's list. Calls that are under way do not see it.
   * @param request - `event`, and a definition as a file has it: `type`, `command` or `prompt`, `model`, `timeout` in
   * seconds, `retry`, `on_error`, `filter`
   * @returns its session index
   * @throws {HookgateError} `ERR_INVALID_PARAMS` when the request does not fit, `ERR_FORBIDDEN` for a type that may not be
   * registered, `ERR_OVERLOADED` when the session or the manager has as many as it may
   */
  register(sessionId: string, request: unknown): number {
    const entries = this.#entries.get(assertSessionId(sessionId)) ?? [];
    const entry = openSessionHook(checkSessionHook(request, this.#options.ports), this.#options);
    const { maxHooks, maxSessions } = this.#options;
    if (entries.length >= maxHooks) throw new HookgateError("ERR_OVERLOADED", `a session may have ${maxHooks} hooks`);
    if (entries.length === 0 && this.#entries.size >= maxSessions) {
      throw new HookgateError("ERR_OVERLOADED", `${maxSessions} sessions have hooks already`);
    }
    this.#set(sessionId, [...entries, entry]);
    return entries.length;
  }

  /**
   * Removes a hook; the indices of those after it shift. Calls that are under way still reach it.
   * @throws {HookgateError} `ERR_INVALID_PARAMS` when the session has no hook of that index
   */
  remove(sessionId: string, sessionIndex: number): void {
    const entries = this.#entries.get(sessionId) ?? [];
    if (entries[sessionIndex] === undefined) {
      throw new HookgateError("ERR_INVALID_PARAMS", `the session has no hook of index ${sessionIndex}`);
    }
    this.#set(sessionId, entries.toSpliced(sessionIndex, 1));
    void entries[sessionIndex].call.close?.();
  }

  /** The hooks of a session, by session index. */
  hooks(sessionId: string): readonly LifecycleHook[] {
    return this.#sessions.get(sessionId) ?? [];
  }

  /** What {@link SessionHooks.restore} takes, as JSON values. To be taken before the session ends. */
  save(sessionId: string): readonly SavedHook[] {
    return (this.#entries.get(sessionId) ?? []).map(toSavedHook);
  }

  /**
   * Gives a session the hooks that were saved, in the place of those it has. What may not be registered any more is left
   * out.
   * @returns what was left out and why, one sentence each
   * @throws {HookgateError} `ERR_INVALID_PARAMS` when it is not a list
   */
  restore(sessionId: string, saved: unknown): readonly string[] {
    if (!Array.isArray(saved)) throw new HookgateError("ERR_INVALID_PARAMS", "the saved hooks are not a list");
    this.end(assertSessionId(sessionId));
    const problems: string[] = [];
    for (const [index, request] of saved.entries()) {
      try {
        this.register(sessionId, request);
      } catch (error) {
        if (!(error instanceof HookgateError)) throw error;
        problems.push(`[${index}] ${error.message}`);
      }
    }
    return problems;
  }

  /**
   * Gives every session the hooks it has in another, whose place this takes.
   * @returns what was left out and why, one sentence each
   */
  adopt(previous: SessionHooks): readonly string[] {
    return previous.ids().flatMap((id) => this.restore(id, previous.save(id)));
  }

  /** The ids of the sessions that have hooks. */
  ids(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Forgets a session and its hooks. */
  end(sessionId: string): void {
    const entries = this.#entries.get(sessionId) ?? [];
    this.#set(sessionId, []);
    for (const { call } of entries) void call.close?.();
  }

  /** Forgets every session. */
  close(): void {
    for (const sessionId of this.#entries.keys()) this.end(sessionId);
  }

  #set(sessionId: string, entries: readonly SessionEntry[]): void {
    if (entries.length === 0) {
      this.#entries.delete(sessionId);
      this.#sessions.delete(sessionId);
      return;
    }
    this.#entries.set(sessionId, entries);
    this.#sessions.set(sessionId, entries.map(toSessionHook));
  }
}
