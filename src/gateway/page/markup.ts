import { html as template } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { splitVisible, toVisibleText, type VisibleTextOptions } from "../../visible-text.ts";

/** HTML that is safe to send: what was text in it is escaped. */
export type Markup = HtmlEscapedString;

/** What may stand in a template: text, which is escaped, and what was made by another. Nothing stands for false. */
export type Piece = Markup | string | number | false | undefined | readonly Piece[];

/**
 * Makes HTML of a template. Every value is escaped, in attributes too, which must have quotes.
 * @throws {TypeError} when a value needs waiting for
 */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Markup {
  const made = template(strings, ...values);
  if (made instanceof Promise) throw new TypeError("html: a value is a promise");
  return made;
}

/** A text from outside: all of it can be seen, and it does not turn around what is beside it. */
export function shown(text: string, options?: VisibleTextOptions): Markup {
  const split = splitVisible(text, options);
  if (split.length > MAX_PARTS) return html`<bdi>${toVisibleText(text, options)}</bdi>`;
  const parts = split.map(({ text: part, mark }) =>
    mark === undefined ? part : html`<span class="mark" title="${TITLES[mark]}">${part}</span>`,
  );
  return html`<bdi>${parts}</bdi>`;
}

/** A browser takes long to lay out more elements in one text; the codes are then in angle brackets. */
const MAX_PARTS = 4000;

const TITLES = {
  hidden: "a character that cannot be seen",
  lookalike: "a character that looks like another one",
};

/** The same, cut to a length that fits a line. */
export function shownShort(text: string, maxChars = 160): Markup {
  if (text.length <= maxChars) return shown(text);
  // Not within a pair of surrogates, of which a half would be marked.
  const cut = text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "");
  return html`${shown(cut)}<span class="quiet"> …</span>`;
}

/** A JSON value, indented. */
export function prettyJson(value: unknown): Markup {
  // Within strings JSON escapes line feeds, so that those which are left are its own.
  const text = JSON.stringify(value, null, 2) ?? "";
  return html`<pre class="json" tabindex="0">${shown(text, { keepsLines: true })}</pre>`;
}
