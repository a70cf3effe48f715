import { isMap, isNode, isSeq, LineCounter, parseDocument } from "yaml";
import * as z from "zod";
import type { JsonPath } from "./path.ts";
import { formatPath } from "./path.ts";
import { ConfigError, type ConfigProblem, toFindings } from "./problem.ts";

/** The points a case can ask at; `check_tool` is before_tool and, unless that ends it, approve_tool. */
const CASE_POINTS = ["before_llm", "after_llm", "before_tool", "approve_tool", "after_tool", "check_tool"] as const;

const ACTIONS = [
  "continue",
  "modify",
  "respond",
  "deny_tool",
  "abort_turn",
  "hard_abort",
  "approved",
  "denied",
  "allowed",
] as const;

/** What a case expects of a decision; what is left out may be anything. */
export interface CaseExpectation {
  /** `allowed` is whatever lets the step be taken. */
  readonly action?: (typeof ACTIONS)[number];
  /** A regular expression that is found in the reason. */
  readonly reason?: string;
  /** The hook that decided. */
  readonly by?: string;
  /** Values in the payload as the hooks left it, by path, such as `call.arguments.path`. */
  readonly changes?: Readonly<Record<string, unknown>>;
  /** Whether no hook may change anything. */
  readonly unchanged?: boolean;
  /** Whether a hook may fail to give a verdict. */
  readonly allow_no_verdict: boolean;
}

/** One case of a file of cases. */
export interface HookCase {
  readonly name: string;
  readonly point: (typeof CASE_POINTS)[number];
  readonly payload: Readonly<Record<string, unknown>>;
  readonly expect: CaseExpectation;
}

/** A file of cases. */
export interface CaseFile {
  /** The config whose hooks are asked, relative to the file. */
  readonly config?: string;
  readonly cases: readonly HookCase[];
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

const caseFileSchema: z.ZodType<CaseFile> = z.strictObject({
  config: z.string().min(1).exactOptional(),
  cases: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        point: z.enum(CASE_POINTS),
        payload: z.record(z.string(), z.unknown()),
        expect: z.strictObject({
          action: z.enum(ACTIONS).exactOptional(),
          reason: z.string().refine(isPattern, "expected a regular expression").exactOptional(),
          by: z.string().exactOptional(),
          changes: z.record(z.string(), z.unknown()).exactOptional(),
          unchanged: z.boolean().exactOptional(),
          allow_no_verdict: z.boolean().default(false),
        }),
      }),
    )
    .min(1),
});

/** Bounds what aliases may expand to: a short file must not become a long one. */
const MAX_ALIASES = 100;

/**
 * Reads a file of cases, YAML or JSON.
 * @throws {ConfigError} with every problem and its place
 */
export function parseCases(text: string, file: string): CaseFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const placeOf = (offset: number): Pick<ConfigProblem, "line" | "column"> => {
    const { line, col: column } = lines.linePos(offset);
    return { line, column };
  };
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ message, pos }) => ({ path: "$", message, ...placeOf(pos[0]) }));
    throw new ConfigError(problems, file);
  }
  const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  const { data, error } = caseFileSchema.safeParse(value);
  if (data !== undefined) return data;
  const offsetOf = (at: JsonPath): number | undefined => {
    let node: unknown = document.contents;
    for (const key of at) {
      const next: unknown = isMap(node) || isSeq(node) ? node.get(key, true) : undefined;
      if (next === undefined) break;
      node = next;
    }
    return isNode(node) ? node.range?.[0] : undefined;
  };
  const problems = toFindings(error?.issues ?? [], { schema: caseFileSchema, value }).map(({ at, ...finding }) => {
    const offset = offsetOf(at);
    return { path: formatPath(at), ...finding, ...(offset === undefined ? {} : placeOf(offset)) };
  });
  throw new ConfigError(problems, file);
}
