export type { Authenticator, AuthRequest, GatewayToken, Principal, RequestProof, Scope } from "./auth.ts";
export type { GatewayLimits } from "./limit.ts";
export type { GatewayLifecycle } from "./session-hooks.ts";
export {
  createGatewayAuth,
  type CreateGatewayAuthOptions,
  createGatewayFromConfig,
  type GatewayFromConfigOptions,
  hasAuth,
} from "./from-config.ts";
export { createGateway, type Gateway, type RetirableGateway } from "./gateway.ts";
export type { GatewayAuth, GatewayOptions } from "./options.ts";
export { assertBindable, isLoopback, type PeerInfo } from "./origin.ts";
export { createMemoryReplayStore } from "../signing/replay.ts";
export { PageSessions, type PageSessionsOptions } from "./page/index.ts";
export type { GatewayHook } from "./pages.ts";
export {
  createReloader,
  type ReloadChange,
  type ReloaderOptions,
  type ReloadPort,
  type ReloadReport,
  type ReloadStatus,
} from "./reload.ts";
export { createReloadableGateway, type ReloadableGateway } from "./reloadable.ts";
export { answerRefusal, type Refusal } from "./answer.ts";
export type { MetricsPage, RecordPages } from "./records.ts";
export type { RpcMethod } from "./rpc.ts";
export {
  createJwtAuthenticator,
  createSignatureAuthenticator,
  type HostAuthOptions,
  type JwtIssuer,
  type SigningHost,
} from "./host-auth.ts";
export { createStartingGateway, type StartingGateway, type StartingGatewayOptions } from "./starting.ts";
export { withMargin } from "./timeout.ts";
