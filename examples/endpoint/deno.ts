/**
 * A hook endpoint on Deno.
 *
 *   deno run --allow-net --allow-env examples/endpoint/deno.ts
 *
 * with HOOK_SECRET, HOOK_URL and HOOK_GATEWAY set. In your own project: import { serveEndpoint } from "npm:hookgate/deno",
 * or leave the adapter out: Deno.serve(endpoint.fetch), or `export default endpoint` for `deno serve`.
 */
import process from "node:process";
import { serveEndpoint } from "../../adapters/deno/index.ts";
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
