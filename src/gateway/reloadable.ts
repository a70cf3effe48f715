import { MAX_DELAY_MS } from "../wait.ts";
import type { Gateway, RetirableGateway } from "./gateway.ts";

/** A gateway that can be replaced as a whole while it serves. */
export interface ReloadableGateway extends Gateway {
  /** Lets another gateway answer from this moment; requests under way are answered by the one they reached. */
  swap(next: RetirableGateway): void;
}

/** Makes a gateway that hands requests on to the one that is current. */
export function createReloadableGateway(first: RetirableGateway): ReloadableGateway {
  const retiring = new Set<RetirableGateway>();
  let current = first;
  return {
    fetch: (request, info) => current.fetch(request, info),
    assertBindable: (hostname) => current.assertBindable(hostname),
    async drain(timeoutMs) {
      await Promise.all([current, ...retiring].map((gateway) => gateway.drain(timeoutMs)));
    },
    callsInFlight: () => [current, ...retiring].reduce((sum, gateway) => sum + gateway.callsInFlight(), 0),
    swap(next) {
      const previous = current;
      current = next;
      retiring.add(previous);
      void previous.idle(MAX_DELAY_MS).then(() => retiring.delete(previous));
    },
  };
}
