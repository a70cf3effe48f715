import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createTransports, createUndici, type HttpContestant } from "./http-contestants.ts";
import { createHttpBenchKeys } from "./http-keys.ts";
import { createFetchWithJose, createJayson, createMcpHttp } from "./http-peers.ts";
import { type BenchRatio, type BenchReport, median } from "./report.ts";

const ENDPOINTS = fileURLToPath(new URL("peers/http-endpoints.ts", import.meta.url));
const LANES = 16;

interface Sample {
  readonly perSecond: number;
  readonly p50Us: number;
}

interface Load {
  readonly callCount: number;
  readonly laneCount: number;
}

async function measure({ call }: HttpContestant, { callCount, laneCount }: Load): Promise<Sample> {
  const durations: number[] = [];
  const startedAtMs = performance.now();
  const lane = async (): Promise<void> => {
    for (let done = 0; done < callCount / laneCount; done += 1) {
      const callAtMs = performance.now();
      await call();
      durations.push(performance.now() - callAtMs);
    }
  };
  await Promise.all(Array.from({ length: laneCount }, lane));
  return { perSecond: callCount / ((performance.now() - startedAtMs) / 1000), p50Us: 1000 * median(durations) };
}

interface Cpu {
  readonly caller: number;
  readonly endpoint: number;
}

interface Rounds {
  readonly contestant: HttpContestant;
  readonly together: number[];
  readonly p50Us: number[];
  readonly cpu: Cpu[];
}

/**
 * Signed calls over HTTP next to undici's own request, posting the same JSON unsigned to the same kind of endpoint in the
 * same process, and to what else there is. The contestants take turns, so that what the machine does meets all of them,
 * and each round is compared with itself.
 */
export async function benchHttp({ roundCount = 9, callCount = 4000 } = {}): Promise<readonly BenchReport[]> {
  const keys = await createHttpBenchKeys();
  const child = spawn(process.execPath, [ENDPOINTS], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(keys));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const urls = JSON.parse(line.toString()) as Readonly<Record<string, string>>;
  const readCpu = async (): Promise<number> => Number(await (await fetch(urls["cpu"] ?? "")).text());
  const contestants = [
    createUndici(urls["unsigned"] ?? ""),
    ...(await createTransports(urls, keys)),
    createFetchWithJose(urls["HS256"] ?? "", keys.secret),
    createJayson(urls["jayson"] ?? ""),
    await createMcpHttp(urls["mcp"] ?? ""),
  ];
  const all = contestants.map((contestant): Rounds => ({ contestant, together: [], p50Us: [], cpu: [] }));
  // Long enough for the compiler to be done with each.
  for (const contestant of contestants) await measure(contestant, { callCount: 3 * callCount, laneCount: LANES });
  for (let round = 0; round < roundCount; round += 1) {
    for (const { contestant, together, p50Us, cpu } of all) {
      const endpoint = await readCpu();
      const caller = process.cpuUsage();
      together.push((await measure(contestant, { callCount, laneCount: LANES })).perSecond);
      const { user, system } = process.cpuUsage(caller);
      cpu.push({ caller: (user + system) / callCount, endpoint: ((await readCpu()) - endpoint) / callCount });
      p50Us.push((await measure(contestant, { callCount: callCount / 4, laneCount: 1 })).p50Us);
    }
  }
  for (const { contestant } of all) await contestant.close();
  child.kill();
  return toReports(all);
}

const THROUGHPUT: Readonly<Record<string, number>> = {
  "hookgate, HS256": 0.72,
  "hookgate, ES256": 0.3,
  "hookgate, EdDSA": 0.3,
};
const LATENCY: Readonly<Record<string, number>> = { "hookgate, HS256": 1.4 };

function toReports(all: readonly Rounds[]): readonly BenchReport[] {
  const [first] = all;
  if (first === undefined) return [];
  const compare = (of: Rounds, key: "together" | "p50Us"): BenchRatio => ({
    of: of.contestant.name,
    to: first.contestant.name,
    ratio: median(of[key].map((value, round) => value / (first[key][round] ?? Number.NaN))),
  });
  const others = all.slice(1);
  const signed = all.find(({ contestant }) => contestant.name === "hookgate, HS256");
  const withJose = all.find(({ contestant }) => contestant.name.startsWith("global fetch"));
  const own =
    signed === undefined || withJose === undefined
      ? []
      : [
          {
            of: signed.contestant.name,
            to: withJose.contestant.name,
            ratio: median(signed.together.map((value, round) => value / (withJose.together[round] ?? Number.NaN))),
          },
        ];
  const toRows = (key: "together" | "p50Us") =>
    all.map(({ contestant, [key]: values }) => ({ name: contestant.name, value: median(values) }));
  return [
    {
      title: `one hook over HTTP, ${LANES} in flight, calls/s`,
      rows: toRows("together"),
      ratios: [
        ...others.map((one) => withBound(compare(one, "together"), { atLeast: THROUGHPUT[one.contestant.name] })),
        ...own,
      ],
    },
    {
      title: "one hook over HTTP, one call at a time, p50 in microseconds",
      rows: toRows("p50Us"),
      ratios: others.map((one) => withBound(compare(one, "p50Us"), { atMost: LATENCY[one.contestant.name] })),
    },
    {
      title: `one hook over HTTP, ${LANES} in flight, microseconds of processor time of a call`,
      rows: all.flatMap(({ contestant, cpu }) => [
        { name: `${contestant.name}: caller`, value: median(cpu.map(({ caller }) => caller)) },
        { name: `${contestant.name}: endpoint`, value: median(cpu.map(({ endpoint }) => endpoint)) },
      ]),
      ratios: [],
    },
  ];
}

function withBound(
  ratio: BenchRatio,
  { atLeast, atMost }: { readonly atLeast?: number | undefined; readonly atMost?: number | undefined },
): BenchRatio {
  return { ...ratio, ...(atLeast === undefined ? {} : { atLeast }), ...(atMost === undefined ? {} : { atMost }) };
}
