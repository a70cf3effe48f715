/**
 * A hook endpoint on Cloudflare Workers. `HOOK_SECRET` is a secret, `HOOK_URL` and `HOOK_GATEWAY` are variables of the
 * Worker. The replay store here is in memory, so a recorded request counts once more in each isolate for 90 s: pass
 * `replay` with a store on a Durable Object where that matters.
 *
 * In your own project: import { createEndpointWorker } from "hookgate/cloudflare/endpoint".
 */
import { createEndpointWorker } from "../../adapters/cloudflare/index.ts";
import { createHookEndpoint } from "../../src/endpoint/index.ts";
import { policy } from "./policy.ts";

interface Env {
  readonly HOOK_SECRET: string;
  readonly HOOK_URL: string;
  readonly HOOK_GATEWAY: string;
}

export default createEndpointWorker<Env>(({ HOOK_SECRET, HOOK_URL, HOOK_GATEWAY }) =>
  createHookEndpoint(policy, {
    name: "approvals",
    url: HOOK_URL,
    gateway: HOOK_GATEWAY,
    secret: HOOK_SECRET,
    log: console,
  }),
);
