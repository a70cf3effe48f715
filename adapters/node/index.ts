/**
 * hookgate on Node.
 * @module
 */

export { hashBody } from "./body-hash.ts";
export { type ChildProcessOptions, createSpawn } from "./child-process.ts";
export { createNodeFetch, createNodeGatewayClient, type NodeFetch, type NodeGatewayClientOptions } from "./client.ts";
export type { GuardedAgentOptions, ResolveName } from "./guarded-agent.ts";
export { createHttpExchange } from "./http-exchange.ts";
export { type GatewayListener, serveGateway, type ServeGatewayOptions, type ServeTimeouts } from "./serve.ts";
