import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RecordDatabase, toListQuery } from "../../../adapters/node/record-database.ts";
import { type ListOptions, NO_HASH, type Sealed } from "../../../src/records/index.ts";

let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hookgate-database-"));
  path = join(dir, "records.db");
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Row {
  readonly atMs: number;
  readonly session: string | undefined;
  readonly tool: string | undefined;
  readonly outcome: string;
}

function seal({ atMs, session, tool, outcome }: Row, seq: number): Sealed {
  const record = {
    id: `id-${seq}`,
    time: new Date(atMs).toISOString(),
    trace_id: NO_HASH.slice(0, 32),
    generation: 1,
    point: "before_tool",
    input_sha256: NO_HASH,
    action: outcome,
    reason: "",
    ms: 1,
    hooks: [],
    chain: "c",
    seq,
    prev: NO_HASH,
    ...(session !== undefined && { session }),
    ...(tool !== undefined && { tool }),
  };
  return { record, hash: NO_HASH, text: JSON.stringify(record) };
}

/** Every way to ask for a page. */
const QUESTIONS: readonly ListOptions[] = Array.from({ length: 32 }, (_, bits) => ({
  maxRecords: 50,
  ...(bits & 1 && { session: "s1" }),
  ...(bits & 2 && { tool: "bash" }),
  ...(bits & 4 && { outcome: "deny_tool" }),
  ...(bits & 8 && { sinceMs: 1000 }),
  ...(bits & 16 && { cursor: "500" }),
}));

describe("a batch", () => {
  test("that cannot be written says why, also when SQLite has given it up by itself, as it does on a full disk", () => {
    const database = new RecordDatabase(path);
    const other = new DatabaseSync(path);
    other.exec("CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END");
    const row: Row = { atMs: 1, session: undefined, tool: undefined, outcome: "continue" };
    expect(() => database.write([seal(row, 1)])).toThrow("the disk is full");
    other.exec("DROP TRIGGER full");
    other.close();
    database.write([seal(row, 1)]);
    expect([...database.all()]).toHaveLength(1);
    database.close();
  });

  test("is read by the owner of its file alone", () => {
    const database = new RecordDatabase(path);
    database.write([seal({ atMs: 1, session: undefined, tool: undefined, outcome: "continue" }, 1)]);
    const names = readdirSync(dir);
    expect(names).toContain("records.db-wal");
    expect(names.map((name) => (statSync(join(dir, name)).mode & 0o777).toString(8))).toEqual(names.map(() => "600"));
    database.close();
  });
});

describe("a page of records", () => {
  test.each(QUESTIONS)("is read off an index, in order: %o", (question) => {
    new RecordDatabase(path).close();
    const database = new DatabaseSync(path);
    const { sql, values } = toListQuery(question);
    const steps = database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map(({ detail }) => String(detail));
    database.close();
    const { session, tool, outcome, sinceMs, cursor } = question;
    const index =
      session !== undefined
        ? "USING INDEX records_session (session=?"
        : tool !== undefined
          ? "USING INDEX records_tool (tool=?"
          : outcome !== undefined
            ? "USING INDEX records_outcome (outcome=?"
            : sinceMs !== undefined || cursor !== undefined
              ? "USING INTEGER PRIMARY KEY (rowid"
              : "SCAN records";
    expect(steps[0]).toContain(index);
    // Sorting would read every record that matches, however many of them are wanted.
    expect(steps.filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
    const looksForTime = steps.some((step) => step.includes("COVERING INDEX records_at (at_ms>?)"));
    expect(looksForTime).toBe(sinceMs !== undefined);
  });

  test("has the records that were asked for, the newest first, also where a clock was set back", () => {
    const row = fc.record<Row>({
      atMs: fc.integer({ min: 0, max: 20 }),
      session: fc.constantFrom("s1", "s2", undefined),
      tool: fc.constantFrom("bash", "rm", undefined),
      outcome: fc.constantFrom("continue", "deny_tool"),
    });
    const question = fc.record(
      {
        session: fc.constantFrom("s1", "s2", "s3"),
        tool: fc.constantFrom("bash", "rm"),
        outcome: fc.constantFrom("continue", "deny_tool", "denied"),
        sinceMs: fc.integer({ min: 0, max: 21 }),
        cursor: fc.integer({ min: 1, max: 40 }).map(String),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 40 }),
        question,
        fc.integer({ min: 1, max: 10 }),
        (rows, asked, maxRecords) => {
          const database = new RecordDatabase(":memory:");
          database.write(rows.map((each, index) => seal(each, index + 1)));
          const wanted = rows
            .map((each, index) => ({ ...each, seq: index + 1 }))
            .filter(({ session, tool, outcome, atMs, seq }) => {
              if (asked.session !== undefined && asked.session !== session) return false;
              if (asked.tool !== undefined && asked.tool !== tool) return false;
              if (asked.outcome !== undefined && asked.outcome !== outcome) return false;
              if (asked.cursor !== undefined && seq >= Number(asked.cursor)) return false;
              return asked.sinceMs === undefined || atMs >= asked.sinceMs;
            })
            .map(({ seq }) => seq)
            .toReversed();
          const page = database.list({ ...asked, maxRecords });
          database.close();
          expect(page.records.map((text) => (JSON.parse(text) as { seq: number }).seq)).toEqual(
            wanted.slice(0, maxRecords),
          );
          expect(page.next).toBe(wanted.length > maxRecords ? String(wanted[maxRecords - 1]) : undefined);
        },
      ),
    );
  });
});
