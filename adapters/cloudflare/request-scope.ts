import { AsyncLocalStorage } from "node:async_hooks";
import { ConnectionLimit } from "../../src/transport/connection-limit.ts";
import type { ExchangeFetch } from "../../src/transport/fetch-exchange.ts";
import type { WorkerContext } from "./endpoint.ts";

/** How many requests Workers let one request have that wait for their headers. `wrangler dev` does not count them. */
const MAX_CONNECTIONS = 6;

interface RequestScope {
  readonly context: WorkerContext;
  readonly connections: ConnectionLimit;
}

const requests = new AsyncLocalStorage<RequestScope>();

/** Runs what belongs to one request. */
export function runInRequest<T>(context: WorkerContext, run: () => T): T {
  return requests.run({ context, connections: new ConnectionLimit(MAX_CONNECTIONS) }, run);
}

/** The request under way: no promise, timer or connection of one may be waited for by another. */
export function currentRequest(): object | undefined {
  return requests.getStore();
}

/** Keeps work of the request under way alive after its answer. */
export function waitUntil(work: Promise<unknown>): void {
  requests.getStore()?.context.waitUntil(work);
}

/** Makes a fetch that keeps to the platform's limit on the connections of the request under way. */
export function limitConnections(send: ExchangeFetch): ExchangeFetch {
  return (url, init) => (requests.getStore()?.connections.limit(send) ?? send)(url, init);
}
