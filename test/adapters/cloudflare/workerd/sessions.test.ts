import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach } from "vitest";
import { createDurableApprovalStore } from "../../../../adapters/cloudflare/approvals.ts";
import type { SessionHookStore } from "../../../../src/jcli/index.ts";
import { describeSessionStore } from "../../../jcli/session-store-contract.ts";
import { clock } from "./shards.ts";

let count = 0;

function openStore(name: string): SessionHookStore {
  const { sessionHooks } = createDurableApprovalStore({ namespace: env.APPROVALS, name });
  if (sessionHooks === undefined) throw new Error("it keeps no session hooks");
  return sessionHooks;
}

beforeEach(() => {
  clock.nowMs = Date.now();
});

describeSessionStore(
  "a Durable Object",
  async () => {
    const name = `sessions-${(count += 1)}`;
    return {
      store: openStore(name),
      other: openStore(name),
      now: () => clock.nowMs,
      advance: (ms) => void (clock.nowMs += ms),
      async reopen() {
        await evictDurableObject(env.APPROVALS.getByName(name));
        return openStore(name);
      },
      tells: "nobody",
    };
  },
  { numRuns: 15 },
);
