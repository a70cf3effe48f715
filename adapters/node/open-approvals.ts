import { resolve } from "node:path";
import { type ApprovalStore, createMemoryApprovalStore } from "../../src/approvals/index.ts";
import type { StoreAddress } from "../../src/config/index.ts";
import { createSqliteApprovalStore } from "./sqlite-approvals.ts";

/** Opens a store of approvals; undefined when there is none of its kind on Node. */
export function openApprovals(
  { kind, target }: StoreAddress,
  { baseDir }: { readonly baseDir: string },
): ApprovalStore | undefined {
  if (kind === "memory") return createMemoryApprovalStore();
  if (kind === "sqlite") return createSqliteApprovalStore({ path: resolve(baseDir, target) });
  return undefined;
}
