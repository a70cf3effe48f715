import type { BuiltinRegistry } from "../picoclaw/index.ts";
import { type JsonPath, valueAt } from "./path.ts";
import { type Finding, meant, toFindings } from "./problem.ts";

/** Options of {@link checkMeaning}. */
export interface CheckOptions {
  readonly builtins: BuiltinRegistry;
  /** Whether the value at a path came from the environment. */
  readonly isFromEnvironment: (path: string) => boolean;
}

/**
 * What a schema cannot say: whether each hook that is loaded can be. The value may have any shape, so that these
 * problems are reported together with the schema's; what has the wrong type is left to the schema.
 */
export function checkMeaning(root: unknown, options: CheckOptions): readonly Finding[] {
  const builtins = entriesAt(root, ["hooks", "builtins"]);
  const processes = entriesAt(root, ["hooks", "processes"]);
  return [
    ...[...builtins, ...processes].flatMap(([at]) => checkName(at)),
    ...builtins.filter(isLoaded(root)).flatMap(([at, entry]) => checkBuiltin(at, entry, options)),
    ...processes.filter(isLoaded(root)).flatMap(([at, entry]) => checkProcess(at, entry)),
    ...checkNamesApart(builtins.filter(isLoaded(root)), processes.filter(isLoaded(root))),
    ...checkTokens(root),
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

type Entry = readonly [at: JsonPath, entry: unknown];

function isLoaded(root: unknown): (entry: Entry) => boolean {
  return ([at]) => isNeeded(root, at);
}

function entriesAt(root: unknown, at: JsonPath): readonly Entry[] {
  const value = valueAt(root, at);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).map(([name, entry]) => [[...at, name], entry]);
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

function checkProcess(at: JsonPath, entry: unknown): readonly Finding[] {
  if (typeof entry !== "object" || entry === null) return [];
  const findings: Finding[] = [];
  const command = valueAt(entry, ["command"]);
  const program = valueAt(command, [0]) ?? "";
  if ((command === undefined || Array.isArray(command)) && program === "") {
    findings.push({ at: [...at, "command"], message: 'missing: the program to run, such as ["python3", "gate.py"]' });
  }
  const isEmpty = (key: string): boolean => {
    const list = valueAt(entry, [key]);
    return list === undefined || (Array.isArray(list) && list.length === 0);
  };
  if (isEmpty("observe") && isEmpty("intercept")) {
    findings.push({ at, message: 'the hook is never called: it has neither "observe" nor "intercept"' });
  }
  return findings;
}

function checkNamesApart(builtins: readonly Entry[], processes: readonly Entry[]): readonly Finding[] {
  const names = new Set(builtins.map(([at]) => at.at(-1)));
  return processes
    .filter(([at]) => names.has(at.at(-1)))
    .map(([at]) => ({ at, message: "a built-in hook has the same name; all hooks share one name space" }));
}

function checkTokens(root: unknown): readonly Finding[] {
  const tokens = valueAt(root, ["gateway", "auth", "tokens"]);
  if (!Array.isArray(tokens)) return [];
  return ["name", "sha256"].flatMap((key) => {
    const values = tokens.map((token: unknown) => String(valueAt(token, [key])));
    // Hex digits are the same in either case; names are not.
    const same = key === "sha256" ? values.map((value) => value.toLowerCase()) : values;
    return same.flatMap((value, index) => {
      if (value === "undefined" || same.indexOf(value) === index) return [];
      return [{ at: ["gateway", "auth", "tokens", index, key], message: `another token has the same ${key}` }];
    });
  });
}
