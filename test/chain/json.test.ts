import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isSameJson } from "../../src/chain/index.ts";
import { toCanonicalJson } from "../../src/records/canonical.ts";

/** JSON values, with here and there an undefined, as a hook in this process can leave one. */
const value = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<unknown>(undefined, null, 0, 1, "", "a", true),
    fc.array(tie("node"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("node"), { maxKeys: 2, noNullPrototype: true }),
  ),
})).node;

test("two values are the same when JSON writes them alike, in whatever order", () => {
  const isSame = fc.property(fc.array(value), fc.array(value), (a, b) => {
    expect(isSameJson(a, b)).toBe(toCanonicalJson(a) === toCanonicalJson(b));
    expect(isSameJson(a, structuredClone(a))).toBe(true);
  });
  fc.assert(isSame, {
    numRuns: 5000,
    examples: [
      [[[null, undefined]], [[null, null]]],
      [[{ a: undefined }], [{}]],
    ],
  });
});
