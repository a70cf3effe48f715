import { inspect } from "node:util";
import { expect, test } from "vitest";
import { createDraft } from "../../src/chain/index.ts";

test("a private payload prints what it holds, at every depth", () => {
  const draft = createDraft({ list: [1, { n: 1 }], frozen: Object.freeze({ deep: [1] }) });
  Reflect.set(draft.list, 0, "changed");
  expect(inspect(draft)).toBe("{ list: [ 'changed', { n: 1 } ], frozen: { deep: [ 1 ] } }");
  expect(inspect(draft.list)).toBe("[ 'changed', { n: 1 } ]");
});
