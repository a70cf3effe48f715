import { createGlob, type Glob } from "./glob.ts";
import type { Origin } from "./payload.ts";
import type { HookPoint } from "./point.ts";

/** What a hook can be matched by. */
export type MatchField = "tool" | "channel" | "agent" | "model" | "session";

/** Every {@link MatchField}. */
export const MATCH_FIELDS: readonly MatchField[] = ["tool", "channel", "agent", "model", "session"];

/**
 * For which calls a hook is made. Each field that is set must match. Of its patterns, in which `*` stands for any
 * characters, one without `!` must fit, where there is one, and none with `!` in front may. What a payload
 * does not say is the empty text.
 */
export type HookMatch = Readonly<Partial<Record<MatchField, readonly string[]>>>;

const ALL_POINTS: ReadonlySet<HookPoint> = new Set([
  "before_llm",
  "after_llm",
  "before_tool",
  "approve_tool",
  "after_tool",
]);

/** The points whose payloads carry a field. */
const CARRIED: Readonly<Record<MatchField, ReadonlySet<HookPoint>>> = {
  tool: new Set(["before_tool", "approve_tool", "after_tool"]),
  model: new Set(["before_llm", "after_llm"]),
  channel: ALL_POINTS,
  agent: ALL_POINTS,
  session: ALL_POINTS,
};

const READ: Readonly<Record<MatchField, (payload: Origin) => string>> = {
  tool: (payload) => textOf(payload["tool"]),
  model: (payload) => textOf(payload["model"]),
  channel: (payload) => textOf(payload["channel"]),
  agent: ({ meta }) => textOf(meta?.AgentID),
  session: ({ meta }) => textOf(meta?.SessionKey),
};

/** Reads the text of a payload that a field is matched with. */
export type ReadField = (payload: Origin) => string;

/** What reads a field. */
export function readerOf(field: MatchField): ReadField {
  return READ[field];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A match that was read once, for all the calls it is asked about. */
export interface Matcher {
  /** The fields it looks at. */
  readonly fields: readonly MatchField[];
  /** A field that fits one of these patterns wherever the match fits; absent where it has only patterns with `!`. */
  readonly anchor: { readonly field: MatchField; readonly patterns: readonly string[] } | undefined;
  matches(payload: Origin): boolean;
}

/**
 * Prepares a match.
 * @throws {TypeError} when a field is not known, or a list or a pattern is empty
 */
export function createMatcher(match: HookMatch): Matcher {
  const unknown = Object.keys(match).find((key) => !MATCH_FIELDS.some((field) => field === key));
  if (unknown !== undefined) {
    throw new TypeError(`match: expected some of ${MATCH_FIELDS.join(", ")}, got "${unknown}"`);
  }
  const fields = MATCH_FIELDS.filter((field) => match[field] !== undefined);
  const tests = fields.map((field) => [readerOf(field), createFieldTest(field, match[field] ?? [])] as const);
  const anchors = fields.map((field) => ({ field, patterns: splitPatterns(match[field] ?? []).wanted }));
  const anchor = anchors.find(({ patterns }) => patterns.length > 0);
  return { fields, anchor, matches: (payload) => tests.every(([read, test]) => test(read(payload))) };
}

function createFieldTest(field: MatchField, patterns: readonly string[]): Glob {
  if (patterns.length === 0 || patterns.some((pattern) => pattern === "" || pattern === "!")) {
    throw new TypeError(`match.${field}: expected a list of patterns, none of them empty`);
  }
  const { wanted, unwanted } = splitPatterns(patterns);
  const positive = wanted.map(createGlob);
  const negative = unwanted.map(createGlob);
  return (text) =>
    (positive.length === 0 || positive.some((fits) => fits(text))) && !negative.some((fits) => fits(text));
}

function splitPatterns(patterns: readonly string[]): {
  readonly wanted: readonly string[];
  readonly unwanted: readonly string[];
} {
  return {
    wanted: patterns.filter((pattern) => !pattern.startsWith("!")),
    unwanted: patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1)),
  };
}

/** The first field because of which a match can never fit at a point, whose payload does not carry it. */
export function uncarriedField(match: HookMatch, point: HookPoint): MatchField | undefined {
  return MATCH_FIELDS.find((field) => match[field] !== undefined && !CARRIED[field].has(point));
}

/** The first field whose patterns exclude each other, so that no text fits. */
export function impossibleField(match: HookMatch): MatchField | undefined {
  return MATCH_FIELDS.find((field) => {
    const { wanted, unwanted } = splitPatterns(match[field] ?? []);
    // What a pattern with stars fits is taken by another that fits its own text, stars and all.
    const isTaken = (text: string): boolean => unwanted.some((pattern) => createGlob(pattern)(text));
    return unwanted.length > 0 && (unwanted.includes("*") || (wanted.length > 0 && wanted.every(isTaken)));
  });
}
