import { describe, expect, test } from "vitest";
import { ChainVerifier, createQueueSink, IsolateRecorder, type RecordSink } from "../../src/records/index.ts";
import { createObjectLog } from "../../src/log.ts";
import { decision, memorySink, sha256 } from "./fixtures.ts";

interface Stage {
  readonly recorder: IsolateRecorder;
  readonly lines: unknown[];
  /** Makes so many decisions in a request of their own and hands back what the request waits for. */
  request(count: number): Promise<void>;
}

function createStage(sink: RecordSink, { maxWaiting = 1000, now = (): number => 0 } = {}): Stage {
  let current: object | undefined;
  let works: Promise<void>[] = [];
  const lines: unknown[] = [];
  const recorder = new IsolateRecorder({
    sinks: [sink],
    payload: "hash",
    masks: [],
    maxPayloadBytes: 1000,
    maxWaiting,
    hash: sha256,
    currentRequest: () => current,
    waitUntil: (work) => works.push(work),
    gatherMs: 0,
    now,
    log: createObjectLog((level, { message }) => lines.push(`${level}: ${String(message)}`)),
  });
  return {
    recorder,
    lines,
    async request(count) {
      current = {};
      works = [];
      for (let index = 0; index < count; index += 1) recorder.onDecision(decision());
      expect(works).toHaveLength(1);
      await Promise.all(works);
    },
  };
}

async function problemsOf(texts: readonly string[]): Promise<readonly string[]> {
  const verifier = new ChainVerifier(sha256);
  for (const text of texts) await verifier.add(text);
  return verifier.end().problems.map(({ kind, message }) => `${kind}: ${message}`);
}

describe("records of requests that must not wait for each other", () => {
  test("each request writes its own in one batch, and all are one chain", async () => {
    const sink = memorySink();
    const batches: number[] = [];
    const write = sink.write.bind(sink);
    sink.write = (batch) => {
      batches.push(batch.length);
      return write(batch);
    };
    const stage = createStage(sink);
    await Promise.all([stage.request(3), stage.request(1), stage.request(50)]);
    expect(batches.toSorted((a, b) => a - b)).toEqual([1, 3, 50]);
    expect(sink.sealed.map(({ record }) => record.seq)).toEqual(Array.from({ length: 54 }, (_, index) => index + 1));
    expect(await problemsOf(sink.sealed.map(({ text }) => text))).toEqual([]);
    expect(stage.recorder.status()).toMatchObject({ degraded: false, sinks: [{ state: "ok", written: 54, lost: 0 }] });
  });

  test("a request whose write never ends holds up nobody, and its records go with a later one", async () => {
    const sink = memorySink();
    let nowMs = 0;
    let isStuck = true;
    const begun = new EventTarget();
    const writing = new Promise((resolve) => begun.addEventListener("write", resolve));
    const never = new Promise<void>(() => {});
    const write: RecordSink["write"] = (batch) => {
      if (!isStuck) return sink.write(batch);
      begun.dispatchEvent(new Event("write"));
      return never;
    };
    const stage = createStage({ ...sink, write }, { now: () => nowMs });
    void stage.request(2);
    await writing;
    isStuck = false;
    await stage.request(1);
    expect(sink.sealed.map(({ record }) => record.seq)).toEqual([3]);
    nowMs = 60_000;
    await stage.request(1);
    expect(sink.sealed.map(({ record }) => record.seq)).toEqual([3, 1, 2, 4]);
    expect(stage.recorder.status().sinks).toMatchObject([{ written: 4, waiting: 0, lost: 0 }]);
  });

  test("what could not be written goes with the next request; beyond the bound the oldest is lost, and shows", async () => {
    const sink = memorySink();
    const stage = createStage(sink, { maxWaiting: 4 });
    sink.failure = new Error("no collector");
    for (let count = 0; count < 6; count += 1) await stage.request(1);
    expect(stage.recorder.status()).toMatchObject({
      degraded: true,
      sinks: [{ state: "failing", error: "no collector", written: 0, lost: 2, waiting: 4 }],
    });
    sink.failure = undefined;
    await stage.request(1);
    // The seventh has pushed the third out.
    expect(sink.sealed.map(({ record }) => record.seq)).toEqual([4, 5, 6, 7]);
    expect(await problemsOf(sink.sealed.map(({ text }) => text))).toEqual([
      "missing: records 1 to 3 before it are missing",
    ]);
    expect(stage.lines).toEqual([
      "error: records cannot be written",
      "error: records are lost",
      "info: the record sink works again",
    ]);
  });
});

describe("a queue of records", () => {
  test("is sent what it takes: a hundred messages, a quarter of a megabyte, and none that is too long", async () => {
    const sent: (readonly { readonly body: string }[])[] = [];
    const sink = createQueueSink({
      sendBatch(messages) {
        sent.push(messages);
        return Promise.resolve();
      },
    });
    const stage = createStage(sink);
    await stage.request(230);
    expect(sent.map(({ length }) => length)).toEqual([100, 100, 30]);
    expect(await problemsOf(sent.flat().map(({ body }) => body))).toEqual([]);
    sent.length = 0;
    const big = "\u{1f600}".repeat(15_000);
    const batch = Array.from({ length: 9 }, () => ({ text: big }) as never);
    await sink.write(batch);
    expect(sent.map(({ length }) => length)).toEqual([4, 4, 1]);
  });

  test("a record that is longer than a message is lost, and the next one says so", async () => {
    const sink = memorySink();
    const stage = createStage({ ...sink, maxRecordBytes: 2000 });
    stage.recorder.onDecision(decision({ reason: "é".repeat(900) }));
    await stage.request(1);
    await stage.request(1);
    expect(sink.sealed.map(({ record: { reason, lost } }) => [reason, lost])).toEqual([
      ["", 1],
      ["", undefined],
    ]);
    expect(await problemsOf(sink.sealed.map(({ text }) => text))).toEqual([]);
  });
});
