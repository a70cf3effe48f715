/**
 * hookgate on Cloudflare Workers.
 * @module
 */

export { ApprovalsObject, createDurableApprovalStore, type DurableApprovalStoreOptions } from "./approvals.ts";
export { createEndpointWorker, type EndpointWorker, type WorkerContext } from "./endpoint.ts";
export { createGatewayWorker, type GatewayEnv, type GatewayWorker, type GatewayWorkerOptions } from "./gateway.ts";
export { createReplayStore, ReplayShard } from "./replay.ts";
