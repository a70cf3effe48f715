import type { HookEndpoint } from "../../src/endpoint/hook-endpoint.ts";

/** Options of {@link serveEndpoint}. */
export interface ServeEndpointOptions {
  /** The port to listen on; 0 takes a free one. */
  readonly port: number;
  /** The name or address to listen on. @default "127.0.0.1" */
  readonly hostname?: string | undefined;
}

/** A listening endpoint. */
export interface EndpointListener {
  /** Where it listens, such as `http://127.0.0.1:8788`. */
  readonly url: string;
  /** Stops listening and lets the calls under way finish. */
  close(): Promise<void>;
}

/**
 * Serves a hook endpoint with `Deno.serve`.
 * @throws {HookgateError} `ERR_CONFIG` when a key of the endpoint is not valid
 */
export async function serveEndpoint(
  endpoint: HookEndpoint,
  { port, hostname = "127.0.0.1" }: ServeEndpointOptions,
): Promise<EndpointListener> {
  await endpoint.ready();
  const server = Deno.serve({ port, hostname, onListen() {} }, endpoint.fetch);
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return { url: `http://${host}:${server.addr.port}`, close: () => server.shutdown() };
}
