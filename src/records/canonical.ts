/**
 * A JSON value as the one text that stands for it: keys in code-unit order, no space, numbers and strings as ECMAScript
 * writes them. What JSON does not have is left out, or null in an array, as `JSON.stringify` does.
 * @see {@link https://www.rfc-editor.org/rfc/rfc8785}
 */
export function toCanonicalJson(value: unknown): string {
  return write(value) ?? "null";
}

/** What JSON writes as it is; half of a surrogate pair is not. */
// oxlint-disable-next-line no-control-regex -- these are what JSON escapes
const ESCAPED = /["\\\u0000-\u001F\uD800-\uDFFF]/;

/** Most texts need no escaping, and to see that costs less than to call the platform's writer. */
function quote(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function write(value: unknown): string | undefined {
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") return Number.isFinite(value) ? String(value === 0 ? 0 : value) : "null";
  if (typeof value === "boolean" || value === null) return String(value);
  if (typeof value !== "object") return undefined;
  if (Array.isArray(value)) return writeArray(value);
  // What writes itself, such as a date.
  if ("toJSON" in value && typeof value.toJSON === "function") return write(JSON.parse(JSON.stringify(value)));
  const keys = Object.keys(value);
  if (!isSorted(keys)) keys.sort();
  let text = "{";
  for (const key of keys) {
    const item = write(Reflect.get(value, key));
    if (item === undefined) continue;
    text += text === "{" ? `${quote(key)}:${item}` : `,${quote(key)}:${item}`;
  }
  return `${text}}`;
}

function isSorted(keys: readonly string[]): boolean {
  let last = "";
  for (const key of keys) {
    if (key < last) return false;
    last = key;
  }
  return true;
}

function writeArray(items: readonly unknown[]): string {
  let text = "";
  for (const [index, item] of items.entries()) text += `${index === 0 ? "" : ","}${write(item) ?? "null"}`;
  return `[${text}]`;
}
