import type { Trace } from "../picoclaw/index.ts";
import { EXIT } from "./command.ts";
import { isObject } from "../is-object.ts";
import { type Cell, formatMs, formatTable, type Paint, toLine, toSafeJson } from "./text.ts";

/** A decision as `answerHost` gives it, as far as the command line shows it. */
export interface Decision {
  readonly action: string;
  /** Only where approvers were asked. */
  readonly approved?: boolean;
  readonly reason: string;
  readonly records: Trace["records"];
  /** What the hooks changed or answered, by its key. */
  readonly payload: Readonly<Record<string, unknown>>;
}

const PAYLOAD_KEYS = ["request", "response", "call", "result"];

/** Reads a decision. */
export function parseDecision(answer: unknown): Decision {
  const { action, approved, reason, trace }: Partial<Record<string, unknown>> = isObject(answer) ? answer : {};
  if (!isObject(answer) || !isTrace(trace)) throw new TypeError("expected a decision with a trace");
  return {
    action: typeof action === "string" ? action : "",
    ...(typeof approved === "boolean" ? { approved } : {}),
    reason: typeof reason === "string" ? reason : "",
    records: trace.records,
    payload: Object.fromEntries(Object.entries(answer).filter(([key]) => PAYLOAD_KEYS.includes(key))),
  };
}

function isTrace(value: unknown): value is Trace {
  return isObject(value) && Array.isArray(value["records"]);
}

const REFUSALS: ReadonlySet<string> = new Set(["deny_tool", "abort_turn", "hard_abort"]);

/** Whether the decision says that the step must not be taken. */
export function isRefused({ action, approved }: Decision): boolean {
  return approved === false || REFUSALS.has(action);
}

/** Whether the step is refused because a hook gave no verdict, and not because one said so. */
function restsOnNoVerdict(decision: Decision): boolean {
  const last = decision.records.at(-1);
  return isRefused(decision) && last?.outcome === "no_verdict" && last.failed_open !== true;
}

/**
 * What was decided, in one word for all points: a step that was not approved is `denied`, one that an approver let through
 * is `approved` where nothing else was asked.
 */
export function actionOf({ action, approved }: Decision): string {
  if (action === "") return approved === true ? "approved" : "denied";
  return approved === false && !REFUSALS.has(action) ? "denied" : action;
}

/** The hook that decided; undefined where none did. */
export function decidedBy(decision: Decision): string | undefined {
  return isRefused(decision) || decision.action === "respond" ? decision.records.at(-1)?.hook : undefined;
}

/** The exit code of a decision. */
export function toExitCode(decision: Decision): number {
  if (!isRefused(decision)) return EXIT.ok;
  return restsOnNoVerdict(decision) ? EXIT.noVerdict : EXIT.denied;
}

/** A decision for people: what was decided, by whom and why, what was changed, and what each hook did. */
export function formatDecision(decision: Decision, paint: Paint): string {
  const { records, payload, action } = decision;
  const skipped = records.filter(({ failed_open }) => failed_open === true).length;
  const isChanged = action === "modify" || action === "respond";
  const lines = [headline(decision, paint)];
  if (skipped > 0)
    lines.push(
      paint("warn", `${count(skipped, "hook")} gave no verdict and ${skipped === 1 ? "was" : "were"} skipped`),
    );
  if (isChanged) for (const [key, value] of Object.entries(payload)) lines.push("", `${key}:`, toSafeJson(value));
  if (records.length === 0) lines.push("no hook is called here");
  const table = records.length === 0 ? "" : `\n${formatRecords(decision, paint)}`;
  return `${lines.join("\n")}\n${table}`;
}

function headline(decision: Decision, paint: Paint): string {
  const { action, approved, reason, records } = decision;
  const who = records.at(-1)?.hook ?? "a hook";
  const why = reason === "" ? "" : `: ${toLine(reason)}`;
  if (restsOnNoVerdict(decision)) return paint("bad", `no verdict${why}`);
  if (action === "abort_turn" || action === "hard_abort") return paint("bad", `${action} by ${toLine(who)}${why}`);
  if (action === "deny_tool" || approved === false) return paint("bad", `denied by ${toLine(who)}${why}`);
  if (action === "respond") return paint("good", `answered by ${toLine(who)}${why}`);
  return paint("good", action === "modify" ? "allowed, with changes" : "allowed");
}

function formatRecords(decision: Decision, paint: Paint): string {
  const { records, reason } = decision;
  const hasHalt = isRefused(decision) || decision.action === "respond";
  const rows = records.map(({ hook, point, outcome, kind, error, ms }, index): readonly Cell[] => {
    const isLast = index === records.length - 1;
    const why = kind === undefined ? (isLast && hasHalt ? reason : "") : `${kind}: ${error ?? ""}`;
    return [hook, point, { text: outcome, tone: toneOf(outcome) }, formatMs(ms), why];
  });
  return formatTable(["HOOK", "POINT", "OUTCOME", "MS", "WHY"], rows, paint);
}

function toneOf(outcome: string): "good" | "bad" | "warn" {
  if (outcome === "no_verdict") return "warn";
  return outcome === "denied" || REFUSALS.has(outcome) ? "bad" : "good";
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
