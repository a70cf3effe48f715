import type { BuiltinRegistry } from "../picoclaw/index.ts";
import type { ApprovalStoreKind } from "./approvals-schema.ts";
import { checkApprovals } from "./check-approvals.ts";
import { checkGateway } from "./check-gateway.ts";
import { checkOperation } from "./check-operation.ts";
import { checkRecords } from "./check-records.ts";
import { checkRemote, checkSharedSecrets } from "./check-remote.ts";
import { entriesAt, type Entry, isListed, textAt } from "./entry.ts";
import { type JsonPath, valueAt } from "./path.ts";
import { type Finding, meant, toFindings } from "./problem.ts";
import type { RecordPlace } from "./records-schema.ts";

/** Options of {@link checkMeaning}. */
export interface CheckOptions {
  readonly builtins: BuiltinRegistry;
  /** Whether the value at a path came from the environment. */
  readonly isFromEnvironment: (path: string) => boolean;
  /** Where records can go. */
  readonly recordPlaces: readonly RecordPlace[];
  /** Where approvals can be kept. */
  readonly approvalStores: readonly ApprovalStoreKind[];
}

/**
 * What a schema cannot say: whether each hook that is loaded can be. The value may have any shape, so that these
 * problems are reported together with the schema's; what has the wrong type is left to the schema.
 */
export function checkMeaning(root: unknown, options: CheckOptions): readonly Finding[] {
  const builtins = entriesAt(root, ["hooks", "builtins"]);
  const processes = entriesAt(root, ["hooks", "processes"]);
  const loaded = processes.filter(isLoaded(root));
  return [
    ...[...builtins, ...processes].flatMap(([at]) => checkName(at)),
    ...builtins.filter(isLoaded(root)).flatMap(([at, entry]) => checkBuiltin(at, entry, options)),
    ...loaded.flatMap((entry) => checkProcess(entry, root)),
    ...checkSharedSecrets(loaded),
    ...checkNamesApart(builtins.filter(isLoaded(root)), loaded),
    ...checkGateway(root),
    ...checkRecords(root, options.recordPlaces),
    ...checkApprovals(root, options.approvalStores),
  ];
}

/** Whether a place in a config is part of something that is loaded. */
export function isNeeded(root: unknown, path: JsonPath): boolean {
  const [top, kind, name] = path;
  if (top !== "hooks") return true;
  if (valueAt(root, ["hooks", "enabled"]) === false) return false;
  const isEntry = (kind === "builtins" || kind === "processes") && name !== undefined;
  return !isEntry || valueAt(root, [top, kind, name, "enabled"]) === true;
}

function isLoaded(root: unknown): (entry: Entry) => boolean {
  return ([at]) => isNeeded(root, at);
}

function checkName(at: JsonPath): readonly Finding[] {
  const name = at.at(-1);
  if (name === "") return [{ at, message: "a hook's name must not be empty" }];
  // It is the one key that JavaScript objects do not keep as they are given it.
  return name === "__proto__" ? [{ at, message: "this name cannot be used" }] : [];
}

function checkBuiltin(at: JsonPath, entry: unknown, { builtins, isFromEnvironment }: CheckOptions): readonly Finding[] {
  const name = String(at.at(-1));
  const schema = builtins.schemaOf(name);
  const allowed = builtins.names;
  if (schema === undefined) return [{ at, message: "unknown built-in hook", allowed, ...meant(name, allowed) }];
  const value = valueAt(entry, ["config"]) ?? {};
  const { error } = schema.safeParse(value);
  return toFindings(error?.issues ?? [], { schema, value, base: [...at, "config"], isFromEnvironment });
}

function checkProcess([at, entry]: Entry, root: unknown): readonly Finding[] {
  if (typeof entry !== "object" || entry === null) return [];
  const findings: Finding[] = [];
  const transport = valueAt(entry, ["transport"]) ?? "stdio";
  if (transport === "stdio") findings.push(...checkCommand(at, entry));
  if (transport === "http" || transport === "service") findings.push(...checkRemote([at, entry], root));
  if (isListed(entry, "observe", 0) && isListed(entry, "intercept", 0)) {
    findings.push({ at, message: 'the hook is never called: it has neither "observe" nor "intercept"' });
  }
  return [...findings, ...checkDialect([at, entry]), ...checkOperation([at, entry], root)];
}

function checkCommand(at: JsonPath, entry: object): readonly Finding[] {
  const command = valueAt(entry, ["command"]);
  const program = valueAt(command, [0]) ?? "";
  if ((command !== undefined && !Array.isArray(command)) || program !== "") return [];
  return [{ at: [...at, "command"], message: 'missing: the program to run, such as ["python3", "gate.py"]' }];
}

const DOCUMENTED: readonly unknown[] = ["before_tool", "approve_tool"];

function checkDialect([at, entry]: Entry): readonly Finding[] {
  const intercept = valueAt(entry, ["intercept"]);
  if (textAt(entry, "dialect") !== "picoclaw-docs" || !Array.isArray(intercept)) return [];
  return intercept.flatMap((point: unknown, index) => {
    if (DOCUMENTED.includes(point)) return [];
    return [{ at: [...at, "intercept", index], message: 'the dialect "picoclaw-docs" has no form for this point' }];
  });
}

function checkNamesApart(builtins: readonly Entry[], processes: readonly Entry[]): readonly Finding[] {
  const names = new Set(builtins.map(([at]) => at.at(-1)));
  return processes
    .filter(([at]) => names.has(at.at(-1)))
    .map(([at]) => ({ at, message: "a built-in hook has the same name; all hooks share one name space" }));
}
