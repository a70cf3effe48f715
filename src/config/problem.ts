import * as z from "zod";
import { HookgateError } from "../errors.ts";
import type { TextPosition } from "./json.ts";
import { nearestName } from "../nearest.ts";
import { formatPath, type JsonPath, valueAt } from "./path.ts";

/** One thing that is wrong in a config file. */
export interface ConfigProblem extends Partial<TextPosition> {
  /** Where, such as `hooks.processes.gate.intercept[0]`. */
  readonly path: string;
  /** What is wrong, in one sentence without a full stop. */
  readonly message: string;
  /** The value that is there, shortened; left out when it may be a secret. */
  readonly value?: string;
  readonly allowed?: readonly string[];
  /** The allowed name that was most likely meant. */
  readonly nearest?: string;
}

/** How many problems a message lists. */
const MAX_LISTED = 100;

/** A config that cannot be used, with everything that is wrong in it. */
export class ConfigError extends HookgateError {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[], file = "config") {
    const lines = problems.slice(0, MAX_LISTED).map((problem) => formatProblem(problem, file));
    if (problems.length > MAX_LISTED) lines.push(`${file}: ${problems.length - MAX_LISTED} more problems`);
    super("ERR_CONFIG", lines.join("\n"));
    this.problems = problems;
  }
}

/**
 * Makes something of a config, or adds what is wrong in it to what was found before.
 * @returns undefined where something is wrong
 * @throws {Error} what is no {@link ConfigError}
 */
export async function collectProblems<T>(problems: ConfigProblem[], make: () => Promise<T>): Promise<T | undefined> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** A problem as one line of text: `hooks.json:5:20 hooks.processes.gate.transport: unknown transport, got "sdtio"; …`. */
export function formatProblem(
  { path, message, value, allowed, nearest, line, column }: ConfigProblem,
  file: string,
): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  const got = value === undefined ? "" : `, got ${value}`;
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  const list = allowed === undefined || allowed.length === 0 ? "" : ` (expected one of: ${allowed.join(", ")})`;
  return `${place} ${path}: ${message}${got}${hint}${list}`;
}

/** A problem as a check finds it, before its place in the file is looked up. */
export interface Finding extends Omit<ConfigProblem, "path" | keyof TextPosition> {
  readonly at: JsonPath;
}

/** What a problem is found in. */
export interface ProblemSite {
  readonly schema: z.ZodType;
  /** The value the schema was given. */
  readonly value: unknown;
  /** Where that value is in the file. @default its root */
  readonly base?: JsonPath;
  /** Whether the value at a path of the file came from the environment. */
  readonly isFromEnvironment?: (path: string) => boolean;
}

type Issue = z.core.$ZodIssue;

/** What a schema found wrong, one finding for each unknown key and each value. */
export function toFindings(issues: readonly Issue[], site: ProblemSite): readonly Finding[] {
  return issues.flatMap((issue) => {
    const path = issue.path.filter((key) => typeof key !== "symbol");
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => toUnknownKey(key, path, site));
    return [toFinding(issue, path, site)];
  });
}

function toUnknownKey(key: string, path: JsonPath, { schema, value, base = [] }: ProblemSite): Finding {
  const allowed = knownKeys(schema, path, value);
  return { at: [...base, ...path, key], message: "unknown key", allowed, ...meant(key, allowed) };
}

function toFinding(issue: Issue, path: JsonPath, { value, base = [], isFromEnvironment }: ProblemSite): Finding {
  const at = [...base, ...path];
  const given = valueAt(value, path);
  const isHidden = isSecret(at) || isFromEnvironment?.(formatPath(at)) === true;
  const found = { at, message: describe(issue, at, given), ...(isHidden ? {} : shown(given)) };
  const names = namesOf(issue);
  if (names === undefined) return found;
  // The dotted names of events are accepted too, but a list of both helps nobody.
  const allowed = names.filter((name) => !name.startsWith("agent."));
  return { ...found, allowed, ...(isHidden || typeof given !== "string" ? {} : meant(given, names)) };
}

/** What may stand in the place of the issue; undefined where that is not a list of names. */
function namesOf(issue: Issue): readonly string[] | undefined {
  if (issue.code === "invalid_value") return issue.values.map(String);
  if (issue.code !== "invalid_union" || issue.discriminator === undefined) return undefined;
  const options: unknown = Reflect.get(issue, "options");
  return Array.isArray(options) ? options.filter((name) => typeof name === "string") : [];
}

const NOUNS: Readonly<Record<string, string>> = {
  transport: "transport",
  intercept: "hook point",
  observe: "event",
  events: "form of events",
  scopes: "scope",
  mode: "mode",
  on_error: "effect",
  on_timeout: "effect",
  on_invalid: "effect",
  on_unreachable: "effect",
};

/** What may stand where more than one type may. */
const CHOICES: Readonly<Record<string, string>> = {
  secret: "expected a string, or a list of two of them",
  key: "expected a JWK, as an object or as JSON text",
};

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

function describe(issue: Issue, at: JsonPath, given: unknown): string {
  const name = at.findLast((key) => typeof key === "string") ?? "";
  if (issue.code === "invalid_type") {
    return `${given === undefined ? "missing: " : ""}expected ${TYPES[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === "invalid_union" && issue.discriminator === undefined) {
    return CHOICES[name === "secret" ? name : "key"] ?? issue.message;
  }
  if (issue.code === "invalid_value" || issue.code === "invalid_union") {
    if (given === "" && name === "observe") return 'an empty name stands for nothing; write "*" for every event';
    return `unknown ${NOUNS[name] ?? "value"}`;
  }
  const unit = UNITS[Array.isArray(given) ? "array" : typeof given] ?? "";
  if (issue.code === "too_big") return `expected at most ${issue.maximum}${unit}`;
  if (issue.code !== "too_small") return issue.message;
  return unit !== "" && issue.minimum === 1 ? "must not be empty" : `expected at least ${issue.minimum}${unit}`;
}

/** What is counted of a value that is too short or too long. */
const UNITS: Readonly<Record<string, string>> = { string: " characters", array: " entries", object: " entries" };

/** The nearest of the allowed names, as a finding has it. */
export function meant(given: string, names: readonly string[]): { readonly nearest?: string } {
  const nearest = nearestName(given, names);
  return nearest === undefined ? {} : { nearest };
}

const MAX_SHOWN_CHARS = 60;

/** A value as a problem shows it. What is inside an object or an array is not shown: it may hold a secret. */
function shown(value: unknown): { readonly value?: string } {
  if (value === undefined) return {};
  if (Array.isArray(value)) return { value: "an array" };
  if (typeof value === "object" && value !== null) return { value: "an object" };
  // A URL with a password in it, or what was meant to be one.
  if (typeof value === "string" && /:.*@/s.test(value)) return {};
  const text = JSON.stringify(value);
  return { value: text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text };
}

const SECRET_NAME = /token|secret|key|passw|authoriz|credential|cookie|sha256/i;
const SECRET_PARENT = /^env$|^headers$|(?:token|secret|key|password|authorization|credential|cookie)$/i;

/** Whether a place in a config may hold a secret, going by the names on the way to it. */
function isSecret(path: JsonPath): boolean {
  const names = path.filter((key) => typeof key === "string");
  return SECRET_NAME.test(names.at(-1) ?? "") || names.slice(0, -1).some((name) => SECRET_PARENT.test(name));
}

function knownKeys(root: z.ZodType, path: JsonPath, value: unknown): readonly string[] {
  let schema: unknown = choose(root, value);
  for (const [depth, key] of path.entries()) {
    if (schema instanceof z.ZodObject) schema = Reflect.get(schema.shape, key);
    else if (schema instanceof z.ZodRecord) schema = schema.valueType;
    else if (schema instanceof z.ZodArray) schema = schema.element;
    else return [];
    schema = choose(schema, valueAt(value, path.slice(0, depth + 1)));
  }
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** The schema without what is around it; of several the one that the value is meant to fit. */
function choose(wrapped: unknown, value: unknown): unknown {
  const schema = unwrap(wrapped);
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return schema;
  const { options, discriminator } = schema.def;
  const given = valueAt(value, [discriminator]);
  return options.find((option) => {
    const tag: unknown = option instanceof z.ZodObject ? Reflect.get(option.shape, discriminator) : undefined;
    return tag instanceof z.ZodType && tag.safeParse(given).success;
  });
}

function unwrap(schema: unknown): unknown {
  const isWrapped =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional;
  return isWrapped ? unwrap(schema.unwrap()) : schema;
}
