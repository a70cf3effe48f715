import { formatPath, type JsonPath } from "./path.ts";
import type { Finding } from "./problem.ts";

/** The variables a config may use. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A config with its variables filled in. */
export interface Interpolated {
  readonly value: unknown;
  /** The paths of the strings that hold a value of the environment, or would have: never to be shown. */
  readonly fromEnvironment: ReadonlySet<string>;
  readonly findings: readonly Finding[];
}

/** Options of {@link interpolate}. */
export interface InterpolateOptions {
  readonly env: Environment;
  /** Whether a variable that is not set matters at a path. @default everywhere */
  readonly isNeeded?: (path: JsonPath) => boolean;
}

// `$${` first: it is how a literal `${` is written.
const REFERENCE = /\$\$\{|\$\{env:([^}]*)\}?/g;
const VARIABLE = /^[A-Za-z_]\w*$/;

/**
 * Replaces `${env:NAME}` in every string of a value, keys excepted; `$${` stands for `${`. Other uses of `${` stay as
 * they are: they are the shell's.
 */
export function interpolate(root: unknown, { env, isNeeded = () => true }: InterpolateOptions): Interpolated {
  const fromEnvironment = new Set<string>();
  const findings: Finding[] = [];

  function resolve(text: string, path: JsonPath): string {
    return text.replaceAll(REFERENCE, (reference: string, name: string | undefined) => {
      if (name === undefined) return "${";
      fromEnvironment.add(formatPath(path));
      const isWellFormed = reference.endsWith("}") && VARIABLE.test(name);
      const found = isWellFormed && Object.hasOwn(env, name) ? env[name] : undefined;
      if (found !== undefined) return found;
      const message = isWellFormed
        ? `the environment variable ${name} is not set`
        : "a variable is written ${env:NAME}, with a name of letters, digits and _";
      if (!isWellFormed || isNeeded(path)) findings.push({ at: path, message });
      return reference;
    });
  }

  function walk(value: unknown, path: JsonPath): unknown {
    if (typeof value === "string") return value.includes("${") ? resolve(value, path) : value;
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, [...path, key])]));
  }

  return { value: walk(root, []), fromEnvironment, findings };
}
