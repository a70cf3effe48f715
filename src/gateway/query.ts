import * as z from "zod";
import { formatPath, type JsonPath } from "../config/index.ts";
import type { Refusal } from "./answer.ts";

/** How much of a name that is said twice is repeated, in characters. */
const MAX_NAME_CHARS = 80;

/** The schema of how many are on a page. */
export function limitSchema(max: number, fallback: number): z.ZodType<number> {
  const expected = `expected 1 to ${max}`;
  return z
    .string()
    .regex(/^\d{1,4}$/, expected)
    .transform(Number)
    .pipe(z.number().min(1, expected).max(max, expected))
    .default(fallback);
}

/** Refuses what says one thing twice: two readers could take two values, so neither counts. */
export function refuseTwice(path: JsonPath): Refusal {
  const name = formatPath(path).slice(0, MAX_NAME_CHARS);
  return { code: "ERR_INVALID_PARAMS", message: `${name}: expected once, got twice or more` };
}

/** The query of a request, in which no key is twice, or what is wrong with it. */
export function parseQuery<T extends object>(request: Request, schema: z.ZodType<T>): T | Refusal {
  const { searchParams } = new URL(request.url);
  const seen = new Set<string>();
  for (const key of searchParams.keys()) {
    if (seen.has(key)) return refuseTwice([key]);
    seen.add(key);
  }
  return parseFields(Object.fromEntries(searchParams), schema);
}

/** What a request says by name, or what is wrong with it. */
export function parseFields<T extends object>(given: unknown, schema: z.ZodType<T>): T | Refusal {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
  return { code: "ERR_INVALID_PARAMS", message: problems.join("; ") };
}
