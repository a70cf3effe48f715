import { createMemoryApprovalStore } from "../../src/approvals/index.ts";
import { START_MS } from "./approval-fixture.ts";
import { approvalStoreCases } from "./approval-store.ts";
import type { Case } from "./case.ts";

/** The store of approvals in memory, on every runtime. */
export const approvalMemoryCases: readonly Case[] = approvalStoreCases("memory", async () => {
  let nowMs = START_MS;
  const now = (): number => nowMs;
  return { store: createMemoryApprovalStore({ now }), now, advance: (ms) => void (nowMs += ms) };
});
