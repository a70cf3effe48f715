import { type Paint, toLine } from "./text.ts";

/** One thing that was found, and what to do about it. */
export interface Finding {
  /** The hook it is about; absent where it is about all. */
  readonly hook?: string;
  /** What was looked at. */
  readonly check: string;
  /** `bad`: the hook cannot fire or be trusted to; `warn`: it may not fire when one expects it to. */
  readonly level: "ok" | "warn" | "bad";
  readonly found: string;
  /** What to do. */
  readonly fix?: string;
}

const TONES = { ok: "good", warn: "warn", bad: "bad" } as const;

/** Findings for people, by hook, with the fix below each. */
export function formatFindings(findings: readonly Finding[], paint: Paint): string {
  const lines: string[] = [];
  let current: string | undefined;
  for (const { hook = "all hooks", check, level, found, fix } of findings) {
    if (hook !== current) lines.push("", paint("strong", toLine(hook)));
    current = hook;
    lines.push(`  ${paint(TONES[level], level.padEnd(4))}  ${check}: ${toLine(found)}`);
    if (fix !== undefined) lines.push(`        fix: ${toLine(fix)}`);
  }
  return `${lines.slice(1).join("\n")}\n`;
}
