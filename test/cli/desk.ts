import { createNodeHookEndpoint, type EndpointListener, serveEndpoint } from "../../adapters/node/index.ts";
import type { HookEndpoint, HookEndpointOptions } from "../../src/endpoint/index.ts";
import { type Hook, defineHook } from "../../src/endpoint/index.ts";

export const SECRET = "0123456789abcdef0123456789abcdef0123456789abcdef";
export const GATEWAY = "hookgate";

/** Denies the shell and approves the rest. */
export const policy: Hook = defineHook({
  beforeTool: ({ tool }) => (tool === "format_disk" ? { action: "deny_tool", reason: "never" } : undefined),
  approveTool: ({ tool }) => ({ approved: tool !== "bash", reason: "the desk says no" }),
});

/** An endpoint that listens. */
export interface Desk extends EndpointListener {
  /** Where it is called, and what is signed. */
  readonly hook: string;
}

/** Serves the policy on a free port: its own URL is known only then, so the endpoint is made with the first request. */
export async function openDesk(options: Partial<HookEndpointOptions> = {}, hook: Hook = policy): Promise<Desk> {
  let made: HookEndpoint | undefined;
  let url = "";
  const make = (): HookEndpoint => {
    const keys = options.keys === undefined && options.unsigned !== true ? { secret: SECRET } : {};
    made ??= createNodeHookEndpoint(hook, { name: "desk", url, gateway: GATEWAY, ...keys, ...options });
    return made;
  };
  const late: HookEndpoint = {
    fetch: (request) => make().fetch(request),
    answer: (request, context) => make().answer(request, context),
    ready: () => Promise.resolve(),
  };
  const listener = await serveEndpoint(late, { port: 0, overrideGlobalObjects: false });
  url = `${listener.url}/hook`;
  return { ...listener, hook: url };
}
