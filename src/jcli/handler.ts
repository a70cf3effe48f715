import type { HookContext } from "./context.ts";
import type { EventField, LifecycleAction, LifecycleEvent, ResultField } from "./event.ts";
import type { HookResult } from "./result.ts";

/** What each event's context carries beside `event`, `session_id` and `cwd`. */
interface Carried {
  readonly session_start: "messages";
  readonly session_end: "messages";
  readonly pre_send_message: "user_input" | "messages";
  readonly post_send_message: "user_input" | "messages";
  readonly pre_llm_request: "messages" | "system_prompt" | "model";
  readonly post_llm_response: "assistant_output" | "messages" | "model";
  readonly pre_tool_execution: "tool_name" | "tool_arguments";
  readonly post_tool_execution: "tool_name" | "tool_result";
  readonly post_tool_execution_failure: "tool_name" | "tool_error";
  readonly stop: "user_input" | "messages" | "system_prompt" | "model";
  readonly pre_micro_compact: "messages" | "model";
  readonly post_micro_compact: "messages";
  readonly pre_auto_compact: "messages" | "system_prompt" | "model";
  readonly post_auto_compact: "messages";
}

/** What of a result has an effect at each event, beside `system_message`. */
interface Effective {
  readonly session_start: never;
  readonly session_end: never;
  readonly pre_send_message: "user_input" | "retry_feedback" | "stop";
  readonly post_send_message: never;
  readonly pre_llm_request:
    | "messages"
    | "system_prompt"
    | "inject_messages"
    | "additional_context"
    | "retry_feedback"
    | "stop";
  readonly post_llm_response: "assistant_output" | "retry_feedback" | "stop";
  readonly pre_tool_execution: "tool_arguments" | "skip" | "stop";
  readonly post_tool_execution: "tool_result";
  readonly post_tool_execution_failure: "tool_error" | "additional_context";
  readonly stop: "retry_feedback" | "additional_context" | "stop";
  readonly pre_micro_compact: "stop";
  readonly post_micro_compact: "messages";
  readonly pre_auto_compact: "additional_context" | "stop";
  readonly post_auto_compact: "messages";
}

/** The context of one event. */
export type ContextOf<E extends LifecycleEvent> = Pick<
  HookContext,
  "session_id" | "cwd" | (Carried[E] & EventField)
> & {
  readonly event: E;
};

/** What a handler of one event may answer: only what has an effect there. */
export type ResultOf<E extends LifecycleEvent> = Pick<HookResult, "system_message" | (Effective[E] & ResultField)> & {
  readonly action?: Effective[E] & LifecycleAction;
};

type Reply<T> = T | null | undefined | void | Promise<T | null | undefined | void>;

/** Handlers by event; `S` is what a handler is given beside the context. */
export type LifecycleHandlers<S> = {
  readonly [E in LifecycleEvent]?: (context: ContextOf<E>, scope: S) => Reply<ResultOf<E>>;
};
