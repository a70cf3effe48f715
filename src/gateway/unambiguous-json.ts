import { formatPath } from "../config/index.ts";
import { readJson } from "../config/json.ts";
import type { Refusal } from "./answer.ts";
import { decodeUtf8 } from "./body.ts";

/** How much of the name of a member is said, in characters. */
const MAX_MEMBER_CHARS = 80;

/**
 * Reads a body of JSON in which no object has a member twice, or says what is wrong with it: whoever reads the body before
 * the gateway could take another one of two values, so neither counts.
 */
export function readUnambiguousJson(body: Uint8Array): { readonly value: unknown } | Refusal {
  const read = readJson(decodeUtf8(body) ?? "");
  if ("fault" in read) return { code: "ERR_PARSE", message: "the body is not JSON in UTF-8" };
  const [twice] = read.duplicates;
  if (twice === undefined) return { value: read.value };
  const member = formatPath(twice.path).slice(0, MAX_MEMBER_CHARS);
  return { code: "ERR_INVALID_PARAMS", message: `${member}: expected once, got twice or more` };
}
