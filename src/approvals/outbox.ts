import type { Log } from "../log.ts";
import type { ApprovalNews } from "./manager.ts";
import { MAX_WAITING_NOTICES } from "./notice-attempt.ts";

/** The target of what observers, and then all targets, are to be told. */
export const EVERYONE = "";

/** How many entries a gateway takes at once: Workers let a request have six connections that wait for their headers. */
export const MAX_TAKEN = 6;

/** What is to be told of an approval. It holds no address and no secret: these the gateway has. */
export interface OutboxNotice {
  readonly approval: string;
  readonly news: ApprovalNews;
  /** The approval as it was when there was this to tell, for `readApproval`. */
  readonly body: string;
  /** Until when it is of use, in milliseconds since the epoch; the outbox may give it up before. */
  readonly untilMs: number;
}

/** A notice for one target, as somebody takes it to deliver. */
export interface OutboxEntry {
  readonly seq: number;
  readonly news: string;
  /** The name of a target, or {@link EVERYONE}. */
  readonly target: string;
  /** How often it was taken, this time included. */
  readonly attempt: number;
  readonly body: string;
}

/** What came of an {@link OutboxEntry}. What belongs to an attempt that another has followed changes nothing. */
export interface DeliveryResult extends Pick<OutboxEntry, "seq" | "attempt"> {
  readonly outcome: "delivered" | "failed" | "again";
  /** After how long it is to be tried again, in milliseconds; only for `again`. */
  readonly delayMs?: number | undefined;
  /** What went wrong; without an address or a secret. */
  readonly error?: string | undefined;
}

/** How the notices of one target fared, whoever has delivered them. */
export interface DeliveryCounts {
  readonly target: string;
  readonly delivered: number;
  readonly failed: number;
  readonly dropped: number;
  readonly waiting: number;
  /** Empty after a delivery. */
  readonly lastError: string;
}

/** What {@link OutboxPeer.exchange} gives for results. */
export interface OutboxExchange {
  /** What was due: unless it is settled in time it is due again. */
  readonly taken: readonly OutboxEntry[];
  readonly counts: readonly DeliveryCounts[];
}

/** Where what is to be told waits until it was. Everything that goes in and out is plain data. */
export interface OutboxPeer {
  /** Keeps a notice for each of the targets, and has a gateway deliver it. */
  enqueue(notice: OutboxNotice, targets: readonly string[]): Promise<void>;
  /** Settles what was taken before, and takes what is due, at most `maxTaken`. */
  exchange(results: readonly DeliveryResult[], maxTaken: number): Promise<OutboxExchange>;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, approval TEXT NOT NULL, news TEXT NOT NULL, target TEXT NOT NULL,
  attempt INTEGER NOT NULL, due_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, body TEXT NOT NULL,
  asked INTEGER NOT NULL DEFAULT 0, UNIQUE (approval, news, target)
);
CREATE INDEX IF NOT EXISTS outbox_due ON outbox (due_ms);
CREATE INDEX IF NOT EXISTS outbox_target ON outbox (target);
CREATE TABLE IF NOT EXISTS deliveries (
  target TEXT PRIMARY KEY, delivered INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
  dropped INTEGER NOT NULL DEFAULT 0, last_error TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
`;

/** How long whoever has taken an entry has it to themselves, in milliseconds: longer than an attempt may take. */
const LEASE_MS = 30_000;
/** How soon after it was handed on the rest of what is due is, in milliseconds. */
const GO_ON_MS = 1000;
/** How soon after nobody could take what is due somebody is asked again, in milliseconds; twice as long each time. */
const ASK_AGAIN_MS = 30_000;
const MAX_ASK_AGAIN_MS = 3_600_000;
/** How long what cannot be told is kept, in milliseconds. */
const KEEP_MS = 86_400_000;

/** A value of SQLite. */
export type SqlValue = string | number;

/** Runs one statement, or several without values. */
export type SqlExec = (sql: string, ...values: SqlValue[]) => Iterable<Readonly<Record<string, unknown>>>;

/** What an {@link Outbox} runs on. */
export interface OutboxOptions {
  readonly exec: SqlExec;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
}

/** The tables of what is to be told. Each method is one step: nothing else comes in between. */
export class Outbox {
  readonly #exec: SqlExec;
  readonly #now: () => number;
  readonly #log: Log;
  #takenCount = 0;

  constructor({ exec, now, log }: OutboxOptions) {
    this.#exec = exec;
    this.#now = now;
    this.#log = log;
    exec(SCHEMA);
    const [{ count } = {}] = exec(
      "SELECT COUNT(*) AS count FROM sqlite_master WHERE name = 'outbox' AND sql LIKE '% asked %'",
    );
    // An outbox of before has the column not.
    if (count === 0) exec("ALTER TABLE outbox ADD COLUMN asked INTEGER NOT NULL DEFAULT 0");
  }

  /** Keeps a notice for a target; what is there stays as it is. */
  put({ approval, news, body, untilMs }: OutboxNotice, target: string): void {
    if (target !== EVERYONE && this.#count("target = ?", target) >= MAX_WAITING_NOTICES) {
      this.#note(target, "dropped", "too many notifications wait");
      return;
    }
    const nowMs = this.#now();
    if (target !== EVERYONE) this.#exec("INSERT INTO deliveries (target) VALUES (?) ON CONFLICT DO NOTHING", target);
    const row = [approval, news, target, nowMs, Math.min(untilMs, nowMs + KEEP_MS), body];
    this.#exec(
      "INSERT INTO outbox (approval, news, target, attempt, due_ms, until_ms, body) VALUES (?, ?, ?, 0, ?, ?, ?) ON CONFLICT DO NOTHING",
      ...row,
    );
  }

  /** Takes what is due, what has waited longest first. */
  take(maxEntries: number): readonly OutboxEntry[] {
    const nowMs = this.#now();
    this.giveUp();
    const due = "SELECT seq FROM outbox WHERE due_ms <= ? ORDER BY due_ms, seq LIMIT ?";
    const sql = `UPDATE outbox SET attempt = attempt + 1, asked = 0, due_ms = ? WHERE seq IN (${due}) RETURNING seq, news, target, attempt, body`;
    const taken = [...this.#exec(sql, nowMs + LEASE_MS, nowMs, maxEntries)].map((row) => ({
      seq: Number(row["seq"]),
      news: String(row["news"]),
      target: String(row["target"]),
      attempt: Number(row["attempt"]),
      body: String(row["body"]),
    }));
    this.#takenCount += taken.length;
    return taken;
  }

  /** How many entries were taken since this object was made. */
  get takenCount(): number {
    return this.#takenCount;
  }

  /**
   * Puts off what was due at a time, in milliseconds since the epoch, and which nobody could take. That was no attempt to
   * deliver it.
   */
  postpone(askedAtMs: number): void {
    const delay = "MIN(?, ? * (1 << MIN(asked, 20)))";
    const sql = `UPDATE outbox SET due_ms = ? + ${delay}, asked = asked + 1 WHERE due_ms <= ?`;
    this.#exec(sql, this.#now(), MAX_ASK_AGAIN_MS, ASK_AGAIN_MS, askedAtMs);
  }

  settle({ seq, attempt, outcome, delayMs = 0, error = "" }: DeliveryResult): void {
    const where = "WHERE seq = ? AND attempt = ? RETURNING target";
    const [row] =
      outcome === "again"
        ? this.#exec(`UPDATE outbox SET due_ms = ? ${where}`, this.#now() + delayMs, seq, attempt)
        : this.#exec(`DELETE FROM outbox ${where}`, seq, attempt);
    const target = row && String(row["target"]);
    if (target !== undefined && target !== EVERYONE) this.#note(target, outcome, error);
  }

  counts(): readonly DeliveryCounts[] {
    const waiting = "(SELECT COUNT(*) FROM outbox WHERE outbox.target = deliveries.target) AS waiting";
    return [...this.#exec(`SELECT *, ${waiting} FROM deliveries`)].map((row) => ({
      target: String(row["target"]),
      delivered: Number(row["delivered"]),
      failed: Number(row["failed"]),
      dropped: Number(row["dropped"]),
      waiting: Number(row["waiting"]),
      lastError: String(row["last_error"]),
    }));
  }

  /** Gives up what is of no use any more. */
  giveUp(): void {
    const late = [...this.#exec("DELETE FROM outbox WHERE until_ms <= ? RETURNING approval, target", this.#now())];
    for (const { approval, target } of late) {
      if (target !== EVERYONE) this.#note(String(target), "failed", "given up: its time was over");
      else this.#log.error("observers were not told of an approval: no gateway could", { approval: String(approval) });
    }
  }

  get dueCount(): number {
    return this.#count("due_ms <= ?", this.#now());
  }

  /** When the outbox is to be looked at next, in milliseconds since the epoch; undefined when it is empty. */
  get nextMs(): number | undefined {
    const [row] = this.#exec("SELECT MIN(due_ms) AS due FROM outbox");
    const due = row?.["due"];
    if (typeof due !== "number") return undefined;
    const nowMs = this.#now();
    return due > nowMs ? due : nowMs + GO_ON_MS;
  }

  #note(target: string, outcome: DeliveryResult["outcome"] | "dropped", error: string): void {
    this.#exec("INSERT INTO deliveries (target) VALUES (?) ON CONFLICT DO NOTHING", target);
    const counted = outcome === "again" ? "" : `${outcome} = ${outcome} + 1, `;
    this.#exec(`UPDATE deliveries SET ${counted}last_error = ? WHERE target = ?`, error, target);
  }

  #count(where: string, value: SqlValue): number {
    const [row] = this.#exec(`SELECT COUNT(*) AS count FROM outbox WHERE ${where}`, value);
    return Number(row?.["count"] ?? 0);
  }
}
