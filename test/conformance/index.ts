import { attemptsCases } from "./attempts.cases.ts";
import type { Case } from "./case.ts";
import { errorsCases } from "./errors.cases.ts";
import { turnCases } from "./turn.cases.ts";

/** Every conformance case, in the order in which it runs. */
export const cases: readonly Case[] = [...attemptsCases, ...errorsCases, ...turnCases];
