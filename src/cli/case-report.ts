import { formatMs, type Paint, toLine } from "./text.ts";

/** How one case came out. */
export interface CaseResult {
  readonly name: string;
  /** What was not as expected; empty when the case passed. */
  readonly failures: readonly string[];
  readonly ms: number;
}

/** The forms a report can have. */
export const REPORT_FORMATS = ["pretty", "tap", "junit"] as const;

/** The name of a form of a report. */
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** Options of {@link formatCases}. */
export interface FormatCasesOptions {
  readonly format: ReportFormat;
  /** The file of the cases. */
  readonly file: string;
  readonly paint: Paint;
}

/** Writes what came of cases: for people, as TAP 14, or as the XML that JUnit made common. */
export function formatCases(results: readonly CaseResult[], options: FormatCasesOptions): string {
  const { format } = options;
  if (format === "tap") return toTap(results);
  return format === "junit" ? toJunit(results, options) : toPretty(results, options);
}

function toPretty(results: readonly CaseResult[], { paint, file }: FormatCasesOptions): string {
  const lines = results.flatMap(({ name, failures, ms }) => [
    `${failures.length === 0 ? paint("good", "ok") : paint("bad", "not ok")}  ${toLine(name)}  ${paint("dim", `${formatMs(ms)} ms`)}`,
    ...failures.map((failure) => `        ${toLine(failure)}`),
  ]);
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const sum = `${results.length - failed} passed, ${failed} failed`;
  return [...lines, "", `${toLine(file)}: ${paint(failed === 0 ? "good" : "bad", sum)}`, ""].join("\n");
}

/** @see {@link https://testanything.org/tap-version-14-specification.html} */
function toTap(results: readonly CaseResult[]): string {
  const lines = results.flatMap(({ name, failures, ms }, index) => [
    `${failures.length === 0 ? "ok" : "not ok"} ${index + 1} - ${escapeTap(toLine(name))}`,
    "  ---",
    `  duration_ms: ${ms.toFixed(3)}`,
    ...(failures.length === 0 ? [] : ["  message: |", ...failures.map((failure) => `    ${toLine(failure)}`)]),
    "  ...",
  ]);
  return ["TAP version 14", `1..${results.length}`, ...lines, ""].join("\n");
}

/** A `#` begins a directive, such as the one that says a failure does not count. */
function escapeTap(text: string): string {
  return text.replaceAll(/[\\#]/g, String.raw`\$&`);
}

function toJunit(results: readonly CaseResult[], { file }: FormatCasesOptions): string {
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const totalMs = results.reduce((sum, { ms }) => sum + ms, 0);
  const cases = results.flatMap(({ name, failures, ms }) => {
    const head = `    <testcase name="${escapeXml(name)}" classname="${escapeXml(file)}" time="${toSeconds(ms)}"`;
    if (failures.length === 0) return [`${head}/>`];
    const message = escapeXml(failures[0] ?? "");
    const body = escapeXml(failures.join("\n"));
    return [`${head}>`, `      <failure message="${message}">${body}</failure>`, "    </testcase>"];
  });
  const counts = `tests="${results.length}" failures="${failed}" time="${toSeconds(totalMs)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escapeXml(file)}" ${counts} errors="0" skipped="0">`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function toSeconds(ms: number): string {
  return (ms / 1000).toFixed(6);
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** What XML 1.0 has no way to write. */
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

function escapeXml(text: string): string {
  return text.replaceAll(NOT_XML, "\u{FFFD}").replaceAll(/[&<>"]/g, (char) => ENTITIES[char] ?? char);
}
