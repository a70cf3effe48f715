/** What stands in the place of a masked value. */
export const MASKED = "[masked]";

/** The keys on the way to what is masked; `*` is any key or index. */
export type MaskPath = readonly string[];

const STEP = /(?:^|(?<!^)\.)([\p{L}\p{N}_$*-]+)|\[(\d+|\*)\]|\[("(?:[^"\\]|\\.)*")\]/uy;

/**
 * Reads a path such as `arguments.password`, `messages[*].content` or `arguments["api key"]`.
 * @throws {TypeError} when it is not one
 */
export function parseMaskPath(text: string): MaskPath {
  const path: string[] = [];
  STEP.lastIndex = 0;
  let end = 0;
  for (let step = STEP.exec(text); step !== null; step = STEP.exec(text)) {
    const [, name, index, quoted] = step;
    path.push(name ?? index ?? String(parseQuoted(quoted ?? "", text)));
    end = STEP.lastIndex;
  }
  if (path.length === 0 || end !== text.length) throw unreadable(text);
  return path;
}

function parseQuoted(quoted: string, text: string): unknown {
  try {
    return JSON.parse(quoted);
  } catch (cause) {
    throw new TypeError(unreadable(text).message, { cause });
  }
}

function unreadable(text: string): TypeError {
  return new TypeError(
    `not a path: expected keys with dots between them, such as arguments.password, messages[*].content or arguments["api key"], got ${JSON.stringify(text.slice(0, 60))}`,
  );
}

/** The value with everything masked that the paths lead to. What is not on a path is shared, not copied. */
export function maskValue(value: unknown, paths: readonly MaskPath[]): unknown {
  if (paths.length === 0) return value;
  if (paths.some((path) => path.length === 0)) return MASKED;
  if (typeof value !== "object" || value === null) return value;
  const keys = Object.keys(value);
  const changes = keys.flatMap((key) => {
    const deeper = enterMasks(paths, key);
    if (deeper.length === 0) return [];
    const before: unknown = Reflect.get(value, key);
    const after = maskValue(before, deeper);
    return after === before ? [] : [[key, after] as const];
  });
  if (changes.length === 0) return value;
  const masked = new Map(changes);
  if (Array.isArray(value)) return value.map((item: unknown, index) => masked.get(String(index)) ?? item);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked.get(key) ?? item]));
}

/** What is left of the paths behind a key. */
export function enterMasks(paths: readonly MaskPath[], key: string): readonly MaskPath[] {
  return paths.flatMap((path) => (path[0] === key || path[0] === "*" ? [path.slice(1)] : []));
}

/** The paths that lead to or into what is at some keys; one that ends before them leads there too. */
export function enterAll(paths: readonly MaskPath[], keys: readonly string[]): readonly MaskPath[] {
  let left = paths;
  for (const key of keys) {
    if (left.some((path) => path.length === 0)) return [[]];
    left = enterMasks(left, key);
  }
  return left;
}
