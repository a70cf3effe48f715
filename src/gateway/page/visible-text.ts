/** A stretch of a text as it is shown. */
export interface VisiblePart {
  readonly text: string;
  /**
   * `hidden`: the text stands for a character that cannot be seen, or that changes the order of others. `lookalike`: the
   * text is a character that looks like another one, and its code.
   */
  readonly mark?: "hidden" | "lookalike";
}

/** Options of {@link splitVisible}. */
export interface VisibleTextOptions {
  /** Whether line feeds stay what they are. @default false */
  readonly keepsLines?: boolean | undefined;
}

/**
 * What cannot be seen: controls, format characters with the overrides of direction among them, separators of lines, private
 * and unassigned characters, halves of surrogate pairs, whatever else Unicode says may be ignored, every space but the
 * usual one, the empty Braille pattern, and the fifth and later marks on one letter.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800]|(?! )\p{Zs}|(?<=\p{M}{4})\p{M}/u;

/** What belongs to an emoji, and is seen in it. */
const IN_EMOJI =
  /(?<=\p{ExtPict})\ufe0f|(?<=[#*\d])\ufe0f(?=\u20e3)|(?<=[\p{ExtPict}\p{EMod}\ufe0f])\u200d(?=\p{ExtPict})/u;

const PIECE = new RegExp(`(?<emoji>${IN_EMOJI.source})|(?<hidden>${HIDDEN.source})`, "gu");

/** Letters that can be taken for Latin ones, where they stand in a word that has Latin ones. */
const MIXED =
  /[\p{sc=Cyrillic}\p{sc=Greek}\p{sc=Armenian}\p{sc=Cherokee}\p{sc=Coptic}\p{sc=Lisu}\p{sc=Gothic}\p{sc=Deseret}]/u;

/** Signs that look like those that divide paths and names. */
const LIKE_SIGNS = /[\u2024\u2044\u2215\u2216\u2236\u29f5\u29f8\ua789\ufe68\uff0e\uff0f\uff3c]/u;

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const PLAIN = /^[\x20-\x7e]*$/;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/**
 * Divides a text so that everything in it can be seen: what hides, turns text around or only looks like something else
 * is marked. A person who decides by a text must see what a program will read.
 * @see {@link https://www.unicode.org/reports/tr36/} and {@link https://trojansource.codes/}
 */
export function splitVisible(text: string, { keepsLines = false }: VisibleTextOptions = {}): readonly VisiblePart[] {
  if (PLAIN.test(text)) return text === "" ? [] : [{ text }];
  const parts: VisiblePart[] = [];
  let shownTo = 0;
  let from = 0;
  const show = (end: number): void => {
    if (end > shownTo) parts.push(...splitLookalikes(text.slice(shownTo, end)));
  };
  for (const { 0: found, index, groups } of text.matchAll(PIECE)) {
    from = index + found.length;
    if (groups?.["emoji"] !== undefined || (keepsLines && found === "\n")) continue;
    show(index);
    parts.push({ text: ESCAPES.get(found) ?? toCode(found), mark: "hidden" });
    shownTo = from;
  }
  show(text.length);
  return parts;
}

/** The same as one text, with what is marked in angle brackets: `⟨U+202E⟩`. */
export function toVisibleText(text: string, options?: VisibleTextOptions): string {
  return splitVisible(text, options)
    .map(({ text: shown, mark }) => (mark === undefined ? shown : `⟨${shown}⟩`))
    .join("");
}

function splitLookalikes(text: string): readonly VisiblePart[] {
  if (PLAIN.test(text)) return [{ text }];
  const suspects = new Set<number>();
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (!/[A-Za-z]/.test(word) || !MIXED.test(word)) continue;
    for (let at = index; at < index + word.length; at += 1) suspects.add(at);
  }
  const parts: VisiblePart[] = [];
  let plain = "";
  let at = 0;
  for (const char of text) {
    const isMarked = (suspects.has(at) && MIXED.test(char)) || isStyledAscii(char);
    at += char.length;
    if (!isMarked) {
      plain += char;
      continue;
    }
    if (plain !== "") parts.push({ text: plain });
    plain = "";
    parts.push({ text: `${char} ${toCode(char)}`, mark: "lookalike" });
  }
  if (plain !== "") parts.push({ text: plain });
  return parts;
}

/** Whether a character is an ASCII letter, digit or sign of a path in another dress, such as one of full width. */
function isStyledAscii(char: string): boolean {
  // Latin-1 is what people type, such as the ordinal signs.
  if (char <= "\u00ff") return false;
  return LIKE_SIGNS.test(char) || /^[A-Za-z\d]$/.test(char.normalize("NFKC"));
}

function toCode(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
