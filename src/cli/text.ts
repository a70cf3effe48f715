import type { Environment } from "../config/index.ts";
import type { CliStream } from "./host.ts";

const CONTROL = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;

/** Text from elsewhere as one line that cannot move the cursor, colour the terminal or reorder what is shown. */
export function toLine(text: string): string {
  return text.replace(CONTROL, " ").trim();
}

const UNESCAPED = /[\u007F-\u009F\p{Cf}\u2028\u2029]/gu;

/** A value as JSON that cannot do to a terminal what {@link toLine} keeps from it: JSON itself escapes only a part. */
export function toSafeJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(UNESCAPED, (char) =>
    Array.from({ length: char.length }, (_, unit) => `\\u${char.charCodeAt(unit).toString(16).padStart(4, "0")}`).join(
      "",
    ),
  );
}

/** How a word is meant, and so how it is coloured. */
export type Tone = "good" | "bad" | "warn" | "dim" | "strong";

const CODES: Readonly<Record<Tone, string>> = { good: "32", bad: "31", warn: "33", dim: "2", strong: "1" };

/** Colours text. */
export type Paint = (tone: Tone, text: string) => string;

/** Colours only for a person at a terminal who has not set NO_COLOR. */
export function createPaint(stream: CliStream, env: Environment): Paint {
  const hasColor = stream.isTTY && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  return hasColor ? (tone, text) => `\u001B[${CODES[tone]}m${text}\u001B[0m` : (_tone, text) => text;
}

/** A cell of a table. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

/** A table with aligned columns; what is in a cell is made one line. */
export function formatTable(head: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint): string {
  const cells = [head.map((text): Cell => ({ text, tone: "dim" })), ...rows];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => textOf(row[column]).length)));
  const lines = cells.map((row) => {
    const line = row.map((cell, column) => {
      const text = column === row.length - 1 ? textOf(cell) : textOf(cell).padEnd(widths[column] ?? 0);
      return typeof cell === "string" ? text : paint(cell.tone, text);
    });
    return line.join("  ").trimEnd();
  });
  return `${lines.join("\n")}\n`;
}

function textOf(cell: Cell | undefined): string {
  return toLine(typeof cell === "object" ? cell.text : (cell ?? ""));
}

/** A duration as people read it. */
export function formatMs(ms: number): string {
  return ms < 10 ? ms.toFixed(1) : ms.toFixed(0);
}

/** Text wrapped at words, each line after the first indented. */
export function wrap(text: string, indent: number, width = 100): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width - indent) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${" ".repeat(indent)}`);
}
