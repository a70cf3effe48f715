import { describe } from "vitest";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { testReplayStore } from "./replay-contract.ts";

describe("the replay store in memory", () => {
  testReplayStore(() => {
    let nowMs = Date.now();
    return {
      store: createMemoryReplayStore({ now: () => nowMs }),
      nowMs: () => nowMs,
      advance: (ms) => (nowMs += ms),
    };
  });
});
