export { createGatewayClient } from "./client.ts";
export type { GatewayFetch, GatewayRequest, GatewayResponse } from "./fetch.ts";
export type { GatewayClientOptions, GatewayClientTimeouts, GatewayFailurePolicy } from "./options.ts";
export type { GatewayClientSigning } from "./signing.ts";
