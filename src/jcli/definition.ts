import * as z from "zod";
import { MAX_DELAY_MS } from "../wait.ts";
import { isObject, type JsonObject } from "../is-object.ts";
import { nearestName } from "../nearest.ts";
import type { LifecycleEvent } from "./event.ts";
import { type HookFilter, impossibleField } from "./filter.ts";
import { PLACEHOLDERS, unknownPlaceholders } from "./template.ts";

/** How a hook of a file or a session is called. */
export type HookType = "bash" | "llm" | "http";

/** What follows when a hook has failed in every attempt: go on without it, or end the chain with `stop`. */
export type OnError = "skip" | "abort";

interface Definition {
  /** Deadline of one attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** How often a failed attempt is made again, 0 to 100. */
  readonly retryCount: number;
  readonly onError: OnError;
  readonly filter?: HookFilter;
}

/** A hook that is a shell command. */
export interface BashDefinition extends Definition {
  readonly type: "bash";
  /** What `sh -c` is given. */
  readonly command: string;
}

/** A hook that is a question to a model. */
export interface LlmDefinition extends Definition {
  readonly type: "llm";
  /** The question, with placeholders such as `{{user_input}}`. */
  readonly prompt: string;
  /** The model asked; absent is the provider's own. */
  readonly model?: string;
}

/** A hook behind a URL, which is sent the context and answers with the result. */
export interface HttpDefinition extends Definition {
  readonly type: "http";
  readonly url: string;
  /** `headers`, and how its calls and replies are signed: as the file has it, for whoever connects to read. */
  readonly connection: Readonly<Record<string, unknown>>;
}

/** A hook of a file or a session, checked, with its defaults filled in. */
export type HookDefinition = BashDefinition | LlmDefinition | HttpDefinition;

/** Something about a definition that a person should know; an error makes it unusable. */
export interface DefinitionFinding {
  readonly severity: "error" | "warning";
  /** Where in the definition, such as `timeout` or `filter.tool_name`; absent for the whole of it. */
  readonly field?: string;
  /** What is wrong, in one sentence without a full stop. */
  readonly message: string;
  /** The value that is there, shortened. Never a command or a prompt. */
  readonly value?: string;
  readonly allowed?: readonly string[];
  /** The allowed name that was most likely meant. */
  readonly nearest?: string;
}

/** What {@link checkDefinition} found. */
export interface CheckedDefinition {
  /** Absent when there is an error. */
  readonly definition?: HookDefinition;
  readonly findings: readonly DefinitionFinding[];
}

/**
 * Checks what only whoever connects can: the `url` of a hook of type http, its headers and its keys. It is given the
 * fields of the definition that are its own.
 */
export type CheckHttp = (fields: Readonly<Record<string, unknown>>) => readonly DefinitionFinding[];

/** Options of {@link checkDefinition}. */
export interface CheckDefinitionOptions {
  readonly event: LifecycleEvent;
  /** The types that can run here. */
  readonly types: readonly HookType[];
  /** @default the URL has to be there, and nothing more is known of it */
  readonly checkHttp?: CheckHttp | undefined;
}

/** Deadline of one attempt when a definition says none, in milliseconds. */
const DEFAULT_TIMEOUT_MS: Readonly<Record<HookType, number>> = { bash: 10_000, llm: 30_000, http: 10_000 };
const DEFAULT_RETRY_COUNT: Readonly<Record<HookType, number>> = { bash: 0, llm: 1, http: 0 };
const MAX_RETRY_COUNT = 100;
const MS_PER_SECOND = 1000;

/** Every type, in the order in which they are listed. */
export const HOOK_TYPES: readonly ["bash", "llm", "http"] = ["bash", "llm", "http"];
const text = z.string().exactOptional();

const filterSchema = z.object({ tool_name: text, tool_matcher: text, model_prefix: text });

const definitionSchema = z.object({
  type: z.enum(HOOK_TYPES).default("bash"),
  command: text,
  prompt: text,
  model: text,
  url: text,
  timeout: z
    .number()
    .positive()
    .max(MAX_DELAY_MS / MS_PER_SECOND)
    .exactOptional(),
  retry: z.int().min(0).max(MAX_RETRY_COUNT).exactOptional(),
  on_error: z.enum(["skip", "abort", "stop"]).exactOptional(),
  filter: filterSchema.exactOptional(),
});

/** What a hook of type http has beside its URL; see the config of hooks over HTTP. */
const CONNECTION_FIELDS: readonly string[] = [
  "headers",
  "endpoint",
  "scheme",
  "alg",
  "secret",
  "reply_key",
  "reply_jwks",
  "require_signed_reply",
  "unsigned",
  "max_message_bytes",
  "allow_private",
  "allow_insecure",
];

const FIELDS: readonly string[] = [...Object.keys(definitionSchema.shape), ...CONNECTION_FIELDS];
const FILTER_FIELDS: readonly string[] = Object.keys(filterSchema.shape);

/** Which fields only one type reads; the first is needed. */
const OWN_FIELDS: Readonly<Record<HookType, readonly [string, ...string[]]>> = {
  bash: ["command"],
  llm: ["prompt", "model"],
  http: ["url", ...CONNECTION_FIELDS],
};

/** Checks a definition as a file or a session gives it: everything that is wrong at once, and the defaults filled in. */
export function checkDefinition(
  given: unknown,
  { event, types, checkHttp }: CheckDefinitionOptions,
): CheckedDefinition {
  if (!isObject(given)) return { findings: [error({ message: `expected a hook, got ${nounOf(given)}` })] };
  const fields = withoutNull(given);
  const { data, error: fault } = definitionSchema.safeParse(fields);
  const shape = fault?.issues.map((issue) => toFinding(issue, fields)) ?? [];
  const findings: DefinitionFinding[] = [...shape, ...checkMeaning(fields, types), ...unknownFields(fields)];
  if (fields["type"] === "http" && checkHttp !== undefined) findings.push(...checkHttp(pick(fields, OWN_FIELDS.http)));
  if (data === undefined || findings.some(({ severity }) => severity === "error")) return { findings };
  const definition = toDefinition(data, pick(fields, CONNECTION_FIELDS));
  return { definition, findings: [...findings, ...checkUse(definition, event)] };
}

function toDefinition(
  { type, command = "", prompt = "", url = "", ...given }: z.infer<typeof definitionSchema>,
  connection: JsonObject,
): HookDefinition {
  const { model, timeout, retry = DEFAULT_RETRY_COUNT[type], on_error: onError = "skip", filter = {} } = given;
  const base = {
    timeoutMs: timeout === undefined ? DEFAULT_TIMEOUT_MS[type] : timeout * MS_PER_SECOND,
    retryCount: retry,
    onError: onError === "skip" ? "skip" : "abort",
    ...(Object.keys(filter).length === 0 ? {} : { filter }),
  } as const;
  if (type === "bash") return { type, command, ...base };
  if (type === "http") return { type, url, connection, ...base };
  return { type, prompt, ...(model === undefined ? {} : { model }), ...base };
}

/** A definition as a file would have it; {@link checkDefinition} reads it back. */
export function fromDefinition(definition: HookDefinition): Readonly<Record<string, unknown>> {
  const { timeoutMs, retryCount, onError, ...rest } = definition;
  const { connection, ...own } = rest.type === "http" ? rest : { ...rest, connection: {} };
  return { ...own, ...connection, timeout: timeoutMs / MS_PER_SECOND, retry: retryCount, on_error: onError };
}

/** What a shape alone does not say. */
function checkMeaning(fields: JsonObject, types: readonly HookType[]): readonly DefinitionFinding[] {
  const type = HOOK_TYPES.find((name) => name === (fields["type"] ?? "bash"));
  if (type === undefined) return [];
  const findings: DefinitionFinding[] = [];
  if (!types.includes(type)) findings.push(error({ field: "type", message: `${type} hooks cannot run here` }));
  const [needed] = OWN_FIELDS[type];
  const value = fields[needed];
  if (value === undefined) {
    findings.push(toMissing(type, fields));
  } else if (typeof value === "string" && value.trim() === "") {
    findings.push(error({ field: needed, message: "must not be empty" }));
  }
  for (const field of HOOK_TYPES.flatMap((other) => (other === type ? [] : OWN_FIELDS[other]))) {
    if (fields[field] === undefined || findings.some((finding) => finding.field === "type")) continue;
    findings.push({ severity: "warning", field, message: `not read: the hook is of type ${type}` });
  }
  return findings;
}

function toMissing(type: HookType, fields: JsonObject): DefinitionFinding {
  const meantType = (["llm", "http"] as const).find((other) => fields[OWN_FIELDS[other][0]] !== undefined);
  if (fields["type"] !== undefined || meantType === undefined) {
    return error({ field: OWN_FIELDS[type][0], message: `missing: a hook of type ${type} needs it` });
  }
  const message = `a hook with a ${OWN_FIELDS[meantType][0]} needs "type: ${meantType}"`;
  return error({ field: "type", message });
}

function pick(fields: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]));
}

/** What is well formed and still can never work as it was meant. */
function checkUse(definition: HookDefinition, event: LifecycleEvent): readonly DefinitionFinding[] {
  const findings: DefinitionFinding[] = [];
  const field = definition.filter && impossibleField(definition.filter, event);
  if (field !== undefined) {
    findings.push({ severity: "warning", field: `filter.${field}`, message: `can never match at ${event}` });
  }
  if (definition.type !== "llm") return findings;
  for (const name of unknownPlaceholders(definition.prompt)) {
    const message = `unknown placeholder {{${name.slice(0, 40)}}}, which stays as it is`;
    findings.push({ severity: "warning", field: "prompt", message, ...meant(name.trim(), PLACEHOLDERS) });
  }
  return findings;
}

function unknownFields(fields: JsonObject): readonly DefinitionFinding[] {
  const { filter } = fields;
  const inFilter = isObject(filter) ? unknown(Object.keys(filter), FILTER_FIELDS, "filter.") : [];
  return [...unknown(Object.keys(fields), FIELDS, ""), ...inFilter];
}

function unknown(keys: readonly string[], known: readonly string[], prefix: string): readonly DefinitionFinding[] {
  return keys
    .filter((key) => !known.includes(key))
    .map((key) => ({
      severity: "warning",
      field: prefix + key,
      message: "unknown key, not read",
      ...meant(key, known),
    }));
}

function error(finding: Omit<DefinitionFinding, "severity">): DefinitionFinding {
  return { severity: "error", ...finding };
}

function meant(given: string, known: readonly string[]): { readonly nearest?: string } {
  const nearest = nearestName(given, known);
  return nearest === undefined ? {} : { nearest };
}

/** Null is what YAML has for a key without a value. */
function withoutNull(given: JsonObject): JsonObject {
  const present = Object.entries(given).filter(([, value]) => value !== null);
  return Object.fromEntries(present.map(([key, value]) => [key, isObject(value) ? withoutNull(value) : value]));
}

function toFinding(issue: z.core.$ZodIssue, fields: JsonObject): DefinitionFinding {
  const field = issue.path.map(String).join(".");
  const given = issue.path.reduce<unknown>((value, key) => (isObject(value) ? value[String(key)] : undefined), fields);
  const value = toShown(given);
  if (issue.code !== "invalid_value") return error({ field, message: describe(issue), value });
  const allowed = issue.values.map(String);
  const hint = typeof given === "string" ? meant(given, allowed) : {};
  return error({ field, message: field === "type" ? "unknown type" : "unknown value", value, allowed, ...hint });
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") return `expected ${NOUNS[issue.expected] ?? issue.expected}`;
  if (issue.code === "too_small")
    return `expected ${issue.inclusive === true ? "at least" : "more than"} ${issue.minimum}`;
  if (issue.code === "too_big") return `expected at most ${issue.maximum}`;
  return issue.message;
}

const NOUNS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "an integer",
  object: "a map",
};
const GIVEN_NOUNS: Readonly<Record<string, string>> = { string: "text", number: "a number", object: "a map" };
const MAX_SHOWN_CHARS = 60;

function toShown(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? JSON.stringify(value).slice(0, MAX_SHOWN_CHARS)
    : nounOf(value);
}

function nounOf(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  return GIVEN_NOUNS[typeof value] ?? typeof value;
}
