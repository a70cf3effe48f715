import { resolve } from "node:path";
import { createMemoryApprovalStore } from "../../src/approvals/index.ts";
import type { GatewayStore, StoreAddress } from "../../src/config/index.ts";
import { createMemorySessionStore } from "../../src/jcli/index.ts";
import type { Log } from "../../src/log.ts";
import { createRedisApprovalStore } from "./redis-approvals.ts";
import { createSqliteApprovalStore } from "./sqlite-approvals.ts";

/** Opens a store of approvals and of session hooks; undefined when there is none of its kind on Node. */
export function openApprovals(
  { kind, target }: StoreAddress,
  { baseDir, log }: { readonly baseDir: string; readonly log?: Log | undefined },
): GatewayStore | undefined {
  if (kind === "memory") {
    return Object.assign(createMemoryApprovalStore(), { sessionHooks: createMemorySessionStore() });
  }
  if (kind === "sqlite") return createSqliteApprovalStore({ path: resolve(baseDir, target) });
  if (kind === "redis") return createRedisApprovalStore({ url: target, log });
  return undefined;
}
