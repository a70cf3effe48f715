import { html, type Markup } from "./markup.ts";

const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A count, with its thousands apart. */
export function toCount(count: number): string {
  return COUNT.format(count);
}

/** A duration in the unit that suits it. */
export function toDuration(ms: number | undefined): string {
  if (ms === undefined) return "–";
  if (ms < 0.9995) return `${Math.round(ms * 1000)} µs`;
  if (ms < 9.995) return `${ms.toFixed(2)} ms`;
  if (ms < 99.95) return `${ms.toFixed(1)} ms`;
  if (ms < 9999.5) return `${Math.round(ms)} ms`;
  return ms < 99_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** A point in time in UTC, to the second, or to the millisecond. */
export function toTime(time: string | undefined, { isExact = false }: { readonly isExact?: boolean } = {}): Markup {
  if (time === undefined) return html`<span class="quiet">never</span>`;
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return html`<span class="quiet">unknown</span>`;
  const iso = new Date(atMs).toISOString();
  const [day = "", clock = ""] = iso.slice(0, isExact ? -1 : -5).split("T");
  return html`<time datetime="${iso}">${day} ${clock}</time>`;
}

/** How good something is, for its colour and its sign; the word beside it says what it is. */
export type Tone = "good" | "warn" | "bad" | "plain";

/** A word with the colour and the sign of its tone. */
export function toState(word: Markup | string, tone: Tone): Markup {
  return html`<span class="state ${tone === "plain" ? "" : tone}">${word}</span>`;
}

const GOOD_OUTCOMES: ReadonlySet<string> = new Set(["continue", "approved"]);
const BAD_OUTCOMES: ReadonlySet<string> = new Set(["deny_tool", "denied", "abort_turn", "hard_abort"]);

/** The tone of an outcome of a decision or of a hook's call. */
export function outcomeTone(outcome: string): Tone {
  if (GOOD_OUTCOMES.has(outcome)) return "good";
  if (BAD_OUTCOMES.has(outcome)) return "bad";
  return outcome === "no_verdict" ? "warn" : "plain";
}
