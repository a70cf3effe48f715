/**
 * A JSON value as the one text that stands for it: keys in code-unit order, no space, numbers and strings as ECMAScript
 * writes them. What JSON does not have is left out, or null in an array, as `JSON.stringify` does.
 * @see {@link https://www.rfc-editor.org/rfc/rfc8785}
 */
export function toCanonicalJson(value: unknown): string {
  return write(value) ?? "null";
}

function write(value: unknown): string | undefined {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return Number.isFinite(value) ? String(value === 0 ? 0 : value) : "null";
  if (typeof value === "boolean" || value === null) return String(value);
  if (typeof value !== "object") return undefined;
  if (Array.isArray(value)) return writeArray(value);
  // What writes itself, such as a date.
  if ("toJSON" in value && typeof value.toJSON === "function") return write(JSON.parse(JSON.stringify(value)));
  let text = "";
  for (const key of Object.keys(value).toSorted()) {
    const item = write(Reflect.get(value, key));
    if (item === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${item}`;
  }
  return `{${text}}`;
}

function writeArray(items: readonly unknown[]): string {
  let text = "";
  for (const [index, item] of items.entries()) text += `${index === 0 ? "" : ","}${write(item) ?? "null"}`;
  return `[${text}]`;
}
