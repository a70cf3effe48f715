import { describe, expect, test, vi } from "vitest";
import { ChainVerifier, createHttpSink, Recorder, toCanonicalJson } from "../../src/records/index.ts";
import { createObjectLog } from "../../src/log.ts";
import { decision, memorySink, sha256 } from "./fixtures.ts";

async function chainOf(count: number): Promise<string[]> {
  const sink = memorySink();
  const recorder = new Recorder({ sinks: [sink], hash: sha256 });
  const observe = recorder.toObserver();
  for (let index = 0; index < count; index += 1) observe(decision());
  await recorder.close();
  return sink.sealed.map(({ text }) => text);
}

async function kindsOf(texts: readonly string[], head?: { seq: number; hash: string }): Promise<readonly string[]> {
  const verifier = new ChainVerifier(sha256, { head });
  for (const text of texts) await verifier.add(text);
  return verifier.end().problems.map(({ kind, seq }) => `${kind} ${seq}`);
}

const headOf = (texts: readonly string[]): { seq: number; hash: string } => JSON.parse(texts.at(-1)!) as never;

describe("the chain", () => {
  test("is good when nobody touched it", async () => {
    const texts = await chainOf(600);
    expect(await kindsOf(texts, headOf(texts))).toEqual([]);
  });

  test.each([
    ["removed", (texts: string[]) => texts.toSpliced(4, 1), ["missing 6"]],
    ["removed first", (texts: string[]) => texts.slice(1), ["missing 2"]],
    ["changed", (texts: string[]) => texts.with(4, texts[4]!.replace('"bash"', '"bosh"')), ["changed 5"]],
    [
      "a field said twice",
      (texts: string[]) => texts.with(4, texts[4]!.replace("{", '{"action":"deny_tool",')),
      ["changed 5"],
    ],
    ["unreadable", (texts: string[]) => texts.with(4, "{"), ["unreadable 5", "missing 6"]],
    ["truncated", (texts: string[]) => texts.slice(0, 8), ["truncated 8"]],
    ["emptied", () => [], ["truncated 0"]],
    ["twice", (texts: string[]) => texts.toSpliced(4, 0, texts[4]!), ["reordered 5"]],
  ])("%s is found", async (_name, tamper, kinds) => {
    const texts = await chainOf(10);
    expect(await kindsOf(tamper(texts), headOf(texts))).toEqual(kinds);
  });

  test("reordered is found", async () => {
    const texts = await chainOf(10);
    const swapped = texts.with(3, texts[4]!).with(4, texts[3]!);
    expect(await kindsOf(swapped, headOf(texts))).toEqual(["missing 5", "reordered 4", "missing 6"]);
  });

  test("changed and hashed again is found at the next", async () => {
    const texts = await chainOf(10);
    const { hash: _, ...parsed } = JSON.parse(texts[4]!) as Record<string, unknown>;
    const record = { ...parsed, tool: "bosh" };
    const forged = `${toCanonicalJson(record).slice(0, -1)},"hash":"${sha256(toCanonicalJson(record))}"}`;
    expect(await kindsOf(texts.with(4, forged), headOf(texts))).toEqual(["changed 6"]);
  });

  test("of another gateway is found", async () => {
    const texts = await chainOf(5);
    const others = await chainOf(6);
    expect(await kindsOf([...texts, others[5]!])).toEqual(["foreign 6", "changed 6"]);
  });
});

describe("a recorder", () => {
  test("drops the oldest when a sink fails, counts them and says so in the next record", async () => {
    vi.useFakeTimers();
    const sink = memorySink();
    const recorder = new Recorder({ sinks: [sink], hash: sha256, maxWaiting: 10 });
    const observe = recorder.toObserver();
    sink.failure = new Error("no space left on device");
    const made = Array.from({ length: 25 }, () => decision());
    for (const one of made) {
      observe(one);
      await vi.advanceTimersByTimeAsync(6);
    }
    expect(recorder.status()).toMatchObject({
      degraded: true,
      sinks: [
        { name: "memory", state: "failing", error: "no space left on device", written: 0, lost: 15, waiting: 10 },
      ],
    });
    sink.failure = undefined;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(recorder.status()).toMatchObject({ sinks: [{ state: "ok", written: 10, lost: 15, waiting: 0 }] });
    expect(sink.records().map(({ id }) => id)).toEqual(made.slice(15).map(({ id }) => id));
    expect(JSON.parse(sink.sealed[0]!.text)).toMatchObject({ seq: 1, lost: 15 });
    expect(await kindsOf(sink.sealed.map(({ text }) => text))).toEqual([]);
    await recorder.close();
    vi.useRealTimers();
  });

  test("drops the oldest decisions when there are too many at once", async () => {
    const sink = memorySink();
    const recorder = new Recorder({ sinks: [sink], hash: sha256, maxWaiting: 100 });
    const observe = recorder.toObserver();
    for (let index = 0; index < 500; index += 1) observe(decision());
    await recorder.close();
    const { dropped, sinks } = recorder.status();
    expect(dropped).toBeGreaterThan(0);
    const { written, lost } = sinks[0]!;
    expect(written + lost).toBe(500);
    expect(sink.sealed.reduce((sum, { record }) => sum + (record.lost ?? 0), 0)).toBe(lost);
  });

  test("keeps going for one sink when another fails", async () => {
    const good = memorySink();
    const bad = memorySink();
    bad.failure = new Error("down");
    const recorder = new Recorder({ sinks: [bad, good], hash: sha256 });
    recorder.toObserver()(decision());
    await recorder.close();
    expect(good.sealed).toHaveLength(1);
    expect(recorder.status().sinks[0]).toMatchObject({ state: "failing", lost: 1 });
  });

  test("says how many a sink that is down never had when it is closed", async () => {
    const lines: string[] = [];
    const log = createObjectLog((level, fields) => lines.push(JSON.stringify({ level, ...fields })));
    const sink = memorySink();
    sink.failure = new Error("down");
    const recorder = new Recorder({ sinks: [sink], hash: sha256, maxWaiting: 3, log });
    for (let index = 0; index < 3; index += 1) recorder.toObserver()(decision());
    await recorder.flush();
    for (let index = 0; index < 2; index += 1) recorder.toObserver()(decision());
    await recorder.close();
    const last: unknown = JSON.parse(lines.at(-1)!);
    expect(last).toMatchObject({ level: "error", message: "records were not written", sink: "memory", lost: 5 });
  });

  test.each([
    ["ECONNREFUSED", Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" })],
    ["bad port", new Error("bad port")],
    ["fetch failed", undefined],
  ])("says what keeps it from a collector: %s", async (why, cause) => {
    const fetch = (): Promise<never> => Promise.reject(new TypeError("fetch failed", { cause }));
    const recorder = new Recorder({ sinks: [createHttpSink({ url: "http://x/", fetch })], hash: sha256 });
    recorder.toObserver()(decision());
    await recorder.flush();
    const error = `the collector cannot be reached: ${why}`;
    expect(recorder.status()).toMatchObject({ sinks: [{ state: "failing", error }] });
    await recorder.close();
  });

  test("posts batches to a collector", async () => {
    const bodies: string[] = [];
    const statuses = [503, 503, 200];
    const fetch = (_url: string, { body }: { body: string }): Promise<{ status: number }> => {
      bodies.push(body);
      return Promise.resolve({ status: statuses.shift() ?? 200 });
    };
    const recorder = new Recorder({ sinks: [createHttpSink({ url: "http://x/", fetch })], hash: sha256 });
    recorder.toObserver()(decision());
    await recorder.flush();
    expect(recorder.status()).toMatchObject({ sinks: [{ state: "failing", error: "the collector answered 503" }] });
    await recorder.flush();
    expect(recorder.status()).toMatchObject({ sinks: [{ state: "ok", written: 1, lost: 0 }] });
    expect(bodies).toEqual([bodies[0], bodies[0], bodies[0]]);
    await recorder.close();
  });

  test("a slow subscriber loses the oldest and is told how many", async () => {
    const recorder = new Recorder({ sinks: [], hash: sha256 });
    let calls = 0;
    const subscription = recorder.hub.subscribe({ tool: "bash", maxWaiting: 2, onReady: () => (calls += 1) });
    for (let index = 0; index < 5; index += 1) recorder.toObserver()(decision());
    recorder.toObserver()(decision({ input: { tool: "other" } }));
    await recorder.flush();
    expect(subscription.take()).toMatchObject({ dropped: 3, records: [{ tool: "bash" }, { tool: "bash" }] });
    expect(calls).toBe(1);
    await recorder.close();
    expect(subscription.take()).toMatchObject({ isClosed: true });
  });
});
