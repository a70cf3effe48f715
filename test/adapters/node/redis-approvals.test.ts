import { afterAll } from "vitest";
import { createRedisApprovalStore } from "../../../adapters/node/index.ts";
import type { ApprovalStore } from "../../../src/approvals/index.ts";
import { describeStore } from "../../approvals/store-contract.ts";
import { START_MS } from "../../conformance/approval-fixture.ts";
import { startRedis } from "./redis-server.ts";

const server = await startRedis();

afterAll(() => server.close());

describeStore(
  "Redis, of two gateways",
  async () => {
    let nowMs = START_MS;
    const now = (): number => nowMs;
    const url = server.newUrl();
    const create = (): ApprovalStore => createRedisApprovalStore({ url, now });
    const other = create();
    return {
      store: create(),
      other,
      now,
      advance: (ms) => void (nowMs += ms),
      reopen: async () => create(),
      close: () => other.close(),
    };
  },
  { numRuns: 100 },
);
