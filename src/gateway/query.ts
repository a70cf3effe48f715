import * as z from "zod";
import type { Refusal } from "./answer.ts";

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

/** The query of a request, or what is wrong with it. */
export function parseQuery<T extends object>(request: Request, schema: z.ZodType<T>): T | Refusal {
  return parseFields(Object.fromEntries(new URL(request.url).searchParams), schema);
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
