/**
 * A hook endpoint on Cloudflare Workers, reached in two ways: signed, at its URL, and unsigned through a service binding
 * to the entrypoint `Bound`, which no URL leads to.
 *
 * In your own project: import from "hookgate/cloudflare" and "hookgate/endpoint".
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { createEndpointWorker, createReplayStore, ReplayShard } from "../../adapters/cloudflare/index.ts";
import { createHookEndpoint, defineHook } from "../../src/endpoint/index.ts";

interface Env {
  /** Who may use tools that change something, such as "deploy,write_file". */
  readonly APPROVED_TOOLS: string;
  readonly HOOK_URL: string;
  readonly HOOK_GATEWAY: string;
  /** A secret: `.dev.vars` here, `wrangler secret put` when deployed. */
  readonly HOOK_SECRET?: string;
  readonly REPLAY: DurableObjectNamespace<ReplayShard>;
}
