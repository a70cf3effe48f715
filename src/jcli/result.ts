import * as z from "zod";
import { isObject } from "../is-object.ts";
import { assertDepth } from "../chain/index.ts";
import { HookCallError } from "../errors.ts";
import { type Message, messagesSchema } from "./context.ts";
import type { LifecycleAction, ResultField } from "./event.ts";

/** What a hook answers, and what a chain comes to. A field that is absent changes nothing. */
export interface HookResult {
  readonly messages?: readonly Message[];
  readonly system_prompt?: string;
  readonly user_input?: string;
  readonly assistant_output?: string;
  readonly tool_arguments?: string;
  readonly tool_result?: string;
  readonly tool_error?: string;
  /** Appended to the messages. */
  readonly inject_messages?: readonly Message[];
  /** Appended to the system prompt. */
  readonly additional_context?: string;
  /** What the model is told to do better. */
  readonly retry_feedback?: string;
  /** Shown to the user; the model does not see it. */
  readonly system_message?: string;
  /** `stop` ends the step and what it is part of; `skip` leaves out this step alone. */
  readonly action?: LifecycleAction;
}

/** The fields of a result other than its action. */
export const RESULT_FIELDS: readonly ResultField[] = [
  "messages",
  "system_prompt",
  "user_input",
  "assistant_output",
  "tool_arguments",
  "tool_result",
  "tool_error",
  "inject_messages",
  "additional_context",
  "retry_feedback",
  "system_message",
];

const text = z.string().exactOptional();

/** The schema of a result without null fields. */
export const resultSchema: z.ZodType<HookResult> = z.object({
  messages: messagesSchema.exactOptional(),
  system_prompt: text,
  user_input: text,
  assistant_output: text,
  tool_arguments: text,
  tool_result: text,
  tool_error: text,
  inject_messages: messagesSchema.exactOptional(),
  additional_context: text,
  retry_feedback: text,
  system_message: text,
  action: z.enum(["stop", "skip"]).exactOptional(),
});

const NO_CHANGE: HookResult = {};

/**
 * Reads a hook's result. Null fields are absent, unknown ones are ignored.
 * @throws {HookCallError} `bad_result` when it is not an object or a field has the wrong type, `unsupported_action` for an
 * action other than `stop` and `skip`
 */
export function parseResult(value: unknown): HookResult {
  if (!isObject(value)) {
    throw new HookCallError(
      "bad_result",
      `expected an object, got ${Array.isArray(value) ? "an array" : typeof value}`,
    );
  }
  if (Object.keys(value).length === 0) return NO_CHANGE;
  assertDepth(value);
  const fields = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
  const { action } = fields;
  if (typeof action === "string" && action !== "stop" && action !== "skip") {
    throw new HookCallError("unsupported_action", `unsupported action "${action.slice(0, 40)}"`);
  }
  assertResult(fields);
  return fields;
}

function assertResult(fields: object): asserts fields is HookResult {
  const { error } = resultSchema.safeParse(fields);
  if (error === undefined) return;
  const [issue] = error.issues;
  throw new HookCallError("bad_result", `${issue?.path.map(String).join(".")}: ${issue?.message}`);
}
