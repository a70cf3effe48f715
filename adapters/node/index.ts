/**
 * hookgate on Node.
 * @module
 */

export { type ChildProcessOptions, createSpawn } from "./child-process.ts";
export { createNodeFetch, createNodeGatewayClient, type NodeFetch, type NodeGatewayClientOptions } from "./client.ts";
export { nodeCrypto } from "./crypto.ts";
export {
  createNodeHookEndpoint,
  type EndpointListener,
  serveEndpoint,
  type ServeEndpointOptions,
} from "./serve-endpoint.ts";
export { type GatewayListener, serveGateway, type ServeGatewayOptions, type ServeTimeouts } from "./serve.ts";
