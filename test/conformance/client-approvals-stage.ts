import {
  createGatewayClient,
  type GatewayApprovals,
  type GatewayClient,
  type GatewayClientOptions,
  type GatewayFetch,
} from "../../src/client/index.ts";
import { isHookCallError, isHookgateError } from "../../src/errors.ts";
import type { Gateway } from "../../src/gateway/index.ts";
import { type ApprovalGateway, openApprovalGateway } from "./gateway-approvals-stage.ts";

/** Where the gateway seems to be. */
export const URL_TEXT = "http://127.0.0.1:8787";

/** The way to a gateway without a network between. */
export function fetchOf(gateway: Gateway): GatewayFetch {
  return (url, { body, ...init }) => gateway.fetch(new Request(url, { ...init, ...(body !== undefined && { body }) }));
}

/** A client of the gateway. */
export function clientOf(fetch: GatewayFetch, options: Partial<GatewayClientOptions> = {}): GatewayClient {
  return createGatewayClient({ url: URL_TEXT, fetch, ...options });
}

/** A gateway that asks people, and its client. */
export interface ClientStage extends ApprovalGateway {
  readonly people: GatewayApprovals;
}

/** Opens a {@link ClientStage}. */
export async function open(...given: Parameters<typeof openApprovalGateway>): Promise<ClientStage> {
  const stage = await openApprovalGateway(...given);
  return { ...stage, people: clientOf(fetchOf(stage.gateway)).approvals };
}

/** The kind of no-verdict, or the code, that a promise rejects with. */
export async function kindOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (isHookCallError(error)) return error.kind;
  return isHookgateError(error) ? error.code : `no error of ours: ${String(error)}`;
}
