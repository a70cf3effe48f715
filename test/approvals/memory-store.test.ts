import { createMemoryApprovalStore } from "../../src/approvals/index.ts";
import { START_MS } from "../conformance/approval-fixture.ts";
import { describeStore } from "./store-contract.ts";

describeStore("memory", async () => {
  let nowMs = START_MS;
  const now = (): number => nowMs;
  return { store: createMemoryApprovalStore({ now }), now, advance: (ms) => void (nowMs += ms) };
});
