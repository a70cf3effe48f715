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

/**
 * Whether two values are the same as JSON; key order does not matter. What JSON leaves out of an object counts for nothing,
 * and what it writes as null in an array is null. Two objects that JSON does not have never are.
 */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    // Not `every`: it passes over holes.
    for (const [index, item] of a.entries()) if (!isSameJson(item ?? null, b[index] ?? null)) return false;
    return true;
  }
  if (!isObject(a) || !isObject(b) || !isPlainObject(a) || !isPlainObject(b)) return false;
  let surplus = 0;
  for (const [key, value] of Object.entries(a)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(b, key) || !isSameJson(value, b[key])) return false;
    surplus += 1;
  }
  for (const value of Object.values(b)) if (value !== undefined) surplus -= 1;
  return surplus === 0;
}
