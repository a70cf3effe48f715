import { isSameJson } from "../chain/index.ts";
import { HookCallError, isHookgateError } from "../errors.ts";
import { HookCounters } from "./counters.ts";
import type { OnError } from "./definition.ts";
import { isLifecycleEvent, type LifecycleEvent } from "./event.ts";
import { LifecycleHook } from "./hook.ts";
import {
  type CheckedSessionHook,
  checkSessionHook,
  openSessionHook,
  type SavedHook,
  type SessionEntry,
  type SessionHookRules,
  toSessionHook,
} from "./session-entry.ts";
import type { KeptSession } from "./session-store.ts";

/** What a process knows of the hooks of a session. */
export interface SessionCopy {
  /** The store's; 0 when it has none and it is not known since when. */
  readonly version: number;
  readonly parts: readonly CopyPart[];
  /** Those of them that are called here, by session index. */
  readonly hooks: readonly LifecycleHook[];
  /** When it was looked at, by a monotonic clock in milliseconds; `-Infinity` when it is known to be of before. */
  checkedAtMs: number;
  /** When it came to be what it is, by the same clock. */
  readonly keptAtMs: number;
}

/** One hook of a session as it is kept, and what it is here. */
export interface CopyPart {
  readonly saved: SavedHook;
  /** Absent when it may not run here. */
  readonly entry?: SessionEntry;
  /** Why it may not run here. */
  readonly problem?: string;
}

/** Options of {@link toParts}. */
export interface ToPartsOptions {
  readonly rules: SessionHookRules;
  /** The parts of before: what is the same goes on with its counts and its connection, the others are let go of. */
  readonly before: readonly CopyPart[];
  /** Told of each hook that may not run here and was not there before. */
  readonly onLeftOut: (index: number, problem: string) => void;
}

/** Makes what a session has callable: each hook is checked as if it were registered here. */
export function toParts({ hooks }: Pick<KeptSession, "hooks">, options: ToPartsOptions): readonly CopyPart[] {
  const unused = new Set(options.before);
  const parts = hooks.map((saved, index): CopyPart => {
    for (const part of unused) {
      if (!isSameJson(part.saved, saved)) continue;
      unused.delete(part);
      return part;
    }
    const part = openPart(saved, options.rules);
    if (part.problem !== undefined) options.onLeftOut(index, part.problem);
    return part;
  });
  closeParts([...unused]);
  return parts;
}

/** Lets go of what the calls of hooks need. */
export function closeParts(parts: readonly CopyPart[]): void {
  for (const { entry } of parts) void entry?.call.close?.();
}

/** The hooks that are called, at their places in the session's list. */
export function toCalled(parts: readonly CopyPart[]): readonly LifecycleHook[] {
  return parts.flatMap(({ saved, entry, problem = "" }, index) => {
    if (entry !== undefined) return toSessionHook(entry, index);
    const { event, on_error: onError } = saved;
    // What may not run is left out; of a guard this would be a yes that nobody gave.
    if (typeof event !== "string" || !isLifecycleEvent(event) || (onError !== "abort" && onError !== "stop")) return [];
    const error = new HookCallError("unsupported_runtime", problem);
    return createFailingHook({ event, position: index, error, onError: "abort" });
  });
}

function openPart(saved: SavedHook, rules: SessionHookRules): CopyPart {
  let checked: CheckedSessionHook | undefined;
  try {
    checked = checkSessionHook(saved, rules.ports);
    return { saved, entry: openSessionHook(checked, rules) };
  } catch (error) {
    if (!isHookgateError(error)) throw error;
    const problem = error.message;
    if (checked?.definition.onError !== "abort") return { saved, problem };
    const call = (): never => {
      throw new HookCallError("unsupported_runtime", problem);
    };
    return { saved, problem, entry: { ...checked, counters: new HookCounters(), call } };
  }
}

/** Parts of {@link createFailingHook}. */
export interface FailingHookParts {
  readonly event: LifecycleEvent;
  /** Its index in the session's list. @default it is in no list */
  readonly position?: number;
  readonly error: HookCallError;
  readonly onError: OnError;
}

/** A hook that stands for what cannot be called: it gives no verdict, and what follows is `onError`. */
export function createFailingHook({ event, position, error, onError }: FailingHookParts): LifecycleHook {
  return new LifecycleHook({
    event,
    level: "session",
    position: position ?? 0,
    ...(position === undefined && { name: STORE_HOOK }),
    type: "store",
    label: error.message,
    timeoutMs: 1000,
    retryCount: 0,
    onError,
    counters: new HookCounters(),
    call: () => {
      throw error;
    },
  });
}

/** What stands in a trace for the hooks of a session that could not be looked up. */
const STORE_HOOK = "session.store";
