/**
 * hookgate on Cloudflare Workers.
 * @module
 */

export { createEndpointWorker, type EndpointWorker, type WorkerContext } from "./endpoint.ts";
