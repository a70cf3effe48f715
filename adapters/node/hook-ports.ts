import type { HookConnection, HookPorts } from "../../src/config/index.ts";
import { createAgentFetch } from "./agent-fetch.ts";
import { hashBody } from "./body-hash.ts";
import { createSpawn } from "./child-process.ts";
import { nodeCrypto } from "./crypto.ts";
import { createGuardedAgent, type GuardedAgentOptions } from "./guarded-agent.ts";
import { createAgentExchange } from "./http-exchange.ts";

/** Connects to one hook: its calls and the fetches of its keys share an agent, and so the rules of addresses. */
export function connectHook(options: GuardedAgentOptions): HookConnection {
  const guarded = createGuardedAgent(options);
  return { exchange: createAgentExchange(guarded), fetch: createAgentFetch(guarded.agent) };
}

/** Everything a manager on Node reaches hooks with: processes, URLs, node:crypto. */
export const nodeHookPorts: HookPorts = Object.freeze({
  spawn: createSpawn,
  connect: connectHook,
  crypto: nodeCrypto,
  hashBody,
});
