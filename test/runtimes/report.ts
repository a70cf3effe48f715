import { cases } from "../conformance/index.ts";

/** Runs every case in order, prints one line for each and a count, and throws where one failed. */
export async function report(print: (line: string) => void): Promise<void> {
  let passed = 0;
  for (const { id, run } of cases) {
    try {
      await run();
      passed += 1;
      print(`ok ${id}`);
    } catch (error) {
      print(`not ok ${id}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  print(`conformance: ${passed} passed, ${cases.length - passed} failed`);
  if (passed !== cases.length) throw new Error("a conformance case failed");
}
