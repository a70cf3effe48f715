import type { ApprovalManager, NotificationStatus } from "../approvals/index.ts";
import type { Log } from "../log.ts";
import type { HookHost } from "../picoclaw/index.ts";
import type { ApprovalLinks } from "../signing/approval-link.ts";
import type { Jwks } from "../signing/jwk.ts";
import type { CryptoPort } from "../signing/crypto.ts";
import type { Authenticator, GatewayToken } from "./auth.ts";
import type { GatewayLimits } from "./limit.ts";
import type { GatewayHook } from "./pages.ts";
import type { PageSessions } from "./page/index.ts";
import type { RecordPages } from "./records.ts";
import type { ReloadPort } from "./reload.ts";
import type { RpcMethod } from "./rpc.ts";
import type { GatewayLifecycle } from "./session-hooks.ts";

/** Options of `createGateway`. */
export interface GatewayOptions extends RecordPages {
  /** Answers the calls. Closing it is the caller's affair. */
  readonly host: HookHost;
  /** The mounted hooks, for `/readyz` and `/v1/hooks`. */
  readonly hooks: () => readonly GatewayHook[];
  /**
   * Who may call. Without it only this machine may, by a loopback name; otherwise anyone who reaches the gateway could
   * read what agents say and answer for their hooks. @default none
   */
  readonly auth?: GatewayAuth | undefined;
  readonly limits?: GatewayLimits | undefined;
  /**
   * Origins whose pages may call, each such as `https://example.com`. Any other `Origin` is refused, so that a page in
   * somebody's browser cannot reach the gateway. @default none, and no CORS headers
   */
  readonly allowedOrigins?: readonly string[] | undefined;
  /**
   * The hooks of `hooks.yaml`, for `/v1/hooks`, and the sessions that may register more with scope `register`. @default
   * none: there are no such paths
   */
  readonly lifecycle?: GatewayLifecycle | undefined;
  /**
   * Asks people; for `/v1/approvals`, `/v1/grants`, `/readyz` and the pages at `/approvals`. Closing it is the caller's
   * affair. @default none
   */
  readonly approvals?: ApprovalManager | undefined;
  /** Signs the links with which people decide approvals without signing in. @default no link is good */
  readonly links?: ApprovalLinks | undefined;
  /** How the notifications of approvals fare, for `/v1/hooks` and `/approvals`. @default nobody is told */
  readonly notifications?: (() => readonly NotificationStatus[] | Promise<readonly NotificationStatus[]>) | undefined;
  /** Further JSON-RPC methods, by name, such as `hook.run`; each needs scope `call`. @default none */
  readonly methods?: Readonly<Record<string, RpcMethod>> | undefined;
  /** The gateway's public keys, which it shows to everyone. @default none: there is no such path */
  readonly jwks?: Jwks | undefined;
  /** Those who signed in to the pages, where gateways that follow each other share them. @default its own */
  readonly sessions?: PageSessions | undefined;
  /** Reads the configuration again, for `POST /v1/reload`. @default there is no such path */
  readonly reload?: ReloadPort | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/** How a gateway knows its callers. */
export interface GatewayAuth {
  readonly tokens?: readonly GatewayToken[] | undefined;
  /** Further ways, asked in order after the tokens; the first that knows the caller decides. @default none */
  readonly authenticators?: readonly Authenticator[] | undefined;
  /** Hashes the tokens. @default WebCrypto, which on Node costs a thread hop per request */
  readonly crypto?: CryptoPort | undefined;
}
