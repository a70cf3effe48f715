import { isObject } from "../is-object.ts";

/** The deepest nesting of a payload that is handled. Deeper ones are refused, for the platform's own JSON writer recurses. */
export const MAX_DEPTH = 512;

/** Whether an object is one as JSON has it, and no instance of a class. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether a value is nested deeper than `limit` containers. */
export function exceedsDepth(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((part) => exceedsDepth(part, limit - 1));
}

/** Whether two JSON values are the same; key order does not matter. Two objects that JSON does not have never are. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    // Not `every`: it passes over holes.
    for (const [index, item] of a.entries()) if (!isSameJson(item, b[index])) return false;
    return true;
  }
  if (!isObject(a) || !isObject(b) || !isPlainObject(a) || !isPlainObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]));
}
