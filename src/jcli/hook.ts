import {
  type CallScope,
  type ChainHook,
  createDraft,
  type Current,
  failOpen,
  type FailurePolicy,
  IN_PROCESS,
  type LatencyQuantiles,
} from "../chain/index.ts";
import type { HookContext } from "./context.ts";
import type { HookCounters, HookMetrics } from "./counters.ts";
import type { HookDefinition, OnError } from "./definition.ts";
import type { LifecycleEvent } from "./event.ts";
import { type HookFilter, matchesFilter } from "./filter.ts";
import type { LifecycleState } from "./merge.ts";
import type { LifecycleCall } from "./port.ts";
import type { HookResult } from "./result.ts";

/** Where a hook comes from; in this order the levels are called. */
export type HookLevel = "builtin" | "user" | "project" | "session";

/** What is known of a hook. */
export interface LifecycleHookStatus {
  readonly event: LifecycleEvent;
  readonly level: HookLevel;
  /** What removes a session hook; indices shift after a removal. */
  readonly session_index?: number;
  /** `bash`, `llm`, `http`, or `in-process` for a builtin. */
  readonly type: string;
  /** The beginning of its command or prompt, its URL, or a builtin's name. */
  readonly label: string;
  readonly timeout_ms: number;
  readonly retry: number;
  readonly on_error: OnError;
  readonly model?: string;
  readonly filter?: HookFilter;
  readonly metrics: HookMetrics;
  /** RFC 3339 time of the last call's end. */
  readonly last_fired?: string;
  /** How long its calls took, each of them off by at most 3.2%; absent before the first. */
  readonly latency_ms?: LatencyQuantiles;
  /** Why the last failed attempt failed. */
  readonly last_error?: string;
  /** Fields of its results that have no effect at the event. */
  readonly ignored_fields: readonly string[];
}

/** What a builtin hook is given besides the context. */
export interface BuiltinScope {
  /** Aborts at the hook's deadline or when the host gives up. */
  readonly signal: AbortSignal;
  /** What is left of the deadline in milliseconds. */
  readonly remainingMs: number;
}

/** A hook in this process. It gets a private view of the context; what it returns is its result. */
export type BuiltinHandler = (
  context: HookContext,
  scope: BuiltinScope,
) => HookResult | undefined | void | Promise<HookResult | undefined | void>;

/** Parts of a {@link LifecycleHook}. */
export interface LifecycleHookParts {
  /** @default what {@link nameOf} makes of its place */
  readonly name?: string | undefined;
  readonly event: LifecycleEvent;
  readonly level: HookLevel;
  /** Its place among the hooks of its file's event, of its session, or of the builtins of its event. */
  readonly position: number;
  readonly type: string;
  readonly label: string;
  readonly model?: string | undefined;
  readonly timeoutMs: number;
  readonly retryCount: number;
  readonly onError: OnError;
  readonly filter?: HookFilter | undefined;
  readonly call: LifecycleCall;
  readonly counters: HookCounters;
}

const abortChain: FailurePolicy = { effectOf: () => "abort_turn" };

/** One hook as the chain calls it, with its counters. */
export class LifecycleHook implements ChainHook<LifecycleState> {
  readonly name: string;
  readonly source: string;
  readonly timeoutMs: number;
  readonly retryCount: number;
  readonly policy: FailurePolicy;
  readonly event: LifecycleEvent;
  readonly counters: HookCounters;
  readonly #parts: LifecycleHookParts;

  constructor(parts: LifecycleHookParts) {
    this.name = parts.name ?? nameOf(parts);
    this.source = parts.type;
    this.timeoutMs = parts.timeoutMs;
    this.retryCount = parts.retryCount;
    this.policy = parts.onError === "abort" ? abortChain : failOpen;
    this.event = parts.event;
    this.counters = parts.counters;
    this.#parts = parts;
  }

  appliesTo({ context }: LifecycleState): boolean {
    const { filter } = this.#parts;
    return filter === undefined || matchesFilter(filter, context.value);
  }

  call({ value }: Current<LifecycleState>, scope: CallScope): unknown {
    return this.#parts.call(value.context, scope);
  }

  /** Lets go of what the hook's calls need. Calls that are under way may still be answered. */
  close(): void {
    void this.#parts.call.close?.();
  }

  /** What is known of the hook. */
  status(): LifecycleHookStatus {
    const { event, level, position, type, label, model, timeoutMs, retryCount, onError, filter } = this.#parts;
    const { lastError, lastFired, latency, ignoredFields } = this.counters;
    return {
      event,
      level,
      ...(level === "session" && { session_index: position }),
      type,
      label,
      timeout_ms: timeoutMs,
      retry: retryCount,
      on_error: onError,
      ...(model !== undefined && { model }),
      ...(filter !== undefined && { filter }),
      metrics: this.counters.toMetrics(),
      ...(lastFired !== undefined && { last_fired: lastFired }),
      ...(latency !== undefined && { latency_ms: latency }),
      ...(lastError !== undefined && { last_error: lastError }),
      ignored_fields: ignoredFields,
    };
  }
}

/** The name of a hook in records and logs, such as `user.pre_send_message[0]`; what its counters are kept under. */
export function nameOf({ level, event, position }: Pick<LifecycleHookParts, "level" | "event" | "position">): string {
  return `${level}.${event}[${position}]`;
}

const MAX_LABEL_CHARS = 60;

/** What a definition is called in a list: the beginning of its command or prompt, on one line. */
export function labelOf(definition: HookDefinition): string {
  const text = textOf(definition);
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length > MAX_LABEL_CHARS ? `${line.slice(0, MAX_LABEL_CHARS)}…` : line;
}

function textOf(definition: HookDefinition): string {
  if (definition.type === "bash") return definition.command;
  if (definition.type === "llm") return definition.prompt;
  // A query may hold a secret.
  return definition.url.replace(/[?#].*$/s, "");
}

/** The call of a hook in this process. */
export function createBuiltinCall(handler: BuiltinHandler): LifecycleCall {
  return (context, scope) => handler(createDraft(context.value), scope);
}

/** What {@link LifecycleHook.source} is for a builtin. */
export const BUILTIN_TYPE: string = IN_PROCESS;
