import type { Log } from "../log.ts";
import type { GatewayFetch } from "./fetch.ts";
import type { GatewayClientSigning } from "./signing.ts";

/**
 * How long to wait for the gateway, in milliseconds. The gateway itself cuts every hook at its own deadline (5 s for an
 * interceptor, 60 s for an approver) and then answers, so these only end a call that the gateway leaves hanging. They
 * must be longer than a whole chain can take, or a verdict on its way is lost: the defaults have room for three hooks
 * that each use up their deadline, for the 30 s that the YAML hooks of an event may take
 * together, and a second for the way. Raise them with the gateway's own.
 */
export interface GatewayClientTimeouts {
  /** One call at an interceptor point. @default 47000 */
  readonly interceptorMs?: number | undefined;
  /** One call of `approveTool`; `checkTool` may take this and `interceptorMs`. @default 181000 */
  readonly approvalMs?: number | undefined;
  /** One call of `run`. @default 31000 */
  readonly lifecycleMs?: number | undefined;
  /** Handing over one batch of events. @default 5000 */
  readonly eventMs?: number | undefined;
}

/** What a call without an answer means. */
export interface GatewayFailurePolicy {
  /** At an interceptor point: go on as if there were no hooks, or abort the turn. @default "continue" */
  readonly interceptors?: "continue" | "abort_turn" | undefined;
  /** At an approval: nothing but denying is safe, so there is no other choice. @default "deny" */
  readonly approvals?: "deny" | undefined;
}

/** Options of `createGatewayClient`. */
export interface GatewayClientOptions {
  /** Where the gateway is, such as `http://127.0.0.1:8787`; without a path its `/rpc` is called. */
  readonly url: string;
  /** The bearer token. It is sent to `url` and nowhere else, and is in no error and no log. @default none */
  readonly token?: string | undefined;
  /** Signs each request, where the gateway knows the host by its signature. @default nothing is signed */
  readonly signing?: GatewayClientSigning | undefined;
  /** How to reach the gateway. @default the platform's fetch */
  readonly fetch?: GatewayFetch | undefined;
  readonly timeouts?: GatewayClientTimeouts | undefined;
  readonly failure?: GatewayFailurePolicy | undefined;
  /**
   * Whether plain http to another machine is allowed. Whoever is on the way could read what the agent says and answer
   * for its hooks. @default false
   */
  readonly allowInsecure?: boolean | undefined;
  /** The largest answer, in bytes. @default 16777216 (16 MiB) */
  readonly maxReplyBytes?: number | undefined;
  /** How many events may wait; when full the newest is dropped. @default 1024 */
  readonly maxQueuedEvents?: number | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
}
