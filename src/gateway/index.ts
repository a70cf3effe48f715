export type { Authenticator, AuthRequest, Digest, GatewayToken, Principal, RequestProof, Scope } from "./auth.ts";
export {
  createGatewayAuth,
  type CreateGatewayAuthOptions,
  createGatewayFromConfig,
  type GatewayFromConfigOptions,
} from "./from-config.ts";
export { createGateway, type Gateway, type GatewayAuth, type GatewayLimits, type GatewayOptions } from "./gateway.ts";
export { isLoopback, type PeerInfo } from "./origin.ts";
export type { GatewayHook } from "./pages.ts";
export { answerRefusal, type Refusal } from "./answer.ts";
export type { RpcMethod } from "./rpc.ts";
export {
  createJwtAuthenticator,
  createSignatureAuthenticator,
  type HostAuthOptions,
  type JwtIssuer,
  type SigningHost,
} from "./host-auth.ts";
export { withMargin } from "./timeout.ts";
