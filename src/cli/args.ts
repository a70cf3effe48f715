import { nearestName } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import type { CliHost } from "./host.ts";

/** A command line that cannot be understood. */
export class UsageError extends HookgateError {
  constructor(message: string) {
    super("ERR_CONFIG", message);
  }
}

/** A flag of a command. */
export interface OptionSpec {
  /** What stands for its value in the help; a flag without one is a switch. */
  readonly value?: string;
  readonly short?: string;
  /** Whether it may be given more than once. */
  readonly isRepeatable?: true;
  readonly help: string;
}

/** The flags of a command, by name without dashes. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** A command line as a command reads it. */
export class Args {
  readonly positionals: readonly string[];
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(positionals: readonly string[], values: ReadonlyMap<string, readonly string[]>) {
    this.positionals = positionals;
    this.#values = values;
  }

  /** The names of the flags that were given. */
  get names(): readonly string[] {
    return [...this.#values.keys()];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The flag's value; undefined when it was not given. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  /** Every value of a flag that may be repeated. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }
}

const HELP: OptionSpec = { short: "h", help: "Shows this help." };

/** A command's flags with those that every command has. */
export function withHelp(options: OptionSpecs): OptionSpecs {
  return { ...options, help: HELP };
}

/**
 * Reads the words after a command's name.
 * @throws {UsageError} for a flag that is not known, lacks its value, has one too many or is there twice
 */
export function parseArgs(words: readonly string[], specs: OptionSpecs, host: CliHost): Args {
  const options = Object.entries(specs).map(([name, { value, short }]) => {
    const type: "string" | "boolean" = value === undefined ? "boolean" : "string";
    return [name, short === undefined ? { type } : { type, short }] as const;
  });
  const positionals: string[] = [];
  const values = new Map<string, readonly string[]>();
  for (const token of host.tokenize(words, Object.fromEntries(options))) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
    if (spec === undefined) throw new UsageError(describeUnknown(token.rawName, token.name, specs));
    const given = values.get(token.name);
    if (given !== undefined && spec.isRepeatable !== true) throw new UsageError(`${token.rawName} is there twice`);
    values.set(token.name, [...(given ?? []), readValue(token, spec)]);
  }
  return new Args(positionals, values);
}

interface GivenOption {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function readValue({ rawName, value, inlineValue }: GivenOption, spec: OptionSpec): string {
  if (spec.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
    return "";
  }
  // A lone dash is stdin; anything else with a dash in front is more likely the next flag than this one's value.
  const isNextFlag = inlineValue !== true && value !== undefined && /^-./.test(value);
  if (value === undefined || value === "" || isNextFlag) {
    const hint = isNextFlag ? `; for a value that begins with a dash write ${rawName}=${spec.value}` : "";
    throw new UsageError(`${rawName} needs a value: ${rawName} ${spec.value}${hint}`);
  }
  return value;
}

function describeUnknown(rawName: string, name: string, specs: OptionSpecs): string {
  const nearest = nearestName(name, Object.keys(specs));
  const hint = nearest === undefined ? "" : `; did you mean --${nearest}?`;
  const known = Object.keys(specs).map((flag) => `--${flag}`);
  return `unknown flag ${rawName}${hint} (known: ${known.join(", ")})`;
}
