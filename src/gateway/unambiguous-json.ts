import { readJson } from "../config/json.ts";
import type { Refusal } from "./answer.ts";
import { decodeUtf8 } from "./body.ts";
import { refuseTwice } from "./query.ts";

/**
 * Reads a body of JSON in which no object has a member twice, or says what is wrong with it: whoever reads the body before
 * the gateway could take another one of two values, so neither counts.
 */
export function readUnambiguousJson(body: Uint8Array): { readonly value: unknown } | Refusal {
  const read = readJson(decodeUtf8(body) ?? "");
  if ("fault" in read) return { code: "ERR_PARSE", message: "the body is not JSON in UTF-8" };
  const [twice] = read.duplicates;
  return twice === undefined ? { value: read.value } : refuseTwice(twice.path);
}
