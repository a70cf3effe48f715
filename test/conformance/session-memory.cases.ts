import { createMemorySessionStore } from "../../src/jcli/index.ts";
import { START_MS } from "./approval-fixture.ts";
import type { Case } from "./case.ts";
import { sessionStoreCases } from "./session-store.ts";

/** The store of session hooks in memory, on every engine. */
export const sessionMemoryCases: readonly Case[] = sessionStoreCases("memory", async () => {
  let nowMs = START_MS;
  const now = (): number => nowMs;
  return { store: createMemorySessionStore({ now }), now, advance: (ms) => void (nowMs += ms), tells: "all" };
});
