import type { Approval, ApprovalRisk } from "../../approvals/index.ts";
import { splitVisible } from "../../visible-text.ts";
import { toCount, toState, type Tone } from "./format.ts";
import { html, type Markup, shown } from "./markup.ts";

/** A text of a call, as far as it is shown. */
export interface CallText {
  readonly text: string;
  /** How many characters are left out; 0 when it is whole. */
  readonly left: number;
}

/** The longest arguments in a list of approvals; longer ones are looked at, and decided, on a page of their own. */
const MAX_LISTED_CHARS = 1500;
const MAX_LISTED_LINES = 40;

/**
 * The arguments of a call as people read them: JSON, indented. A line feed within a text is there as `\n`, as JSON has it,
 * and also ends the line; nothing else is changed.
 */
export function toCallText({ arguments: given }: Approval, { isWhole }: { readonly isWhole: boolean }): CallText {
  const json = JSON.stringify(given, null, 2);
  const text = json.replaceAll(/\\(?:u[\da-f]{4}|[^u])/g, (escape) => (escape === "\\n" ? "\\n\n" : escape));
  if (isWhole) return { text, left: 0 };
  const lines = text
    .split("\n", MAX_LISTED_LINES + 1)
    .slice(0, MAX_LISTED_LINES)
    .join("\n");
  // Not within a pair of surrogates, of which a half would be marked.
  const cut = lines.slice(0, MAX_LISTED_CHARS).replace(/[\ud800-\udbff]$/, "");
  return { text: cut, left: text.length - cut.length };
}

/** The arguments of a call, all that is odd about them, and how much is left out. */
export function renderCall(approval: Approval, { text, left }: CallText): Markup {
  return html`<div class="call">
    ${renderOddities(toOddities(approval, text))}
    <pre class="json whole" tabindex="0">${shown(text, { keepsLines: true })}</pre>
    ${
      left > 0 &&
      html`<p class="note warn">
        ${toCount(left)} more characters are not shown here.
        <a href="/approvals/${approval.id}">Open it</a> to see all of it and to decide.
      </p>`
    }
  </div>`;
}

function renderOddities(notes: readonly Markup[]): Markup {
  if (notes.length === 0) return html``;
  return html`<ul class="note warn odd">
    ${notes.map((note) => html`<li>${note}</li>`)}
  </ul>`;
}

/** Scripts of which letters can be taken for Latin ones, also in a word that has no Latin ones. */
const SCRIPTS = [
  ["Cyrillic", /\p{sc=Cyrillic}/u],
  ["Greek", /\p{sc=Greek}/u],
  ["Armenian", /\p{sc=Armenian}/u],
  ["Cherokee", /\p{sc=Cherokee}/u],
] as const;

function toOddities({ tool }: Approval, text: string): readonly Markup[] {
  const all = `${tool}\n${text}`;
  const parts = splitVisible(all, { keepsLines: true });
  const hidden = parts.filter(({ mark }) => mark === "hidden").length;
  const alike = parts.length - hidden - parts.filter(({ mark }) => mark === undefined).length;
  const scripts = SCRIPTS.filter(([, script]) => script.test(all)).map(([name]) => name);
  return [
    ...(hidden > 0
      ? [html`${toCounted(hidden, "character")} that cannot be seen, or that can turn text around: shown by code.`]
      : []),
    ...(alike > 0 ? [html`${toCounted(alike, "character")} that can pass for another one: shown with its code.`] : []),
    ...(scripts.length > 0
      ? [html`Letters of another script, which can look like Latin ones: ${scripts.join(", ")}.`]
      : []),
    ...(text.includes("[masked]")
      ? [html`Where it says <code>[masked]</code> the configuration keeps a value from being shown.`]
      : []),
  ];
}

function toCounted(count: number, noun: string): string {
  return `${toCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

const RISK_TONES: Readonly<Record<ApprovalRisk, Tone>> = {
  low: "plain",
  medium: "plain",
  high: "warn",
  critical: "bad",
};

/** How bad it would be, where the rule says so. */
export function renderRisk({ risk }: Approval): Markup {
  return risk === undefined ? html`` : toState(`${risk} risk`, RISK_TONES[risk]);
}

/** Who asks, in a line. */
export function renderRequester({ requester }: Approval): Markup {
  const { agent, session, channel, caller } = requester;
  const known: readonly (readonly [name: string, value: string | undefined])[] = [
    ["agent", agent],
    ["session", session],
    ["channel", channel],
    ["host", caller],
  ];
  const said = known.flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [html`<span>${name} <strong>${shown(value)}</strong></span>`],
  );
  return said.length === 0
    ? html`<span class="quiet">The host did not say who asks.</span>`
    : html`<span class="said">${said}</span>`;
}
