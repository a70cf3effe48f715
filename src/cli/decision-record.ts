import { isObject } from "../is-object.ts";
import { type Cell, formatMs, type Paint, toLine } from "./text.ts";

/** A decision record, as far as the command line reads it: it comes from a file or another version of hookgate. */
export interface ReadRecord {
  readonly id: string;
  readonly time: string;
  readonly point: string;
  readonly action: string;
  readonly reason: string;
  readonly ms: number;
  readonly tool: string;
  readonly session: string;
  /** The payload; absent where payloads are not recorded. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** The hooks that were called, in order. */
  readonly hooks: readonly { readonly hook: string; readonly outcome: string; readonly failedOpen: boolean }[];
}

/** Reads a record; undefined when it is none. */
export function readRecord(value: unknown): ReadRecord | undefined {
  if (!isObject(value)) return undefined;
  const { id, point, action, ms, input, hooks } = value;
  if (typeof id !== "string" || typeof point !== "string" || typeof action !== "string") return undefined;
  return {
    id,
    point,
    action,
    time: textOf(value["time"]),
    reason: textOf(value["reason"]),
    tool: textOf(value["tool"]),
    session: textOf(value["session"]),
    ms: typeof ms === "number" ? ms : 0,
    hooks: (Array.isArray(hooks) ? hooks : []).filter(isObject).map((entry) => ({
      hook: textOf(entry["hook"]),
      outcome: textOf(entry["outcome"]),
      failedOpen: entry["failed_open"] === true,
    })),
    ...(isObject(input) && { input }),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const ENDS: ReadonlySet<string> = new Set(["deny_tool", "denied", "abort_turn", "hard_abort", "respond"]);

/** The hook that ended a decision early; undefined where none did. */
export function endedBy({ action, hooks }: ReadRecord): string | undefined {
  return ENDS.has(action) ? hooks.at(-1)?.hook : undefined;
}

/** How an action is shown. */
export function toActionCell(action: string): Cell {
  if (action === "continue" || action === "approved") return { text: action, tone: "good" };
  return { text: action, tone: action === "modify" || action === "respond" ? "warn" : "bad" };
}

/** A record as one line for people. */
export function formatRecord(record: ReadRecord, paint: Paint): string {
  const { time, point, tool, session, reason, ms, action, hooks } = record;
  const cell = toActionCell(action);
  const shown = typeof cell === "string" ? cell : paint(cell.tone, cell.text.padEnd(10));
  const by = endedBy(record);
  const parts = [
    paint("dim", toLine(time)),
    shown,
    point,
    tool === "" ? "-" : toLine(tool),
    ...(session === "" ? [] : [`session=${toLine(session)}`]),
    ...(by === undefined ? [] : [`by ${toLine(by)}`]),
    ...(hooks.some(({ failedOpen }) => failedOpen) ? [paint("warn", "failed open")] : []),
    ...(reason === "" ? [] : [toLine(reason)]),
    paint("dim", `${formatMs(ms)} ms`),
  ];
  return `${parts.join("  ")}\n`;
}
