import { rmSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { createSqliteApprovalStore } from "../../../adapters/node/index.ts";
import type { SessionHookStore } from "../../../src/jcli/index.ts";
import { START_MS } from "../../conformance/approval-fixture.ts";
import { type OpenSessionStoreStage, savedHook } from "../../conformance/session-store.ts";
import { describeSessionStore } from "../../jcli/session-store-contract.ts";

const directory = await mkdtemp(join(tmpdir(), "hookgate-sessions-"));
let count = 0;
const newPath = (): string => join(directory, `${(count += 1)}.db`);

afterAll(() => rmSync(directory, { recursive: true }));

interface Opened {
  readonly sessionHooks: SessionHookStore;
  close(): Promise<void>;
}

function open(path: string, now?: () => number): Opened {
  const store = createSqliteApprovalStore({ path, now });
  const { sessionHooks } = store;
  if (sessionHooks === undefined) throw new Error("it keeps no session hooks");
  return { sessionHooks, close: () => store.close() };
}

function openStage(isMemory: boolean): OpenSessionStoreStage {
  return async () => {
    let nowMs = START_MS;
    const now = (): number => nowMs;
    const path = isMemory ? ":memory:" : newPath();
    const opened: Opened[] = [];
    const create = (): SessionHookStore => {
      const each = open(path, now);
      opened.push(each);
      return each.sessionHooks;
    };
    return {
      store: create(),
      other: isMemory ? undefined : create(),
      now,
      advance: (ms) => void (nowMs += ms),
      reopen: isMemory
        ? undefined
        : async () => {
            for (const each of opened.splice(0)) await each.close();
            return create();
          },
      tells: "own",
      close: async () => {
        for (const each of opened) await each.close();
      },
    };
  };
}

describeSessionStore("a SQLite database of one process", openStage(true));
describeSessionStore("a SQLite file of two", openStage(false), { numRuns: 10 });

const change = { session: "s", version: 0, hooks: [savedHook("a")], maxSessions: 10 };
const unavailable = { code: "ERR_STORE_UNAVAILABLE" };

describe("session hooks in a SQLite file that cannot be used", () => {
  test("are unavailable until it can be, and are not lost", async () => {
    const path = join(directory, "later", "store.db");
    const { sessionHooks: store, close } = open(path);
    await expect(store.get("s")).rejects.toMatchObject(unavailable);
    await expect(store.replace(change)).rejects.toMatchObject(unavailable);
    await mkdir(join(directory, "later"));
    expect(await store.replace(change)).toMatchObject({ outcome: "replaced" });
    const lock = new DatabaseSync(path);
    lock.exec("BEGIN EXCLUSIVE");
    await expect(store.replace({ ...change, version: 1 })).rejects.toMatchObject(unavailable);
    lock.exec("ROLLBACK");
    lock.close();
    expect(await store.get("s")).toMatchObject({ hooks: change.hooks });
    await close();
    await expect(store.get("s")).rejects.toMatchObject(unavailable);
  });

  test.each(['{"secret":"hunter2"}', "[]", '["hunter2"]', "hunter2", ""])(
    "never say what is in a row that is none: %s",
    async (body) => {
      const path = newPath();
      const { sessionHooks: store, close } = open(path);
      await store.replace(change);
      const database = new DatabaseSync(path);
      database.prepare("UPDATE session_hooks SET body = ?").run(body);
      database.close();
      const error: unknown = await store.get("s").catch((thrown: unknown) => thrown);
      expect(error).toMatchObject(unavailable);
      expect(String(error)).not.toContain("hunter2");
      await close();
    },
  );
});
