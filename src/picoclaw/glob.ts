/** Whether a text fits a pattern. */
export type Glob = (text: string) => boolean;

/** Makes a pattern of a text in which `*` stands for any characters, or none. Letter case counts. */
export function createGlob(pattern: string): Glob {
  if (!pattern.includes("*")) return (text) => text === pattern;
  const parts = pattern.split("*");
  return (text) => matches(parts, text);
}

/** Whether a text fits what stands between a pattern's stars. In linear time, which a regular expression is not. */
function matches([first = "", ...rest]: readonly string[], text: string): boolean {
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  const end = text.length - last.length;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
