import { createMemorySessionStore } from "../../src/jcli/index.ts";
import { START_MS } from "../conformance/approval-fixture.ts";
import { describeSessionStore } from "./session-store-contract.ts";

describeSessionStore("memory", async () => {
  let nowMs = START_MS;
  const now = (): number => nowMs;
  return { store: createMemorySessionStore({ now }), now, advance: (ms) => void (nowMs += ms), tells: "all" };
});
