import type { HookEndpoint } from "../../src/endpoint/hook-endpoint.ts";

/** What a Worker's `fetch` is given of the request's life. */
export interface WorkerContext {
  waitUntil(work: Promise<unknown>): void;
}

/** A Worker that serves one hook endpoint. */
export interface EndpointWorker<Env> {
  fetch(request: Request, env: Env, context: WorkerContext): Promise<Response>;
}

/**
 * Makes a Worker of a hook endpoint. The endpoint is made with the first request, once for each isolate, because secrets
 * and bindings are known only then. Events are answered at once and handled on `waitUntil`, which Cloudflare ends 30 s
 * after the answer.
 * @param create - Makes the endpoint from the Worker's secrets and bindings. Give it a replay store that all isolates
 * share, such as a Durable Object: with the one in memory a recorded request counts once more in each isolate for 90 s.
 */
export function createEndpointWorker<Env>(create: (env: Env) => HookEndpoint): EndpointWorker<Env> {
  let endpoint: HookEndpoint | undefined;
  return {
    fetch(request, env, context) {
      endpoint ??= create(env);
      return endpoint.answer(request, { waitUntil: (work) => context.waitUntil(work) });
    },
  };
}
