import { describe, test } from "vitest";
import { cases } from "../conformance/index.ts";

describe("conformance on Node", () => {
  for (const { id, run } of cases) test(id, run);
});
