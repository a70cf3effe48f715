import type { Case } from "./case.ts";
import { errorsCases } from "./errors.cases.ts";
import { dialectCases } from "./dialect.cases.ts";
import { httpEventCases } from "./http-event.cases.ts";
import { httpHelloCases } from "./http-hello.cases.ts";
import { httpLimitCases } from "./http-limit.cases.ts";
import { httpReplyCases } from "./http-reply.cases.ts";
import { httpRetryCases } from "./http-retry.cases.ts";
import { httpUrlCases } from "./http-url.cases.ts";
import { httpCases } from "./http.cases.ts";
import { signingCases } from "./signing.cases.ts";
import { trustCases } from "./trust.cases.ts";
import { turnCases } from "./turn.cases.ts";

/** Every conformance case, in the order in which it runs. */
export const cases: readonly Case[] = [
  ...errorsCases,
  ...httpCases,
  ...httpReplyCases,
  ...httpRetryCases,
  ...httpHelloCases,
  ...httpLimitCases,
  ...httpEventCases,
  ...httpUrlCases,
  ...signingCases,
  ...turnCases,
  ...trustCases,
  ...dialectCases,
];
