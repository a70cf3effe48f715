/**
 * hookgate on Deno.
 * @module
 */

export { type EndpointListener, serveEndpoint, type ServeEndpointOptions } from "./endpoint.ts";
