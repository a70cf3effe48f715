import type { BuiltinRegistry } from "../picoclaw/index.ts";
import type { ApprovalStoreKind } from "./approvals-schema.ts";
import { checkMeaning, isNeeded } from "./check.ts";
import { toOperationNotes } from "./check-operation.ts";
import { type Environment, interpolate } from "./interpolate.ts";
import { type JsonDocument, readJson } from "./json.ts";
import { toOwnPart } from "./own-part.ts";
import { formatPath, valueAt } from "./path.ts";
import { ConfigError, type ConfigProblem, type Finding, toFindings } from "./problem.ts";
import type { RecordPlace } from "./records-schema.ts";
import { type ConfigFile, fileSchema } from "./schema.ts";

/** Options of {@link parseConfig}. */
export interface ParseConfigOptions {
  /** The variables that `${env:NAME}` may use. */
  readonly env: Environment;
  readonly builtins: BuiltinRegistry;
  /** The file's name, for messages. @default "config" */
  readonly file?: string | undefined;
  /** Where records can go on this runtime; a config that wants them elsewhere is refused. @default as on Node */
  readonly recordPlaces?: readonly RecordPlace[] | undefined;
  /** Where approvals can be kept on this runtime. @default as on Node */
  readonly approvalStores?: readonly ApprovalStoreKind[] | undefined;
}

/** The longest config that is read, in UTF-16 code units: while it is looked at, nothing else is answered. */
export const MAX_CONFIG_CHARS = 4_194_304;

const NODE_PLACES: readonly RecordPlace[] = ["sqlite", "file", "http", "console"];

const NODE_STORES: readonly ApprovalStoreKind[] = ["memory", "sqlite", "redis"];

/** A config that can be used. */
export interface Config extends ConfigFile {
  /** What a person should know about how the file was read, one sentence each. */
  readonly notes: readonly string[];
  /** The paths of the strings that hold a value of the environment, such as `hooks.processes.gate.command[0]`. */
  readonly fromEnvironment: ReadonlySet<string>;
}

/**
 * Reads a config file: hookgate's own, or a whole PicoClaw config file as it stands.
 * @throws {ConfigError} with every problem at once
 */
export function parseConfig(text: string, options: ParseConfigOptions): Config {
  const { env, builtins, file, recordPlaces = NODE_PLACES, approvalStores = NODE_STORES } = options;
  if (text.length > MAX_CONFIG_CHARS) {
    throw new ConfigError([{ path: "$", message: `longer than ${MAX_CONFIG_CHARS} characters` }], file);
  }
  const document = readJson(text);
  if ("fault" in document) {
    const { fault, line, column } = document;
    throw new ConfigError([{ path: "$", message: `not JSON: ${fault}`, line, column }], file);
  }
  const { root: own, notes, findings } = toOwnPart(document.value);
  const root = withSigningKey(own, env);
  const filled = interpolate(root, { env, isNeeded: (path) => isNeeded(root, path) });
  const isFromEnvironment = (path: string): boolean => filled.fromEnvironment.has(path);
  const { data, error } = fileSchema.safeParse(filled.value);
  const shape = toFindings(error?.issues ?? [], { schema: fileSchema, value: filled.value, isFromEnvironment });
  const meaning = checkMeaning(filled.value, { builtins, isFromEnvironment, recordPlaces, approvalStores });
  // A variable that is not set is one problem, not also that of a value nobody wrote.
  const unset = new Set(filled.findings.map(({ at }) => formatPath(at)));
  const others = [...shape, ...meaning].filter(({ at }) => !unset.has(formatPath(at)));
  const problems = [...toDuplicates(document), ...toProblems([...findings, ...filled.findings, ...others], document)];
  if (data === undefined || problems.length > 0) throw new ConfigError(problems.toSorted(byPlace), file);
  return { ...data, notes: [...notes, ...toOperationNotes(data)], fromEnvironment: filled.fromEnvironment };
}

const SIGNING_KEY = "HOOKGATE_SIGNING_KEY";

/** The gateway's key comes from the environment where the file has none. */
function withSigningKey(root: unknown, env: Environment): unknown {
  const gateway = valueAt(root, ["gateway"]) ?? {};
  const isKeyless = typeof gateway === "object" && gateway !== null && !("signing_key" in gateway);
  const isSet = Object.hasOwn(env, SIGNING_KEY) && (env[SIGNING_KEY] ?? "") !== "";
  if (!isSet || !isKeyless || typeof root !== "object" || root === null || Array.isArray(root)) return root;
  return { ...root, gateway: { ...gateway, signing_key: `\${env:${SIGNING_KEY}}` } };
}

function toDuplicates({ duplicates }: JsonDocument): readonly ConfigProblem[] {
  const message = "the key is there twice";
  return duplicates.map(({ path, line, column }) => ({ path: formatPath(path), message, line, column }));
}

function toProblems(findings: readonly Finding[], document: JsonDocument): readonly ConfigProblem[] {
  return findings.map(({ at, ...finding }) => ({ path: formatPath(at), ...finding, ...document.positionOf(at) }));
}

function byPlace(a: ConfigProblem, b: ConfigProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
