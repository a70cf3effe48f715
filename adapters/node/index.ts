/**
 * hookgate on Node.
 * @module
 */

export { type ChildProcessOptions, createSpawn } from "./child-process.ts";
export { createNodeFetch, createNodeGatewayClient, type NodeFetch, type NodeGatewayClientOptions } from "./client.ts";
export { type GatewayListener, serveGateway, type ServeGatewayOptions, type ServeTimeouts } from "./serve.ts";
