/**
 * A hook endpoint on Bun.
 *
 *   bun examples/endpoint/bun.ts
 *
 * with HOOK_SECRET, HOOK_URL and HOOK_GATEWAY set. In your own project: import { serveEndpoint } from "hookgate/bun".
 */
import { serveEndpoint } from "../../adapters/bun/index.ts";
import { createHookEndpoint } from "../../src/endpoint/index.ts";
import { policy } from "./policy.ts";

const { HOOK_SECRET, HOOK_URL, HOOK_GATEWAY, PORT = "8788" } = process.env;

const endpoint = createHookEndpoint(policy, {
  name: "approvals",
  url: HOOK_URL,
  gateway: HOOK_GATEWAY,
  secret: HOOK_SECRET,
  log: console,
});
const { url } = await serveEndpoint(endpoint, { port: Number(PORT) });
console.log(`listening on ${url}`);
