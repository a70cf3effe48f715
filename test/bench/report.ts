/** A contestant's figure. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
}

/** How one contestant's figure stands to another's, and what is asked for. */
export interface BenchRatio {
  readonly of: string;
  readonly to: string;
  readonly ratio: number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** What one comparison measured, all in one run. */
export interface BenchReport {
  readonly title: string;
  readonly rows: readonly BenchRow[];
  readonly ratios: readonly BenchRatio[];
}

/** Something that can be called again and again. */
export interface Repeatable {
  readonly name: string;
  run(): Promise<unknown>;
}

const ROUND_COUNT = 5;
const ROUND_MS = 150;

/** Calls a second of each contestant, one call at a time: the median of rounds taken in turn. */
export async function measureRates(contestants: readonly Repeatable[]): Promise<readonly BenchRow[]> {
  for (const contestant of contestants) await measureRound(contestant);
  const rounds = contestants.map((): number[] => []);
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    for (const [index, contestant] of contestants.entries()) rounds[index]?.push(await measureRound(contestant));
  }
  return contestants.map(({ name }, index) => ({ name, value: median(rounds[index] ?? []) }));
}

async function measureRound({ run }: Repeatable): Promise<number> {
  const startedAtMs = performance.now();
  let callCount = 0;
  let elapsedMs = 0;
  while (elapsedMs < ROUND_MS) {
    // Reading the clock at every call would be measured too.
    for (let burst = 0; burst < 20; burst += 1) await run();
    callCount += 20;
    elapsedMs = performance.now() - startedAtMs;
  }
  return (callCount / elapsedMs) * 1000;
}

/** The middle value; 0 of none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The ratio of two rows of one comparison. */
export function toRatio(rows: readonly BenchRow[], { of, to, ...bounds }: Omit<BenchRatio, "ratio">): BenchRatio {
  const valueOf = (wanted: string): number => rows.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { of, to, ratio: valueOf(of) / valueOf(to), ...bounds };
}

/** A comparison as text. */
export function formatReport({ title, rows, ratios }: BenchReport): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  const figures = rows.map(({ name, value }) => `  ${name.padEnd(width)}  ${format(value)}`);
  const compared = ratios.map(({ of, to, ratio, atLeast, atMost }) => {
    const asked =
      atLeast === undefined ? (atMost === undefined ? "" : ` (at most ${atMost})`) : ` (at least ${atLeast})`;
    return `  ${of} / ${to}: ${ratio.toPrecision(3)}${asked}`;
  });
  return [title, ...figures, ...compared].join("\n");
}

function format(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
