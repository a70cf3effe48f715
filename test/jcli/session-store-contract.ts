import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SavedHook, SessionHookStore } from "../../src/jcli/index.ts";
import { type OpenSessionStoreStage, savedHook, sessionStoreCases } from "../conformance/session-store.ts";

/** Options of {@link describeSessionStore}. */
export interface DescribeSessionStoreOptions {
  /** How many runs of changes the store is put through. @default 50 */
  readonly numRuns?: number;
}

/**
 * What every store of session hooks must do, as tests of vitest: the cases of the conformance suite, and runs of random
 * changes that are compared with a plain map.
 * @param open - Makes an empty store each time.
 */
export function describeSessionStore(
  name: string,
  open: OpenSessionStoreStage,
  { numRuns = 50 }: DescribeSessionStoreOptions = {},
): void {
  describe(`the store of session hooks in ${name}`, () => {
    test.each(sessionStoreCases(name, open))("$id", async ({ run }) => {
      await expect(run()).resolves.toBeUndefined();
    });

    test("agrees with a plain map", { timeout: 60_000 }, async () => {
      const property = fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 40 }), async (steps) => {
        const { store, other = store, close } = await open();
        try {
          await runSteps(steps, [store, other]);
        } finally {
          await close?.();
        }
      });
      await expect(fc.assert(property, { numRuns })).resolves.toBeUndefined();
    });
  });
}

/** A change of one of few sessions by one of two stores, from the version there is or from another. */
const stepArbitrary = fc.record({
  by: fc.nat(1),
  session: fc.constantFrom("s", "t", "u", "v"),
  hooks: fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 3 }),
  isLate: fc.boolean(),
});

type Step = typeof stepArbitrary extends fc.Arbitrary<infer S> ? S : never;

const MAX_SESSIONS = 3;

async function runSteps(steps: readonly Step[], stores: readonly SessionHookStore[]): Promise<void> {
  const model = new Map<string, { readonly version: number; readonly hooks: readonly SavedHook[] }>();
  let last = 0;
  for (const { by, session, hooks: names, isLate } of steps) {
    const hooks = names.map((name) => savedHook(name));
    const known = model.get(session);
    const version = (known?.version ?? 0) + (isLate ? 1 : 0);
    const isFull = known === undefined && hooks.length > 0 && model.size >= MAX_SESSIONS;
    const result = await stores[by]?.replace({ session, version, hooks, maxSessions: MAX_SESSIONS });
    const outcome = isLate ? "conflict" : isFull ? "full" : "replaced";
    expect(result).toMatchObject({ outcome });
    const next = result?.outcome === "replaced" ? result.version : last + 1;
    expect(next).toBeGreaterThan(last);
    if (outcome === "replaced") {
      last = next;
      if (hooks.length === 0) model.delete(session);
      else model.set(session, { version: next, hooks });
    }
    for (const id of ["s", "t", "u", "v"]) expect(await stores[1 - by]?.get(id)).toEqual(model.get(id));
  }
}
