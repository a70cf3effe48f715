import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LatencyHistogram } from "../../src/chain/index.ts";

/** The middle of a bucket is off by half of its width at most. */
const MAX_ERROR = 0.032;
const MAX_ERROR_MS = 0.00013;

function histogramOf(durations: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const ms of durations) histogram.add(ms);
  return histogram;
}

describe("LatencyHistogram", () => {
  test("knows nothing before the first call", () => {
    expect(new LatencyHistogram().quantiles()).toBeUndefined();
  });

  test("is as near to the quantiles of what was counted as it says", () => {
    const duration = fc.oneof(
      fc.double({ min: 0, max: 0.01, noNaN: true }),
      fc.double({ min: 0, max: 100, noNaN: true }),
      fc.double({ min: 0, max: 500_000, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1, maxLength: 300 }), (durations) => {
        const sorted = durations.toSorted((a, b) => a - b);
        const found = histogramOf(durations).quantiles();
        for (const [name, share] of [
          ["p50", 0.5],
          ["p95", 0.95],
          ["p99", 0.99],
        ] as const) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
          const error = Math.abs((found?.[name] ?? Number.NaN) - exact);
          expect(error).toBeLessThanOrEqual(Math.max(exact * MAX_ERROR, MAX_ERROR_MS));
        }
      }),
    );
  });

  test("counts what no clock can say, and what is longer than it can tell, without losing it", () => {
    const found = histogramOf([Number.NaN, -5, -Infinity, Infinity, 1e12]).quantiles();
    expect(found?.p50).toBeLessThan(0.001);
    expect(found?.p99).toBeGreaterThan(500_000);
    expect(found?.p99).toBeLessThan(560_000);
  });
});
