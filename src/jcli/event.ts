/** A moment in an agent's run at which the hooks of a `hooks.yaml` are called. */
export type LifecycleEvent =
  | "session_start"
  | "session_end"
  | "pre_send_message"
  | "post_send_message"
  | "pre_llm_request"
  | "post_llm_response"
  | "pre_tool_execution"
  | "post_tool_execution"
  | "post_tool_execution_failure"
  | "stop"
  | "pre_micro_compact"
  | "post_micro_compact"
  | "pre_auto_compact"
  | "post_auto_compact";

/** A field of the context that only some events carry. */
export type EventField =
  | "messages"
  | "system_prompt"
  | "model"
  | "user_input"
  | "assistant_output"
  | "tool_name"
  | "tool_arguments"
  | "tool_result"
  | "tool_error";

/** A field of a result that replaces the context's field of the same name. */
export type ReplacedField = Exclude<EventField, "model" | "tool_name">;

/** A field of a result other than its action. */
export type ResultField =
  | ReplacedField
  | "inject_messages"
  | "additional_context"
  | "retry_feedback"
  | "system_message";

/** What a result may ask for besides changes. */
export type LifecycleAction = "stop" | "skip";

/** What an event's hooks are given and what of their results has an effect. */
export interface EventSpec {
  readonly event: LifecycleEvent;
  /** What the context carries besides `event`, `session_id` and `cwd`. */
  readonly carries: ReadonlySet<EventField>;
  readonly effective: ReadonlySet<ResultField>;
  readonly actions: ReadonlySet<LifecycleAction>;
  /** Whether its hooks are only told: they run in the background and their results change nothing. */
  readonly isNotification: boolean;
}

/** What each event gives its hooks and takes from them. */
export const LIFECYCLE: Readonly<Record<LifecycleEvent, EventSpec>> = {
  session_start: notification("session_start", ["messages"]),
  session_end: notification("session_end", ["messages"]),
  pre_send_message: spec("pre_send_message", {
    carries: ["user_input", "messages"],
    effective: ["user_input", "retry_feedback"],
    actions: ["stop"],
  }),
  post_send_message: notification("post_send_message", ["user_input", "messages"]),
  pre_llm_request: spec("pre_llm_request", {
    carries: ["messages", "system_prompt", "model"],
    effective: ["messages", "system_prompt", "inject_messages", "additional_context", "retry_feedback"],
    actions: ["stop"],
  }),
  post_llm_response: spec("post_llm_response", {
    carries: ["assistant_output", "messages", "model"],
    effective: ["assistant_output", "retry_feedback"],
    actions: ["stop"],
  }),
  pre_tool_execution: spec("pre_tool_execution", {
    carries: ["tool_name", "tool_arguments"],
    effective: ["tool_arguments"],
    // The reference document lists skip alone. Here a stop does not run the tool either and ends the turn, so that a
    // guard that fails under `on_error: abort` never lets the tool run.
    actions: ["skip", "stop"],
  }),
  post_tool_execution: spec("post_tool_execution", {
    carries: ["tool_name", "tool_result"],
    effective: ["tool_result"],
  }),
  post_tool_execution_failure: spec("post_tool_execution_failure", {
    carries: ["tool_name", "tool_error"],
    effective: ["tool_error", "additional_context"],
  }),
  stop: spec("stop", {
    carries: ["user_input", "messages", "system_prompt", "model"],
    effective: ["retry_feedback", "additional_context"],
    actions: ["stop"],
  }),
  pre_micro_compact: spec("pre_micro_compact", { carries: ["messages", "model"], actions: ["stop"] }),
  post_micro_compact: spec("post_micro_compact", { carries: ["messages"], effective: ["messages"] }),
  pre_auto_compact: spec("pre_auto_compact", {
    carries: ["messages", "system_prompt", "model"],
    effective: ["additional_context"],
    actions: ["stop"],
  }),
  post_auto_compact: spec("post_auto_compact", { carries: ["messages"], effective: ["messages"] }),
};

/** Every event, in the order of a session. */
export const LIFECYCLE_EVENTS: readonly LifecycleEvent[] = Object.values(LIFECYCLE).map(({ event }) => event);

/** Whether a string names an event. */
export function isLifecycleEvent(value: string): value is LifecycleEvent {
  return Object.hasOwn(LIFECYCLE, value);
}

interface Row {
  readonly carries: readonly EventField[];
  readonly effective?: readonly ResultField[];
  readonly actions?: readonly LifecycleAction[];
}

function spec(event: LifecycleEvent, { carries, effective = [], actions = [] }: Row): EventSpec {
  return {
    event,
    carries: new Set(carries),
    effective: new Set<ResultField>([...effective, "system_message"]),
    actions: new Set(actions),
    isNotification: false,
  };
}

function notification(event: LifecycleEvent, carries: readonly EventField[]): EventSpec {
  return { ...spec(event, { carries }), isNotification: true };
}
