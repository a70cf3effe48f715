import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createMatcher, type HookMatch } from "../../src/picoclaw/match.ts";
import { PointChain } from "../../src/picoclaw/point-chain.ts";

const text = fc.stringMatching(/^[ab_]{0,4}$/);
const pattern = fc.stringMatching(/^!?[ab*_]{1,4}$/);
const match = fc.record(
  {
    tool: fc.array(pattern, { minLength: 1, maxLength: 3 }),
    session: fc.array(pattern, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
);

test("the index and what is remembered find the hooks that trying every match finds, and count those left out", () => {
  const hooks = fc.array(fc.option(match, { nil: undefined }), { maxLength: 30 });
  const calls = fc.array(fc.record({ tool: text, session: text }), { maxLength: 30 });
  fc.assert(
    fc.property(hooks, calls, (matches, payloads) => {
      const skipped = matches.map(() => 0);
      const expected = matches.map(() => 0);
      const chain = new PointChain(
        matches.map((given: HookMatch | undefined, place) => ({
          name: String(place),
          place,
          matcher: given && createMatcher(given),
          skip: (count: number) => void (skipped[place] = (skipped[place] ?? 0) + count),
        })),
      );
      for (const { tool, session } of payloads) {
        const payload = { tool, meta: { SessionKey: session } } as never;
        const wanted = chain.all.filter(({ matcher }) => matcher?.matches(payload) !== false);
        expect(chain.select(payload).map(({ name }) => name)).toEqual(wanted.map(({ name }) => name));
        const [first] = chain.all;
        const behind = first && chain.reselect?.(payload, first);
        // Nothing is matched, so nothing can change.
        const others = behind ?? chain.all.slice(1);
        expect(others.map(({ name }) => name)).toEqual(wanted.map(({ name }) => name).filter((name) => name !== "0"));
        for (const { place } of chain.all) if (!wanted.some((hook) => hook.place === place)) expected[place]! += 1;
      }
      chain.settleCounts();
      chain.settleCounts();
      expect(skipped).toEqual(expected);
    }),
  );
});

const skip = (): void => {};

test("more texts than are remembered are still told apart, and each is tried once while it is", () => {
  let triedCount = 0;
  const matcher = createMatcher({ tool: ["*x"] });
  const counting = { ...matcher, matches: (payload: never) => ((triedCount += 1), matcher.matches(payload)) };
  const chain = new PointChain(
    Array.from({ length: 9 }, (_, index) => ({ name: `${index}`, matcher: counting, skip })),
  );
  const ask = (tool: string): number => chain.select({ tool } as never).length;
  for (let round = 0; round < 3; round += 1)
    for (let index = 0; index < 500; index += 1) expect(ask(`${index}`)).toBe(0);
  expect(triedCount).toBe(9 * 500);
  for (let index = 0; index < 2000; index += 1) expect(ask(`${index}x`)).toBe(9);
  expect(ask("499")).toBe(0);
});
