import { parseMaskPath } from "../records/index.ts";
import { toProblem } from "./check-keys.ts";
import { textsAt } from "./entry.ts";
import { type JsonPath, valueAt } from "./path.ts";
import type { Finding } from "./problem.ts";
import type { RecordPlace } from "./records-schema.ts";

const RECORD: JsonPath = ["records", "record"];

/** What is wrong with what is recorded of payloads, and with where it is to go. */
export function checkRecords(root: unknown, places: readonly RecordPlace[]): readonly Finding[] {
  return [...checkPayload(root), ...checkPlaces(root, places)];
}

const PLACES: readonly RecordPlace[] = ["sqlite", "file", "http", "console", "queue"];

const UNRECORDED =
  "this runtime cannot record decisions: leave records out, or run a gateway that records them on Node";

/** Whoever asks for records must not find out later that there are none. */
function checkPlaces(root: unknown, places: readonly RecordPlace[]): readonly Finding[] {
  const records = valueAt(root, ["records"]);
  if (records === undefined || valueAt(records, ["enabled"]) === false) return [];
  if (places.length === 0) return [{ at: ["records"], message: UNRECORDED }];
  const usable = places.map((place) => `"${place}"`).join(", ");
  return PLACES.filter((place) => !places.includes(place)).flatMap((place) => {
    const at = ["records", place];
    const value = valueAt(root, at);
    if (value === undefined || value === false) return [];
    return [{ at, message: `this runtime has no such place for records: leave it out and use one of ${usable}` }];
  });
}

function checkPayload(root: unknown): readonly Finding[] {
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
