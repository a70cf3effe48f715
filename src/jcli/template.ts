import type { HookContext } from "./context.ts";
import type { EventField } from "./event.ts";

/** A name a prompt may use as `{{name}}`. */
export type Placeholder = Exclude<EventField, "messages"> | "event" | "cwd";

/** Every placeholder's name. */
export const PLACEHOLDERS: readonly Placeholder[] = [
  "event",
  "cwd",
  "user_input",
  "assistant_output",
  "tool_name",
  "tool_arguments",
  "tool_result",
  "tool_error",
  "system_prompt",
  "model",
];

const NAMES: ReadonlySet<string> = new Set(PLACEHOLDERS);
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/** What is appended to every prompt. */
const INSTRUCTION = `

Answer with one JSON object and nothing else: no prose, no code fence. Every field is optional; leave out what you do not
change. {} changes nothing.
{
  "action": "stop" (end this step) or "skip" (leave out this step alone),
  "retry_feedback": what has to be done better, as text,
  "user_input", "assistant_output", "system_prompt", "tool_arguments", "tool_result", "tool_error": the new text,
  "messages": the new list of {"role", "content"}, "inject_messages": such messages to append,
  "additional_context": text to append to the system prompt,
  "system_message": text to show to the user
}`;

/**
 * Fills in a prompt, in one pass: a value that itself holds `{{…}}` is not expanded, so that what a user or a tool wrote
 * never becomes part of the template. What the context lacks is empty; names that are not known stay as they are.
 */
export function renderPrompt(template: string, context: HookContext): string {
  const filled = template.replace(PLACEHOLDER, (whole: string, name: string) =>
    isPlaceholder(name) ? (context[name] ?? "") : whole,
  );
  return filled + INSTRUCTION;
}

/** What looks like a placeholder in a prompt and is none. */
export function unknownPlaceholders(template: string): readonly string[] {
  const names = Array.from(template.matchAll(PLACEHOLDER), ([, name = ""]) => name);
  return [...new Set(names)].filter((name) => !isPlaceholder(name));
}

function isPlaceholder(name: string): name is Placeholder {
  return NAMES.has(name);
}
