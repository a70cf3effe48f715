import { Hono } from "hono";
import type { Jwks } from "../signing/jwk.ts";
import { answerJson, answerJwks, answerRefusal } from "./answer.ts";
import type { Gateway } from "./gateway.ts";
import { assertBindable } from "./origin.ts";
import { overloaded } from "./refusals.ts";
import { JWKS_PATH } from "./routes.ts";

/** What answers while the hooks of a gateway come up, and hands on to the gateway when they are. */
export interface StartingGateway extends Gateway {
  /** Lets the gateway answer from this moment. */
  start(gateway: Gateway): void;
}

/** Options of {@link createStartingGateway}. */
export interface StartingGatewayOptions {
  /** The public keys of the gateway. */
  readonly jwks: Jwks;
  /** Whether the gateway asks who calls. */
  readonly hasAuth: boolean;
}

/**
 * Makes what answers before there is a gateway: an endpoint that fetches the gateway's keys cannot answer its greeting
 * before it has them. Calls are told to come again.
 */
export function createStartingGateway({ jwks, hasAuth }: StartingGatewayOptions): StartingGateway {
  const app = new Hono();
  app.get("/healthz", () => answerJson({ status: "ok" }, { status: 200 }));
  app.get("/readyz", () => answerJson({ status: "not_ready" }, { status: 503 }));
  app.get(JWKS_PATH, () => answerJwks(jwks));
  app.notFound(() => answerRefusal(overloaded("the gateway is starting")));
  let started: Gateway | undefined;
  return {
    fetch: async (request, info) => (started === undefined ? app.fetch(request) : started.fetch(request, info)),
    drain: async (timeoutMs) => started?.drain(timeoutMs),
    callsInFlight: () => started?.callsInFlight() ?? 0,
    assertBindable(hostname) {
      assertBindable(hostname, { hasAuth });
      started?.assertBindable(hostname);
    },
    start(gateway) {
      started = gateway;
    },
  };
}
