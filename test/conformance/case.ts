/** One behaviour, checked on every runtime. It passes when `run` resolves. */
export interface Case {
  /** Unique, stable and printable: `folder/behaviour`. */
  readonly id: string;
  /** Where the behaviour is asked for. */
  readonly source: string;
  run(): Promise<void>;
}

/** Fails unless the two values are deeply equal. The order of an object's keys does not count. */
export function equal(actual: unknown, expected: unknown): void {
  if (!same(actual, expected)) throw new Error(`expected ${show(expected)}, got ${show(actual)}`);
}

/** Fails unless the value is truthy. */
export function ok(value: unknown, message: string): asserts value {
  if (!value) throw new Error(message);
}

/** Fails unless the promise rejects with an error of this `code`, or of this `name` where it has no code. */
export async function rejects(promise: Promise<unknown>, code: string): Promise<void> {
  const got = await promise.then(
    (value) => `it resolved with ${show(value)}`,
    (error: unknown) => codeOf(error),
  );
  if (got !== code) throw new Error(`expected a rejection with ${code}, got ${got}`);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return `it rejected with ${show(error)}`;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function same(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (!isObject(left) || !isObject(right)) return false;
  if (Array.isArray(left) !== Array.isArray(right) || tag(left) !== tag(right)) return false;
  if (left instanceof Date && right instanceof Date) return Object.is(left.getTime(), right.getTime());
  if (left instanceof Error && right instanceof Error && (left.name !== right.name || left.message !== right.message)) {
    return false;
  }
  if (left instanceof Map && right instanceof Map) return same([...left], [...right]);
  if (left instanceof Set && right instanceof Set) return same([...left], [...right]);
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && same(Reflect.get(left, key), Reflect.get(right, key)))
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function tag(value: object): string {
  return Object.prototype.toString.call(value);
}

function show(value: unknown): string {
  if (typeof value === "function" || typeof value === "symbol" || value === undefined) return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? `${item}n` : item));
  } catch {
    return Object.prototype.toString.call(value);
  }
}
