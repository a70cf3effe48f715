/**
 * hookgate on Node.
 * @module
 */

export { type ChildProcessOptions, createSpawn } from "./child-process.ts";
export { createNodeFetch, createNodeGatewayClient, type NodeFetch, type NodeGatewayClientOptions } from "./client.ts";
export { createHookFiles, createTrustStore, type HookFilesOptions, type TrustStoreOptions } from "./hook-files.ts";
export { type GatewayListener, serveGateway, type ServeGatewayOptions, type ServeTimeouts } from "./serve.ts";
export { createShell, type ShellOptions } from "./shell.ts";
