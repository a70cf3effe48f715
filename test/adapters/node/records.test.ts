import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createFileSink,
  createSqliteSink,
  createThreadRecorder,
  openKeptRecords,
} from "../../../adapters/node/index.ts";
import { Recorder, type RecordSink } from "../../../src/records/index.ts";
import { decision, sha256 } from "../../records/fixtures.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hookgate-records-"));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const databasePath = (): string => join(dir, "records.db");
const linesPath = (): string => join(dir, "decisions.jsonl");

function ids(texts: readonly string[]): unknown[] {
  return texts.map((text) => (JSON.parse(text) as { id: string }).id);
}

async function record(sink: RecordSink, count: number): Promise<Recorder> {
  const recorder = new Recorder({ sinks: [sink], hash: sha256, maxBatch: 10 });
  const observe = recorder.toObserver();
  for (let index = 0; index < count; index += 1) observe(decision());
  await recorder.close();
  return recorder;
}

async function problemsOf(file: string): Promise<readonly string[]> {
  const kept = openKeptRecords(undefined, { baseDir: ".", file })!;
  const { problems } = await kept.verify();
  kept.close();
  return problems.map(({ kind }) => kind);
}

describe("a database", () => {
  test("goes on with its chain when it is opened again", async () => {
    await record(createSqliteSink({ path: databasePath() }), 30);
    await record(createSqliteSink({ path: databasePath() }), 30);
    const kept = openKeptRecords(undefined, { baseDir: ".", file: databasePath() })!;
    expect(await kept.verify()).toMatchObject({ count: 60, lost: 0, problems: [], head: { seq: 60 } });
    kept.close();
  });

  test("is looked up newest first, in pages, with filters", async () => {
    const recorder = new Recorder({ sinks: [createSqliteSink({ path: databasePath() })], hash: sha256 });
    const observe = recorder.toObserver();
    const made = Array.from({ length: 25 }, (_, index) => {
      const input = { meta: { SessionKey: index % 2 === 0 ? "even" : "odd" }, tool: index < 20 ? "bash" : "rm" };
      return decision({ input, action: index % 5 === 0 ? "deny_tool" : "continue" });
    });
    made.forEach(observe);
    await recorder.close();
    const { store, close } = openKeptRecords(undefined, { baseDir: ".", file: databasePath() })!;
    const first = await store!.list({ maxRecords: 10 });
    const second = await store!.list({ maxRecords: 10, cursor: first.next });
    const third = await store!.list({ maxRecords: 10, cursor: second.next });
    const expected = made.map(({ id }) => id).toReversed();
    expect(ids([...first.records, ...second.records, ...third.records])).toEqual(expected);
    expect(third.next).toBeUndefined();
    const filtered = await store!.list({ maxRecords: 50, session: "odd", tool: "bash", outcome: "deny_tool" });
    expect(ids(filtered.records)).toEqual([15, 5].map((index) => made[index]!.id));
    expect(ids([(await store!.get(made[3]!.id))!])).toEqual([made[3]!.id]);
    expect(await store!.get("nothing")).toBeUndefined();
    close();
  });

  test.each([
    ["a removed row", "DELETE FROM records WHERE seq = 5", ["missing"]],
    [
      "a changed body",
      `UPDATE records SET body = replace(body, 'bash', 'bosh') WHERE seq = 5`,
      ["unreadable", "missing"],
    ],
    ["a changed column", "UPDATE records SET outcome = 'deny_tool' WHERE seq = 5", ["unreadable", "missing"]],
    ["a changed time", "UPDATE records SET at_ms = at_ms - 1 WHERE seq = 5", ["unreadable", "missing"]],
    ["a cut end", "DELETE FROM records WHERE seq > 15", ["truncated"]],
    ["a cut beginning", "DELETE FROM records WHERE seq < 5", ["missing"]],
    [
      "two rows in the place of each other",
      "CREATE TEMP TABLE t AS SELECT body FROM records WHERE seq = 5; UPDATE records SET body = (SELECT body FROM records WHERE seq = 6) WHERE seq = 5; UPDATE records SET body = (SELECT body FROM t) WHERE seq = 6",
      ["unreadable", "unreadable", "missing"],
    ],
  ])("shows %s", async (_name, sql, kinds) => {
    await record(createSqliteSink({ path: databasePath() }), 20);
    const database = new DatabaseSync(databasePath());
    database.exec(sql);
    database.close();
    expect(await problemsOf(databasePath())).toEqual(kinds);
  });

  test("deletes what is too old or too much, and its chain is still good", async () => {
    await record(createSqliteSink({ path: databasePath(), maxRecords: 25 }), 100);
    const kept = openKeptRecords(undefined, { baseDir: ".", file: databasePath() })!;
    expect(await kept.verify()).toMatchObject({ count: 25, problems: [] });
    kept.close();
    await record(createSqliteSink({ path: databasePath(), maxAgeMs: 60_000 }), 1);
    const after = openKeptRecords(undefined, { baseDir: ".", file: databasePath() })!;
    expect(await after.verify()).toMatchObject({ count: 1, problems: [] });
    after.close();
  });

  test("has a good chain after kill -9", { timeout: 30_000 }, async () => {
    const script = join(import.meta.dirname, "../../fixtures/record-forever.ts");
    const child = spawn(process.execPath, [script, databasePath()], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "close");
    await record(createSqliteSink({ path: databasePath() }), 5);
    const kept = openKeptRecords(undefined, { baseDir: ".", file: databasePath() })!;
    const report = await kept.verify();
    expect(report.problems).toEqual([]);
    expect(report.count).toBeGreaterThan(1000);
    kept.close();
  });

  test("that cannot be opened is reported, and decisions go on", async () => {
    writeFileSync(join(dir, "file"), "");
    const recorder = createThreadRecorder({ sqlite: { path: join(dir, "file", "records.db") } });
    recorder.toObserver()(decision());
    await recorder.flush();
    expect(recorder.status()).toMatchObject({ degraded: true, sinks: [{ name: "sqlite", state: "failing" }] });
    await recorder.close();
    expect(recorder.status()).toMatchObject({ sinks: [{ lost: 1 }] });
  });
});

describe("files", () => {
  test("rotate, and their chain is good though the oldest is deleted", async () => {
    for (let round = 0; round < 3; round += 1) {
      await record(createFileSink({ path: linesPath(), maxBytes: 8000, maxFiles: 3 }), 50);
    }
    expect(readdirSync(dir).toSorted()).toEqual(
      ["decisions.jsonl", "decisions.jsonl.1", "decisions.jsonl.2", "decisions.jsonl.state"].toSorted(),
    );
    for (const name of ["decisions.jsonl.1", "decisions.jsonl.2"]) {
      expect(readFileSync(join(dir, name)).length).toBeLessThanOrEqual(8000);
    }
    expect(await problemsOf(linesPath())).toEqual([]);
  });

  test("show what was done to them", async () => {
    await record(createFileSink({ path: linesPath() }), 20);
    const text = readFileSync(linesPath(), "utf8");
    const lines = text.trimEnd().split("\n");
    const tampered: [string[], string[]][] = [
      [lines.toSpliced(5, 1), ["missing"]],
      [lines.with(5, lines[5]!.replace("bash", "bosh")), ["changed"]],
      [lines.slice(0, 12), ["truncated"]],
    ];
    for (const [content, kinds] of tampered) {
      writeFileSync(linesPath(), `${content.join("\n")}\n`);
      expect(await problemsOf(linesPath())).toEqual(kinds);
    }
  });

  test("go on behind a line that was torn", async () => {
    await record(createFileSink({ path: linesPath() }), 20);
    truncateSync(linesPath(), readFileSync(linesPath()).length - 10);
    await record(createFileSink({ path: linesPath() }), 5);
    const kept = openKeptRecords(undefined, { baseDir: ".", file: linesPath() })!;
    expect(await kept.verify()).toMatchObject({ count: 24, problems: [] });
    kept.close();
  });

  test("a full disk is reported", { timeout: 20_000 }, async () => {
    // There is no room on this device, ever.
    const sink = createFileSink({ path: existsSync("/dev/full") ? "/dev/full" : join(dir, "nowhere", "x") });
    const recorder = await record(sink, 3);
    expect(recorder.status().sinks[0]).toMatchObject({ state: "failing", lost: 3, written: 0 });
  });

  test("only their owner can read them", async () => {
    await record(createFileSink({ path: linesPath() }), 1);
    chmodSync(dir, 0o700);
    const { statSync } = await import("node:fs");
    expect(statSync(linesPath()).mode & 0o077).toBe(0);
  });
});

test("100,000 records keep memory flat", { timeout: 60_000 }, async () => {
  const recorder = createThreadRecorder({ sqlite: { path: join(dir, "records.db") } });
  const observe = recorder.toObserver();
  const usedBytes: number[] = [];
  for (let count = 0; count < 100_000; count += 1) {
    observe(decision());
    if (count % 2000 === 1999) await recorder.flush();
    if (count % 20_000 === 19_999) usedBytes.push(process.memoryUsage().rss);
  }
  await recorder.close();
  expect(recorder.status()).toMatchObject({ dropped: 0, sinks: [{ written: 100_000, lost: 0 }] });
  expect(usedBytes.at(-1)! - usedBytes[1]!).toBeLessThan(64 * 1024 * 1024);
  const kept = openKeptRecords(undefined, { baseDir: ".", file: join(dir, "records.db") })!;
  const startedAtMs = performance.now();
  const page = await kept.store!.list({ maxRecords: 50, session: "s1", outcome: "continue" });
  expect(performance.now() - startedAtMs).toBeLessThan(100);
  expect(page.records).toHaveLength(50);
  kept.close();
});
