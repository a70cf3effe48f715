import { hash } from "node:crypto";
import type { ApprovalTeller } from "../../src/approvals/index.ts";
import type { GatewayStore, HookConnection, HookPorts } from "../../src/config/index.ts";
import { createEdgeGateway, type EdgeGateway, type EdgeGatewayOptions } from "../../src/gateway/edge.ts";
import { createFetchExchange, type ExchangeFetch, isFetchBinding } from "../../src/transport/fetch-exchange.ts";
import { type ApprovalsObject, createDurableApprovalStore, log } from "./approvals.ts";
import type { EndpointWorker, WorkerContext } from "./endpoint.ts";
import { createReplayStore, type ReplayShard } from "./replay.ts";
import { currentRequest, limitConnections, runInRequest, waitUntil } from "./request-scope.ts";

/** What a gateway is bound to: variables, secrets and services, by name. */
export interface GatewayEnv {
  /** The config: a table, or JSON text. */
  readonly HOOKGATE_CONFIG?: unknown;
  /** `1` on the developer's own machine. */
  readonly HOOKGATE_DEV?: unknown;
  /** Where signed requests of hosts are remembered; without it each isolate remembers its own. */
  readonly REPLAY?: DurableObjectNamespace<ReplayShard>;
  readonly [name: string]: unknown;
}

/** Options of {@link createGatewayWorker}. */
export interface GatewayWorkerOptions extends Pick<EdgeGatewayOptions, "builtins" | "hooksYaml"> {
  /**
   * The config, such as a JSON module that is bundled, or its text. Secrets in it are `${env:NAME}`.
   * @default the variable `HOOKGATE_CONFIG`: a table, or JSON text
   */
  readonly config?: string | object | undefined;
}

/** A Worker that serves a gateway. */
export type GatewayWorker = EndpointWorker<GatewayEnv> & ApprovalTeller<GatewayEnv, WorkerContext>;

/**
 * Makes a Worker of a gateway, which is built with the first request, once for each isolate. Without authentication it
 * serves only where the variable `HOOKGATE_DEV` is `1`, and even then only this machine, for `wrangler dev`.
 */
export function createGatewayWorker(options: GatewayWorkerOptions = {}): GatewayWorker {
  let gateway: EdgeGateway | undefined;
  const open = (env: GatewayEnv): EdgeGateway =>
    createEdgeGateway({
      ...options,
      config: options.config ?? env.HOOKGATE_CONFIG,
      configName: "HOOKGATE_CONFIG",
      env,
      isLocal: env.HOOKGATE_DEV === "1",
      ports: createHookPorts(env),
      fetch: limitConnections((url, init) => fetch(url, init)),
      records: { hash: (text) => hash("sha256", text, "hex"), writeLine: (line) => console.log(line) },
      approvals: {
        stores: ["durable_object"],
        open: (address, { keepMs }) => openApprovals(env[address.target], keepMs),
      },
      replay: env.REPLAY && createReplayStore(env.REPLAY),
      log,
    });
  return {
    fetch(request, env, context) {
      const opened = (gateway ??= open(env));
      // Cloudflare sets the header itself; behind a service binding there is none.
      const remoteAddress = request.headers.get("cf-connecting-ip") ?? undefined;
      const answering = runInRequest(context, () => opened.fetch(request, { remoteAddress }));
      // A client that leaves would otherwise end the work where it stands, and no `finally` of it would run.
      context.waitUntil(answering);
      return answering;
    },
    tellApprovals(_, env, context) {
      return runInRequest(context, () => (gateway ??= open(env)).tellApprovals());
    },
  };
}

function openApprovals(namespace: unknown, keepMs: number): GatewayStore | undefined {
  return isApprovalsNamespace(namespace) ? createDurableApprovalStore({ namespace, keepMs }) : undefined;
}

/** Of which class its objects are cannot be seen from here: the first call to one of another fails. */
function isApprovalsNamespace(value: unknown): value is DurableObjectNamespace<ApprovalsObject> {
  return typeof value === "object" && value !== null && "getByName" in value && typeof value.getByName === "function";
}

function createHookPorts(env: GatewayEnv): HookPorts {
  return {
    connect: () => connectBy((url, init) => fetch(url, init)),
    bind(name) {
      const service = env[name];
      return isFetchBinding(service) ? connectBy((url, init) => service.fetch(url, init)) : undefined;
    },
    platform: { waitUntil, currentRequest, isolatesRequests: true },
    // No address that a name resolves to can be checked here; `global_fetch_strictly_public` does what can be done.
    allowAddress: false,
  };
}

function connectBy(send: ExchangeFetch): HookConnection {
  return { exchange: createFetchExchange({ fetch: limitConnections(send) }), fetch: limitConnections(send) };
}
