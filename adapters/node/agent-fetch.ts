import type { Agent } from "undici";
import type { JwksFetch } from "../../src/signing/jwks-fetch.ts";
import { toByteSource } from "./byte-streams.ts";
import { createGuardedAgent, type GuardedAgentOptions } from "./guarded-agent.ts";

/** Statuses whose responses have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

/** A fetch for published keys over an agent: it follows no redirect, whatever it is told. */
export function createAgentFetch(agent: Agent): JwksFetch {
  return async (url, { headers, signal }) => {
    const { origin, pathname, search } = new URL(url);
    const response = await agent.request({
      origin,
      path: pathname + search,
      method: "GET",
      headers: Object.fromEntries(new Headers(headers)),
      signal: signal ?? null,
    });
    const { statusCode: status, body } = response;
    if (EMPTY.has(status)) {
      await body.dump();
      return new Response(null, { status });
    }
    // Not `Readable.toWeb`: of a body that is let go of, what had come already threw where nobody could catch it.
    return new Response(toByteSource(body), { status });
  };
}

/** A fetch for published keys that keeps the rules of addresses: link-local and metadata addresses are refused. */
export function createGuardedFetch(options: GuardedAgentOptions = {}): JwksFetch {
  return createAgentFetch(createGuardedAgent(options).agent);
}
