/**
 * The gateway as a Worker: the `main` of a wrangler.toml.
 * @module
 */

import { createGatewayWorker, type GatewayEnv } from "./gateway.ts";
import type { EndpointWorker } from "./endpoint.ts";

export { ApprovalsObject } from "./approvals.ts";
export { ReplayShard } from "./replay.ts";

const worker: EndpointWorker<GatewayEnv> = createGatewayWorker();
/** Answers with the gateway that `HOOKGATE_CONFIG` describes. */
export default worker;
