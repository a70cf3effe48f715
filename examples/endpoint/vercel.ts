/**
 * A hook endpoint on Vercel, as `api/hook.ts`: a function there is an object with a web-standard `fetch`, and so is an
 * endpoint. HOOK_SECRET, HOOK_URL and HOOK_GATEWAY are the project's environment.
 *
 * In your own project: import { createHookEndpoint } from "hookgate/endpoint".
 */
import { createHookEndpoint } from "../../src/endpoint/index.ts";
import { policy } from "./policy.ts";

const { HOOK_SECRET, HOOK_URL, HOOK_GATEWAY } = process.env;

export default createHookEndpoint(policy, {
  name: "approvals",
  url: HOOK_URL,
  gateway: HOOK_GATEWAY,
  secret: HOOK_SECRET,
  log: console,
});
