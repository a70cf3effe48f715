import {
  type ChainHook,
  type ChainRules,
  Current,
  IN_PROCESS,
  isSameJson,
  type Judgement,
  releaseDraft,
} from "../chain/index.ts";
import type { HookContext } from "./context.ts";
import type { EventSpec, ReplacedField } from "./event.ts";
import { type HookResult, parseResult, RESULT_FIELDS } from "./result.ts";

/** What a chain holds between two hooks. */
export interface LifecycleState {
  /** What the next hook sees. Its encoding is kept for as long as no hook changes it. */
  readonly context: Current<HookContext>;
  /** What the hooks so far came to. */
  readonly result: HookResult;
}

/** Told of fields of a hook's result that have no effect at the event. */
export type OnIgnored = (hook: ChainHook<LifecycleState>, fields: readonly string[]) => void;

const REPLACED: readonly ReplacedField[] = [
  "messages",
  "system_prompt",
  "user_input",
  "assistant_output",
  "tool_arguments",
  "tool_result",
  "tool_error",
];

/** What is told of results while they are merged. */
export interface MergeListeners {
  readonly onIgnored: OnIgnored;
  /** Told of a result that changed something or ended the chain: what of it has an effect. */
  readonly onResult?: ((hook: string, result: HookResult) => void) | undefined;
}

/** How results are read and merged at an event. A halt's verdict is the chain's whole result. */
export function createLifecycleRules(
  spec: EventSpec,
  { onIgnored, onResult }: MergeListeners,
): ChainRules<LifecycleState, HookResult> {
  return {
    point: spec.event,
    judge(reply, state, hook): Judgement<LifecycleState, HookResult> {
      if (reply === undefined || reply === null) return { outcome: "continue" };
      const given = parseResult(hook.source === IN_PROCESS ? releaseDraft(reply) : reply);
      const result = toEffective(given, spec);
      const ignored = Object.keys(given).filter((key) => isResultKey(key) && !Object.hasOwn(result, key));
      if (ignored.length > 0) onIgnored(hook, ignored);
      if (result.action !== undefined) {
        onResult?.(hook.name, toHalt(result));
        return { outcome: result.action, halt: toHalt(result) };
      }
      const next = merge(state, result);
      if (next !== state) onResult?.(hook.name, result);
      return next === state ? { outcome: "continue" } : { outcome: "modify", next };
    },
  };
}

/** A result without what has no effect at the event. */
export function toEffective(given: HookResult, { effective, actions }: EventSpec): HookResult {
  const { action, ...fields } = given;
  const kept: HookResult = Object.fromEntries(
    Object.entries(fields).filter(([key]) => RESULT_FIELDS.some((field) => field === key && effective.has(field))),
  );
  return action !== undefined && actions.has(action) ? { ...kept, action } : kept;
}

/**
 * Applies a result. Replaced fields change the context too, and the last writer wins; the others are collected for the
 * host and later hooks do not see them. A field that says what is there already, and an empty addition, change nothing.
 */
function merge(state: LifecycleState, given: HookResult): LifecycleState {
  const context = state.context.value;
  const replaced: Record<string, unknown> = {};
  for (const field of REPLACED) {
    const value = given[field];
    if (value !== undefined && !isSameJson(value, context[field])) replaced[field] = value;
  }
  const added = toAdded(state.result, given);
  const isReplaced = Object.keys(replaced).length > 0;
  if (!isReplaced && Object.keys(added).length === 0) return state;
  return {
    context: isReplaced ? new Current<HookContext>({ ...context, ...replaced }) : state.context,
    result: { ...state.result, ...replaced, ...added },
  };
}

function toAdded(before: HookResult, given: HookResult): HookResult {
  const { inject_messages: messages = [], additional_context: more, retry_feedback, system_message } = given;
  const { additional_context: context } = before;
  return {
    ...(messages.length > 0 && { inject_messages: [...(before.inject_messages ?? []), ...messages] }),
    ...(more && { additional_context: context === undefined ? more : `${context}\n\n${more}` }),
    ...(retry_feedback && { retry_feedback }),
    ...(system_message && { system_message }),
  };
}

function toHalt({ action, retry_feedback, system_message }: HookResult): HookResult {
  return {
    ...(action && { action }),
    ...(retry_feedback && { retry_feedback }),
    ...(system_message && { system_message }),
  };
}

function isResultKey(key: string): boolean {
  return key === "action" || RESULT_FIELDS.some((field) => field === key);
}
