import { HookCallError } from "../errors.ts";
import { isObject, type JsonObject } from "../is-object.ts";

const NO_CHANGE: JsonObject = {};

/**
 * Reads what a command wrote: nothing, or one JSON object and nothing else.
 * @throws {HookCallError} `bad_json` for anything else
 */
export function readOutput(text: string): JsonObject {
  const trimmed = text.trim();
  if (trimmed === "") return NO_CHANGE;
  const value = tryParse(trimmed);
  if (value === undefined) throw new HookCallError("bad_json", "stdout is not one JSON object");
  return value;
}

/**
 * Reads what a model wrote: from the first `{` to the last `}`, or else the last whole object in it, whatever stands
 * around it. An object that was cut short ends the search, so that a part of it is not taken for the answer.
 * @throws {HookCallError} `bad_json` when there is no object in it
 */
export function readAnswer(text: string): JsonObject {
  const first = text.indexOf("{");
  const last = text.lastIndexOf("}");
  const object = first < last && first !== -1 ? (tryParse(text.slice(first, last + 1)) ?? lastObject(text)) : undefined;
  if (object === undefined) throw new HookCallError("bad_json", "the model's answer holds no JSON object");
  return object;
}

/** How often over an answer may be looked through; text made of nothing but braces would take quadratic time. */
const MAX_PASSES = 32;
const CUT_SHORT = /^\{\s*"/;

function lastObject(text: string): JsonObject | undefined {
  let found: JsonObject | undefined;
  let budget = MAX_PASSES * text.length;
  for (let start = text.indexOf("{"); start !== -1 && budget > 0;) {
    const end = closingBrace(text, start);
    budget -= (end ?? text.length) - start;
    const object = end === undefined ? undefined : tryParse(text.slice(start, end + 1));
    found = object ?? found;
    if (end === undefined && CUT_SHORT.test(text.slice(start, start + 200))) return undefined;
    start = text.indexOf("{", object === undefined || end === undefined ? start + 1 : end + 1);
  }
  return budget > 0 ? found : undefined;
}

/** Where the object that opens at `start` closes, minding strings; undefined when it does not. */
function closingBrace(text: string, start: number): number | undefined {
  let depth = 0;
  let isString = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (isString) {
      if (char === "\\") at += 1;
      else if (char === '"') isString = false;
    } else if (char === '"') isString = true;
    else if (char === "{") depth += 1;
    else if (char === "}") {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return undefined;
}

function tryParse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
