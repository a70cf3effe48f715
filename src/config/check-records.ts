import { parseMaskPath } from "../records/index.ts";
import { toProblem } from "./check-keys.ts";
import { textsAt } from "./entry.ts";
import { type JsonPath, valueAt } from "./path.ts";
import type { Finding } from "./problem.ts";

const RECORD: JsonPath = ["records", "record"];

/** What is wrong with what is recorded of payloads. */
export function checkRecords(root: unknown): readonly Finding[] {
  const at = [...RECORD, "mask"];
  const masks = valueAt(root, at);
  const payload = valueAt(root, [...RECORD, "payload"]) ?? "hash";
  const unreadable = textsAt(at, Array.isArray(masks) ? masks : []).flatMap(([place, text]) =>
    toProblem(place, () => parseMaskPath(text)),
  );
  const isEmpty = !Array.isArray(masks) || masks.length === 0;
  if (payload === "masked" && isEmpty) {
    return [{ at, message: 'missing: "payload": "masked" needs the paths of what is not to be kept' }];
  }
  if (payload !== "masked" && !isEmpty) {
    return [...unreadable, { at, message: 'has no meaning without "payload": "masked"' }];
  }
  return unreadable;
}
