/**
 * The gateway as a Worker: the `main` of a wrangler.toml.
 * @module
 */

import { createGatewayWorker, type GatewayWorker } from "./gateway.ts";

export { ApprovalsObject } from "./approvals.ts";
export { ReplayShard } from "./replay.ts";

const worker: GatewayWorker = createGatewayWorker();
/** Answers with the gateway that `HOOKGATE_CONFIG` describes. */
export default worker;
