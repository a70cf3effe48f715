import { setTimeout as delay } from "node:timers/promises";
import { createHookEndpoint, type HookEndpoint, type HookEndpointOptions } from "../../src/endpoint/index.ts";
import type { Gateway } from "../../src/gateway/index.ts";
import type { Hook } from "../../src/picoclaw/index.ts";
import { nodeCrypto } from "./crypto.ts";
import { type GatewayListener, serveGateway, type ServeGatewayOptions } from "./serve.ts";

/** Options of {@link serveEndpoint}. */
export interface ServeEndpointOptions extends Omit<ServeGatewayOptions, "hostname"> {
  /** The name or address to listen on. @default "127.0.0.1" */
  readonly hostname?: string | undefined;
}

/** A listening endpoint. */
export type EndpointListener = GatewayListener;

/**
 * Puts a hook behind a URL, with `node:crypto` for hashes and signatures.
 * @throws {TypeError} {RangeError} {HookgateError} as `createHookEndpoint` does
 */
export function createNodeHookEndpoint(hook: Hook, options: HookEndpointOptions): HookEndpoint {
  return createHookEndpoint(hook, { ...options, crypto: options.crypto ?? nodeCrypto });
}

/**
 * Serves a hook endpoint with `node:http`. A gateway that disconnects aborts its call. Closing lets calls under way
 * finish, for as long as `timeouts.drainMs` says.
 * @throws {HookgateError} `ERR_CONFIG` when a key of the endpoint is not valid or the address cannot be listened on
 */
export async function serveEndpoint(endpoint: HookEndpoint, options: ServeEndpointOptions): Promise<EndpointListener> {
  await endpoint.ready();
  return serveGateway(toServed(endpoint), options);
}

function ignore(): void {}

/** An endpoint as the server of gateways takes it. It decides by signatures whom to answer, so it may be bound anywhere. */
function toServed(endpoint: HookEndpoint): Gateway {
  let running = 0;
  let onIdle = ignore;
  return {
    callsInFlight: () => running,
    async fetch(request, { readBody } = {}) {
      running += 1;
      try {
        return await endpoint.answer(request, { readBody });
      } finally {
        running -= 1;
        if (running === 0) onIdle();
      }
    },
    async drain(timeoutMs) {
      if (running === 0) return;
      const stop = new AbortController();
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      await Promise.race([idle, delay(timeoutMs, undefined, { signal: stop.signal }).catch(ignore)]);
      stop.abort();
    },
    assertBindable() {},
  };
}
