import { AsyncLocalStorage } from "node:async_hooks";
import { limitPerRequest } from "../../src/transport/connection-limit.ts";
import type { ExchangeFetch } from "../../src/transport/fetch-exchange.ts";
import type { WorkerContext } from "./endpoint.ts";

const requests = new AsyncLocalStorage<WorkerContext>();

/** Runs what belongs to one request. */
export function runInRequest<T>(context: WorkerContext, run: () => T): T {
  return requests.run(context, run);
}

/** The request under way: no promise, timer or connection of one may be waited for by another. */
export function currentRequest(): object | undefined {
  return requests.getStore();
}

/** Keeps work of the request under way alive after its answer. */
export function waitUntil(work: Promise<unknown>): void {
  requests.getStore()?.waitUntil(work);
}

/**
 * Makes a fetch that keeps to what Workers let one request have: six requests of its own that wait for their headers.
 * `wrangler dev` does not count them.
 */
export const limitConnections: (send: ExchangeFetch) => ExchangeFetch = limitPerRequest({
  maxConnections: 6,
  currentRequest,
});
