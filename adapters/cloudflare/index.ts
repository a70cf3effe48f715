/**
 * hookgate on Cloudflare Workers.
 * @module
 */

export { createDurableApprovalStore, type DurableApprovalStoreOptions } from "./approvals.ts";
export { ApprovalsObject, type ApprovalRow, type ChangedRow, type RowCreation } from "./approvals-object.ts";
export { createEndpointWorker, type EndpointWorker, type WorkerContext } from "./endpoint.ts";
export { createGatewayWorker, type GatewayEnv, type GatewayWorkerOptions } from "./gateway.ts";
export { createReplayStore, ReplayShard } from "./replay.ts";
