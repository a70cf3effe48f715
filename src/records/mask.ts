/** What stands in the place of a masked value. */
export const MASKED = "[masked]";

/** The keys on the way to what is masked; `*` is any key or index, `**` any number of them. */
export type MaskPath = readonly string[];

const STEP = /(?:^|(?<!^)\.)([\p{L}\p{N}_$*-]+)|\[(\d+|\*)\]|\[("(?:[^"\\]|\\.)*")\]/uy;

/**
 * Reads a path such as `arguments.password`, `messages[*].content`, `arguments["api key"]` or `**.password`.
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

/** The longest text that is looked into as JSON, in characters. */
const MAX_JSON_CHARS = 1_048_576;
/** How often JSON may stand in a string of JSON. */
const MAX_JSON_LEVELS = 4;
/** What begins as an object or an array, also as a string in a string. */
const JSON_LIKE = /^[\s\uFEFF]*(?:\\*"[\s\uFEFF]*)*[[{]/;

/**
 * The value with everything masked that the paths lead to, also inside of strings that are JSON; those are written anew.
 * A string on a path that begins as JSON is masked as a whole when it cannot be read and has the path's names in it, when
 * it is longer than 1 Mi characters, or when it holds JSON in strings more than four times over. What is not on a path is shared, not copied.
 * @param onMasked - Is given each value that was masked.
 */
export function maskValue(
  value: unknown,
  paths: readonly MaskPath[],
  onMasked: (value: unknown) => void = ignore,
): unknown {
  return new Masker(onMasked).mask(value, paths);
}

const ignore = (): void => {};

class Masker {
  readonly #onMasked: (value: unknown) => void;
  #level = 0;

  constructor(onMasked: (value: unknown) => void) {
    this.#onMasked = onMasked;
  }

  mask(value: unknown, paths: readonly MaskPath[]): unknown {
    if (paths.length === 0) return value;
    return this.#maskBehind(value, openMasks(paths));
  }

  #maskBehind(value: unknown, paths: readonly MaskPath[]): unknown {
    if (paths.some((path) => path.length === 0)) return this.#hide(value);
    if (typeof value === "string") return this.#maskText(value, paths);
    if (typeof value !== "object" || value === null) return value;
    const changes = Object.keys(value).flatMap((key) => {
      const deeper = enterMasks(paths, key);
      if (deeper.length === 0) return [];
      const before: unknown = Reflect.get(value, key);
      const after = this.mask(before, deeper);
      return after === before ? [] : [[key, after] as const];
    });
    if (changes.length === 0) return value;
    const masked = new Map(changes);
    if (Array.isArray(value)) return value.map((item: unknown, index) => masked.get(String(index)) ?? item);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked.get(key) ?? item]));
  }

  #hide(value: unknown): string {
    this.#onMasked(value);
    return MASKED;
  }

  #maskText(text: string, paths: readonly MaskPath[]): string {
    if (!JSON_LIKE.test(text)) return text;
    if (text.length > MAX_JSON_CHARS || this.#level >= MAX_JSON_LEVELS) return this.#hide(text);
    this.#level += 1;
    try {
      // Written anew even when nothing was masked: of two members of one name only the last was looked at.
      return JSON.stringify(this.mask(JSON.parse(text.trim()), paths));
    } catch {
      return paths.some((path) => mayHold(text, path)) ? this.#hide(text) : text;
    } finally {
      this.#level -= 1;
    }
  }
}

/** Whether a text that cannot be read may hold what a path leads to: it then has every key that the path names. */
function mayHold(text: string, path: MaskPath): boolean {
  // A key may be written with escapes.
  if (text.includes("\\")) return true;
  return path.every((key) => key === "*" || key === "**" || /^\d+$/.test(key) || text.includes(key));
}

/** The paths, and those that are behind a `**` that stands for nothing. */
function openMasks(paths: readonly MaskPath[]): readonly MaskPath[] {
  return paths.flatMap((path) => (path[0] === "**" ? [path, ...openMasks([path.slice(1)])] : [path]));
}

/** What is left of the paths behind a key. */
function enterMasks(paths: readonly MaskPath[], key: string): readonly MaskPath[] {
  return openMasks(paths).flatMap((path) => {
    const [first = "", ...rest] = path;
    if (first === "**") return [path];
    // `-` in a pointer is the end of an array, which may be any index.
    return first === key || first === "*" || (key === "-" && /^\d+$/.test(first)) ? [rest] : [];
  });
}

/** A JSON Pointer as far as it may be shown, and the masks behind it. */
export interface MaskedPointer {
  readonly keys: readonly string[];
  /** The paths that lead into what is there; one that is empty masks all of it. */
  readonly masks: readonly MaskPath[];
}

/** Follows a pointer as far as no mask ends: the keys inside of what is masked are a part of it. */
export function followPointer(paths: readonly MaskPath[], keys: readonly string[]): MaskedPointer {
  let masks = openMasks(paths);
  for (const [index, key] of keys.entries()) {
    if (masks.some((path) => path.length === 0)) return { keys: keys.slice(0, index), masks: [[]] };
    masks = openMasks(enterMasks(masks, key));
  }
  return { keys, masks };
}
