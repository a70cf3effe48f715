import { type JsonPath, valueAt } from "./path.ts";

/** A place in a config and what is there, which may have any shape. */
export type Entry = readonly [at: JsonPath, entry: unknown];

/** The members of the object at a path; none where there is no object. */
export function entriesAt(root: unknown, at: JsonPath): readonly Entry[] {
  const value = valueAt(root, at);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).map(([name, entry]) => [[...at, name], entry]);
}

/** The items of the list at a path; none where there is no list. */
export function itemsAt(root: unknown, at: JsonPath): readonly Entry[] {
  const value = valueAt(root, at);
  return Array.isArray(value) ? value.map((item: unknown, index): Entry => [[...at, index], item]) : [];
}

/** The text at a key; undefined where there is none. */
export function textAt(entry: unknown, key: string): string | undefined {
  const value = valueAt(entry, [key]);
  return typeof value === "string" ? value : undefined;
}

/** Whether the list at a key has so many items; one that is absent has none. */
export function isListed(entry: unknown, key: string, length: number): boolean {
  const list = valueAt(entry, [key]);
  return list === undefined ? length === 0 : Array.isArray(list) && list.length === length;
}

/** Where each value of a text, or of a list of texts, is; nothing where it is neither. */
export function textsAt(at: JsonPath, value: unknown): readonly (readonly [at: JsonPath, text: string])[] {
  if (typeof value === "string") return [[at, value]];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index) => (typeof item === "string" ? [[[...at, index], item] as const] : []));
}
