import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Approval,
  ApprovalActor,
  createRemoteApprovalStore,
  NotificationError,
  type NotificationStatus,
  type NotificationTarget,
  OutboxNotifier,
} from "../../src/approvals/index.ts";
import { Outbox, type SqlExec } from "../../src/approvals/outbox.ts";
import { createObjectLog, type LogFields, silentLog } from "../../src/log.ts";
import { newApproval } from "../conformance/approval-fixture.ts";

const START_MS = Date.UTC(2026, 10, 28);
const DAY_MS = 86_400_000;

/** What a target does with the next notices; it takes them after that. */
type Reply = "take" | "later" | "never" | "hang up";

interface Stage {
  readonly actor: ApprovalActor;
  readonly lines: LogFields[];
  /** What the target was sent, as `ID NEWS`. */
  readonly sent: string[];
  /** What observers were told, as `ID STATUS`. */
  readonly told: string[];
  readonly replies: Reply[];
  /** Whether the gateway can be used, and lives until it has said what came of what it took. */
  gateway: "well" | "broken" | "dies";
  /** What happens while a gateway that has taken what was due is on its way back. */
  meanwhile: () => void;
  nowMs: number;
  readonly alarmMs: number | undefined;
  tell(approval: Approval): Promise<void>;
  create(approval: Approval): Promise<void>;
  /** Lets time go by, with the alarms that come in it. */
  advance(ms: number): Promise<void>;
  status(): Promise<NotificationStatus | undefined>;
}

function toExec(database: DatabaseSync): SqlExec {
  return (sql, ...values) => {
    if (values.length > 0 || sql.startsWith("SELECT") || sql.includes("RETURNING")) {
      return database.prepare(sql).all(...values);
    }
    database.exec(sql);
    return [];
  };
}

function openStage(): Stage {
  const database = new DatabaseSync(":memory:");
  let alarmMs: number | undefined;
  const works: Promise<void>[] = [];
  const lines: LogFields[] = [];
  const settle = async (): Promise<void> => {
    while (works.length > 0) await Promise.all(works.splice(0));
  };
  const actor = new ApprovalActor({
    storage: {
      sql: { exec: toExec(database) },
      transactionSync: (work) => work(),
      getAlarm: async () => alarmMs ?? null,
      setAlarm: async (timeMs) => void (alarmMs = timeMs),
    },
    async askGateway() {
      if (stage.gateway === "broken") throw new Error("the config cannot be used");
      await notifier.deliver();
      await settle();
      stage.meanwhile();
    },
    now: () => stage.nowMs,
    log: createObjectLog((level, line) => lines.push({ level, ...line })),
  });
  const target: NotificationTarget = {
    name: "desk",
    kind: "slack",
    news: ["requested", "decided"],
    async deliver({ news, approval }) {
      stage.sent.push(`${approval.id} ${news}`);
      const reply = stage.replies.shift() ?? "take";
      if (reply === "hang up") throw new TypeError("socket hang up");
      if (reply !== "take") throw new NotificationError("no", { mayRetry: reply === "later" });
    },
  };
  const notifier = new OutboxNotifier({
    targets: [target],
    connect: () => ({
      enqueue: (...given) => actor.enqueue(...given),
      async exchange(results, maxTaken) {
        if (results.length > 0 && stage.gateway === "dies") throw new Error("the isolate is gone");
        return actor.exchange(results, maxTaken);
      },
    }),
    onNews: (_, { id, status }) => void stage.told.push(`${id} ${status}`),
    waitUntil: (work) => void works.push(work),
    now: () => stage.nowMs,
    random: () => 0,
    startTimer: () => () => undefined,
  });
  const store = createRemoteApprovalStore({ name: "actor", connect: () => actor });
  const stage: Stage = {
    actor,
    lines,
    sent: [],
    told: [],
    replies: [],
    gateway: "well",
    meanwhile: () => undefined,
    nowMs: START_MS,
    get alarmMs() {
      return alarmMs;
    },
    async tell(approval) {
      notifier.tell("requested", approval);
      await settle();
    },
    create: async (approval) => void (await store.create(approval)),
    async advance(ms) {
      const untilMs = stage.nowMs + ms;
      while (alarmMs !== undefined && alarmMs <= untilMs) {
        stage.nowMs = Math.max(stage.nowMs, alarmMs);
        alarmMs = undefined;
        await actor.alarm();
        await settle();
      }
      stage.nowMs = untilMs;
    },
    status: async () => (await notifier.status())[0],
  };
  return stage;
}

/** An approval with time for every attempt. */
function longApproval(nowMs: number): Approval {
  return newApproval(nowMs, { expires: new Date(nowMs + DAY_MS / 2).toISOString() });
}

describe("an outbox", () => {
  test("tries eight times at growing distances, and gives up then", async () => {
    const stage = openStage();
    stage.replies.push(...Array.from({ length: 20 }, (): Reply => "later"));
    await stage.tell(longApproval(stage.nowMs));
    const times: number[] = [stage.nowMs];
    for (let count = 1; stage.alarmMs !== undefined && count < 20; count += 1) {
      await stage.advance(stage.alarmMs - stage.nowMs);
      if (stage.sent.length > times.length) times.push(stage.nowMs);
    }
    expect(times.map((timeMs) => (timeMs - START_MS) / 1000)).toEqual([0, 1, 3, 7, 15, 31, 63, 127]);
    expect(await stage.status()).toMatchObject({ delivered: 0, failed: 1, waiting: 0, last_error: "no" });
  });

  test.for([
    ["never", { failed: 1, delivered: 0, last_error: "no" }, 1],
    ["later", { failed: 0, delivered: 1 }, 2],
    ["hang up", { failed: 0, delivered: 1 }, 2],
  ] as const)("after an answer of %s goes on as a queue in memory does", async ([reply, status, count]) => {
    const stage = openStage();
    stage.replies.push(reply);
    await stage.tell(longApproval(stage.nowMs));
    await stage.advance(1000);
    expect(stage.sent).toHaveLength(count);
    expect(await stage.status()).toEqual({ name: "desk", kind: "slack", dropped: 0, waiting: 0, ...status });
  });

  test("is not taken for one that no gateway empties because more comes in", async () => {
    const stage = openStage();
    const [first, second] = [longApproval(stage.nowMs), longApproval(stage.nowMs)];
    stage.meanwhile = () => {
      stage.meanwhile = () => undefined;
      void stage.tell(second);
    };
    await stage.tell(first);
    await stage.advance(1000);
    expect(stage.sent).toEqual([`${first.id} requested`, `${second.id} requested`]);
    expect(stage.lines).toEqual([]);
  });

  test("uses up no attempt while no gateway can be asked", async () => {
    const stage = openStage();
    stage.gateway = "broken";
    await stage.tell(longApproval(stage.nowMs));
    await stage.advance(DAY_MS / 4);
    stage.gateway = "well";
    stage.replies.push("later", "later");
    await stage.advance(7_200_000);
    expect(stage.sent).toHaveLength(3);
    expect(await stage.status()).toMatchObject({ delivered: 1, failed: 0, waiting: 0 });
  });

  test("gives up what cannot be read, and says so", async () => {
    const stage = openStage();
    const { id } = longApproval(stage.nowMs);
    const notice = { approval: id, news: "requested", body: "{", untilMs: stage.nowMs + DAY_MS } as const;
    await stage.actor.enqueue(notice, ["desk"]);
    await stage.advance(60_000);
    expect(await stage.status()).toMatchObject({ failed: 1, waiting: 0, last_error: "it cannot be read" });
  });

  test("that is of before what it counts now goes on", () => {
    const database = new DatabaseSync(":memory:");
    const before =
      "seq INTEGER PRIMARY KEY AUTOINCREMENT, approval TEXT NOT NULL, news TEXT NOT NULL, target TEXT NOT NULL, attempt INTEGER NOT NULL, due_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (approval, news, target)";
    database.exec(
      `CREATE TABLE outbox (${before}); INSERT INTO outbox VALUES (1, 'a', 'decided', 'desk', 3, 0, 9, '{}')`,
    );
    for (let start = 0; start < 2; start += 1) {
      const outbox = new Outbox({ exec: toExec(database), now: () => 1, log: silentLog });
      outbox.postpone(1);
    }
    expect(database.prepare("SELECT attempt, asked FROM outbox").all()).toEqual([{ attempt: 3, asked: 1 }]);
  });

  test("asks nobody to decide what cannot be decided any more", async () => {
    const stage = openStage();
    stage.gateway = "broken";
    await stage.tell(newApproval(stage.nowMs));
    await stage.advance(DAY_MS);
    stage.gateway = "well";
    await stage.advance(DAY_MS);
    expect(stage.sent).toEqual([]);
    expect(await stage.status()).toMatchObject({ failed: 1, waiting: 0, last_error: "given up: its time was over" });
  });

  test("keeps a thousand for a target that nobody reaches, and counts the others", async () => {
    const stage = openStage();
    stage.gateway = "broken";
    for (let count = 0; count < 1003; count += 1) await stage.tell(longApproval(stage.nowMs));
    expect(await stage.status()).toMatchObject({
      dropped: 3,
      waiting: 1000,
      last_error: "too many notifications wait",
    });
    stage.gateway = "well";
    await stage.advance(DAY_MS / 4);
    expect(await stage.status()).toMatchObject({ delivered: 1000, dropped: 3, waiting: 0 });
    expect(new Set(stage.sent).size).toBe(1000);
  });

  test("of which no gateway tells says so, more and more seldom, for a day", async () => {
    const stage = openStage();
    stage.gateway = "broken";
    const approval = newApproval(stage.nowMs);
    await stage.create(approval);
    await stage.advance(DAY_MS + 3_600_000);
    const errors = stage.lines.map(({ message, approval: id }) => [message, id] as const);
    expect(errors.length).toBeLessThan(40);
    expect(errors.at(-1)).toEqual(["observers were not told of an approval: no gateway could", approval.id]);
    // What is left is to take the approval away when it is old.
    expect(stage.alarmMs).toBeGreaterThan(stage.nowMs + 20 * DAY_MS);
  });
});

const command = fc.oneof(
  fc.record({ kind: fc.constant("tell" as const), isShort: fc.boolean() }),
  fc.record({ kind: fc.constant("gateway" as const), is: fc.constantFrom("well", "broken", "dies") }),
  fc.record({
    kind: fc.constant("replies" as const),
    are: fc.array(fc.constantFrom<Reply>("later", "never", "hang up"), { maxLength: 10 }),
  }),
  fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(500, 5000, 29_000, 61_000, 600_000) }),
);

test("an outbox loses nothing and settles everything, whatever happens to gateways and targets", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
      const stage = openStage();
      const approvals: Approval[] = [];
      let hasDied = false;
      for (const given of commands) {
        if (given.kind === "advance") await stage.advance(given.ms);
        else if (given.kind === "replies") stage.replies.push(...given.are);
        else if (given.kind === "gateway") {
          stage.gateway = given.is;
          hasDied ||= given.is === "dies";
        } else {
          const approval = given.isShort ? newApproval(stage.nowMs) : longApproval(stage.nowMs);
          approvals.push(approval);
          await stage.create(approval);
          await stage.tell(approval);
        }
        const { delivered = 0, failed = 0, waiting = 0 } = (await stage.status()) ?? {};
        expect(waiting === 0 || stage.alarmMs !== undefined).toBe(true);
        expect(delivered + failed + waiting).toBeGreaterThanOrEqual(approvals.length);
      }
      stage.gateway = "well";
      stage.replies.length = 0;
      await stage.advance(3 * DAY_MS);
      const expired = approvals.map(({ id }) => `${id} expired`);
      expect([...new Set(stage.told)].toSorted()).toEqual(expired.toSorted());
      expect(await stage.status()).toMatchObject({ waiting: 0, dropped: 0 });
      const { delivered = 0, failed = 0 } = (await stage.status()) ?? {};
      // Each was asked for and has expired.
      expect(delivered + failed).toBeGreaterThanOrEqual(2 * approvals.length);
      if (hasDied) return;
      expect(delivered + failed).toBe(2 * approvals.length);
      expect(stage.told).toHaveLength(approvals.length);
    }),
    { numRuns: 200 },
  );
});
