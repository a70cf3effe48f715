/**
 * A hook endpoint on Cloudflare Workers, reached in two ways: signed, at its URL, and unsigned through a service binding
 * to the entrypoint `Bound`, to which no URL leads.
 *
 * In your own project: import from "hookgate/cloudflare" and "hookgate/endpoint".
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { createEndpointWorker, createReplayStore, ReplayShard } from "../../adapters/cloudflare/index.ts";
import { createHookEndpoint, defineHook, type Hook } from "../../src/endpoint/index.ts";

interface Env {
  /** The tools that may run without asking anybody, with commas between them. */
  readonly APPROVED_TOOLS: string;
  /** This endpoint's URL as the gateway is configured with. */
  readonly HOOK_URL: string;
  /** The gateway's id. */
  readonly HOOK_GATEWAY: string;
  /** Shared with the gateway: from `.dev.vars` here, from `wrangler secret put` when deployed. */
  readonly HOOK_SECRET?: string;
  readonly REPLAY: DurableObjectNamespace<ReplayShard>;
}

function createPolicy({ APPROVED_TOOLS }: Env): Hook {
  const approved = new Set(APPROVED_TOOLS.split(","));
  return defineHook({
    beforeTool({ tool, arguments: args }) {
      const isForbidden = tool === "shell" && String(args?.["command"]).includes("rm -rf");
      return isForbidden ? { action: "deny_tool", reason: "rm -rf is not allowed" } : undefined;
    },
    approveTool({ tool }) {
      return approved.has(tool) ? { approved: true } : { approved: false, reason: `${tool} is not in APPROVED_TOOLS` };
    },
    onEvent({ Kind }, { log }) {
      log.info(`event ${Kind}`);
    },
  });
}

const signed = createEndpointWorker<Env>((env) =>
  createHookEndpoint(createPolicy(env), {
    name: "approvals",
    url: env.HOOK_URL,
    gateway: env.HOOK_GATEWAY,
    secret: env.HOOK_SECRET,
    replay: createReplayStore(env.REPLAY),
    log: console,
  }),
);

const unsigned = createEndpointWorker<Env>((env) =>
  createHookEndpoint(createPolicy(env), { name: "approvals", unsigned: true, log: console }),
);

/** Only Workers of the same account that bind to it reach this one. */
export class Bound extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Promise<Response> {
    return unsigned.fetch(request, this.env, this.ctx);
  }
}

export { ReplayShard };
export default signed;
