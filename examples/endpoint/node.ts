/**
 * A hook endpoint on Node.
 *
 *   export HOOK_SECRET="$(openssl rand -base64 32)" HOOK_URL=https://hooks.example.com/hook HOOK_GATEWAY=gateway
 *   node examples/endpoint/node.ts
 *
 * In your own project: import { createNodeHookEndpoint, serveEndpoint } from "hookgate/node".
 */
import { createNodeHookEndpoint, serveEndpoint } from "../../adapters/node/index.ts";
import { policy } from "./policy.ts";

const { HOOK_SECRET, HOOK_URL, HOOK_GATEWAY, PORT = "8788" } = process.env;

const endpoint = createNodeHookEndpoint(policy, {
  name: "approvals",
  url: HOOK_URL,
  gateway: HOOK_GATEWAY,
  secret: HOOK_SECRET,
  log: console,
});
const listener = await serveEndpoint(endpoint, { port: Number(PORT) });
process.once("SIGTERM", () => void listener.close());
console.log(`listening on ${listener.url}`);
