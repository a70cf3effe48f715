/**
 * A hook endpoint on AWS Lambda, behind a function URL or API Gateway. HOOK_SECRET, HOOK_URL and HOOK_GATEWAY are the
 * function's environment; the handler is `lambda.handler`. Let the function's own timeout be longer than the gateway's.
 *
 * In your own project: import { createLambdaHandler } from "hookgate/lambda".
 */
import { createLambdaHandler } from "../../adapters/lambda/index.ts";
import { createHookEndpoint } from "../../src/endpoint/index.ts";
import { policy } from "./policy.ts";

const { HOOK_SECRET, HOOK_URL, HOOK_GATEWAY } = process.env;

export const handler = createLambdaHandler(
  createHookEndpoint(policy, {
    name: "approvals",
    url: HOOK_URL,
    gateway: HOOK_GATEWAY,
    secret: HOOK_SECRET,
    log: console,
  }),
);
