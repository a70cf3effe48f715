/**
 * hookgate on Bun.
 * @module
 */

export { type EndpointListener, serveEndpoint, type ServeEndpointOptions } from "./endpoint.ts";
