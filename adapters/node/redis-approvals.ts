import {
  type Approval,
  APPROVAL_STATUSES,
  type ApprovalRow,
  type ApprovalStore,
  assertListOptions,
  ChangeHub,
  readApproval,
  readApprovals,
  storeUnavailable,
  toApprovalIndex,
  toApprovalPage,
} from "../../src/approvals/index.ts";
import { type GatewayStore, parseRedisAddress } from "../../src/config/index.ts";
import { HookgateError } from "../../src/errors.ts";
import { type Log, silentLog } from "../../src/log.ts";
import type { ReplayStore } from "../../src/signing/replay.ts";
import { RedisConnection } from "./redis-connection.ts";
import {
  APPROVAL_KEYS,
  CREATE,
  END_UNREADABLE,
  FIND_LAST,
  FIND_OPEN,
  INSERT,
  LIST,
  LIST_DUE,
  PRUNE,
  type RedisScript,
  REPLACE,
} from "./redis-scripts.ts";
import { RedisSessionStore } from "./redis-sessions.ts";

/** Options of {@link createRedisApprovalStore}. */
export interface RedisApprovalStoreOptions {
  /** Such as `rediss://:PASSWORD@redis.example.com:6380/0?prefix=bots`: see {@link parseRedisAddress}. */
  readonly url: string;
  /** How long Redis may take for one answer, in milliseconds; then it counts as not available. @default 2000 */
  readonly timeoutMs?: number | undefined;
  /** How often missed messages are looked for while somebody waits, in milliseconds. @default 2000 */
  readonly pollMs?: number | undefined;
  /** Milliseconds since the epoch, for single-use keys. @default Date.now */
  readonly now?: (() => number) | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

const MAX_PRUNED = 1000;
/** How long a single-use key is kept beyond its time: as far as clocks of two gateways may be apart. */
const CLOCK_SKEW_MS = 60_000;
/** After so many looks that failed, one after the other, those who wait are told. */
const MAX_FAILED_LOOKS = 2;

/**
 * Makes a store of approvals, and of the hooks of sessions, in Redis (6.2 or newer) or Valkey, for any number of gateways. Each change is one script; who
 * waits is woken by a message, and where messages were missed by a look every `pollMs`, one for all.
 *
 * A server that cannot be reached is no error here: it is connected to with the first call, and again after each loss.
 * @throws {TypeError} when the URL is not one of Redis
 */
export function createRedisApprovalStore(options: RedisApprovalStoreOptions): GatewayStore {
  return new RedisApprovalStore(options);
}

/** A replay store that connects to something. */
export interface RedisReplayStore extends ReplayStore {
  /** Lets go of its connection. */
  close(): Promise<void>;
}

/**
 * Makes a replay store in Redis or Valkey: the `replay` of a hook endpoint that is several processes. One that has the URL
 * and prefix of a store of approvals shares its keys.
 * @throws {TypeError} when the URL is not one of Redis
 */
export function createRedisReplayStore(options: Omit<RedisApprovalStoreOptions, "pollMs">): RedisReplayStore {
  return new RedisApprovalStore(options);
}

class RedisApprovalStore implements GatewayStore {
  readonly name = "redis";
  readonly sessionHooks: RedisSessionStore;
  readonly #hub = new ChangeHub();
  readonly #connection: RedisConnection;
  readonly #keys: readonly string[];
  readonly #prefix: string;
  readonly #channel: string;
  readonly #pollMs: number;
  readonly #now: () => number;
  readonly #log: Log;
  /** The number of the last change that was told; unknown before the first connection. */
  #seq: number | undefined;
  #poll: ReturnType<typeof setInterval> | undefined;
  #failedLooks = 0;
  #isClosed = false;

  constructor(options: RedisApprovalStoreOptions) {
    const { url, timeoutMs = 2000, pollMs = 2000, now = Date.now, log = silentLog } = options;
    const address = parseRedisAddress(url);
    // The braces put all keys into one slot of a cluster: a script reaches no others.
    this.#prefix = `{${address.prefix}}:`;
    this.#keys = APPROVAL_KEYS.map((key) => `${this.#prefix}${key}`);
    this.#channel = `${this.#prefix}changes:${address.database}`;
    this.#pollMs = pollMs;
    this.#now = now;
    this.#log = log;
    this.#connection = new RedisConnection({
      address,
      timeoutMs,
      channel: this.#channel,
      onMessage: (message) => this.#hear(message),
      onConnect: async (send) => void (this.#seq = toSeq(await send(["GET", this.#key("seq")]))),
      // What has changed meanwhile is not known: everybody looks for themselves.
      onReady: (isAgain) => (isAgain ? this.#hub.tell(undefined) : void this.#warnOfEviction()),
      log,
    });
    // Databases of a server have their channels in common.
    const channel = `${this.#prefix}session-hooks:${address.database}`;
    this.sessionHooks = new RedisSessionStore({ connection: this.#connection, prefix: this.#prefix, channel, now });
  }

  async create(approval: Approval): ReturnType<ApprovalStore["create"]> {
    const [result, open] = toList(await this.#run(CREATE, this.#toArgs(approval)));
    if (result === "open") return { isNew: false, open: readApproval(toText(open), { call: approval.call }) };
    if (result === "taken") throw new HookgateError("ERR_CONFLICT", `approval ${approval.id} is there already`);
    if (result !== "created") throw unexpected();
    return { isNew: true };
  }

  async get(id: string): Promise<Approval | undefined> {
    return read(await this.#send(["HGET", this.#key("body"), id]), { id });
  }

  async replace(next: Approval): Promise<boolean> {
    return toNumber(await this.#run(REPLACE, this.#toArgs(next))) === 1;
  }

  async findOpen(call: string): Promise<Approval | undefined> {
    return read(await this.#run(FIND_OPEN, [call]), { call });
  }

  async findLast(call: string): Promise<Approval | undefined> {
    return read(await this.#run(FIND_LAST, [call]), { call });
  }

  async list(options: Parameters<ApprovalStore["list"]>[0]): ReturnType<ApprovalStore["list"]> {
    const { status = "", maxApprovals, cursor } = options;
    assertListOptions({ maxApprovals, cursor });
    const from = cursor === undefined ? "+" : `(${cursor}`;
    return toApprovalPage(toRows(await this.#run(LIST, [status, from, String(maxApprovals + 1)])), maxApprovals);
  }

  async due(nowMs: number, maxApprovals: number): ReturnType<ApprovalStore["due"]> {
    const kept = readApprovals(toRows(await this.#run(LIST_DUE, [String(nowMs), String(maxApprovals)])));
    if (kept.unreadable !== undefined) await this.#run(END_UNREADABLE, [String(nowMs), ...kept.unreadable]);
    return kept;
  }

  async prune(beforeMs: number): Promise<number> {
    return toNumber(await this.#run(PRUNE, [String(beforeMs), String(MAX_PRUNED)]));
  }

  async insert(key: string, expiresAtMs: number): Promise<boolean> {
    this.#assertOpen();
    const nowMs = this.#now();
    if (!(expiresAtMs > nowMs)) throw new HookgateError("ERR_OVERLOADED", "the store's clock is past the expiry");
    const keptMs = Math.ceil(expiresAtMs - nowMs) + CLOCK_SKEW_MS;
    const args = [String(expiresAtMs), String(nowMs), String(keptMs)];
    return toNumber(await this.#connection.run(INSERT, [`${this.#prefix}used:${key}`], args)) === 1;
  }

  async changed(id: string, { version, signal }: Parameters<ApprovalStore["changed"]>[1]): Promise<void> {
    this.#assertOpen();
    const controller = new AbortController();
    const end = (): void => controller.abort();
    signal.addEventListener("abort", end);
    try {
      // Before the look: a message that comes right after it is not missed.
      const change = this.#hub.next(id, controller.signal);
      if (signal.aborted || (await this.#versionOf(id)) !== version) return;
      this.#lookForMissed();
      await change;
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  }

  async subscribe(listener: Parameters<ApprovalStore["subscribe"]>[0]): Promise<() => void> {
    const letGo = this.#hub.subscribe(listener);
    try {
      await this.health();
    } catch (error) {
      letGo();
      throw error;
    }
    this.#lookForMissed();
    return letGo;
  }

  async health(): Promise<void> {
    await this.#send(["SET", this.#key("health"), "1", "PX", "60000"]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#poll);
    this.#hub.close();
    this.#connection.close();
  }

  #key(name: string): string {
    return `${this.#prefix}${name}`;
  }

  #toArgs(approval: Approval): readonly string[] {
    const { id, version, status, call, isOpen, expiresAtMs, changedAtMs, body } = toApprovalIndex(approval);
    const open = isOpen ? "1" : "0";
    return [id, String(version), status, call, open, String(expiresAtMs), String(changedAtMs), body, this.#channel];
  }

  async #send(command: readonly string[]): Promise<unknown> {
    this.#assertOpen();
    return this.#connection.send(command);
  }

  async #run(script: RedisScript, args: readonly string[]): Promise<unknown> {
    this.#assertOpen();
    return this.#connection.run(script, this.#keys, args);
  }

  async #versionOf(id: string): Promise<number | undefined> {
    const head = await this.#send(["HGET", this.#key("head"), id]);
    return typeof head === "string" ? Number(head.split(" ", 1)[0]) : undefined;
  }

  async #warnOfEviction(): Promise<void> {
    let info: string;
    try {
      info = toText(await this.#send(["INFO", "memory"]));
    } catch (error) {
      this.#log.debug("Redis does not say what it evicts", { error: error instanceof Error ? error.name : "" });
      return;
    }
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
    if (policy === undefined || policy === "noeviction" || /^maxmemory:0\r?$/m.test(info)) return;
    const why = "Redis may forget requests it has seen, and approvals, to make room: set maxmemory-policy noeviction";
    this.#log.warn(why, { store: "redis", policy });
  }

  #hear(message: string): void {
    const [, seqText, id = "", version, word] = /^(\d+) (\S+) (\d+) (\w+)$/.exec(message) ?? [];
    const status = APPROVAL_STATUSES.find((known) => known === word);
    const before = this.#seq;
    if (before === undefined || seqText === undefined) return;
    this.#seq = Number(seqText);
    const isNext = this.#seq === before + 1 && status !== undefined;
    this.#hub.tell(isNext ? { id, version: Number(version), status } : undefined);
  }

  /** One timer for all who wait, for as long as somebody does; it does not keep the process alive. */
  #lookForMissed(): void {
    if (this.#isClosed) return;
    this.#poll ??= setInterval(() => void this.#look(), this.#pollMs);
    this.#poll.unref();
  }

  async #look(): Promise<void> {
    if (this.#hub.size === 0) {
      clearInterval(this.#poll);
      this.#poll = undefined;
      return;
    }
    try {
      const seq = toSeq(await this.#send(["GET", this.#key("seq")]));
      this.#failedLooks = 0;
      if (seq <= (this.#seq ?? 0)) return;
      this.#seq = seq;
    } catch {
      this.#failedLooks += 1;
      // A server that restarts is waited for; of one that does not, who waits is told when they look for themselves.
      if (this.#failedLooks < MAX_FAILED_LOOKS) return;
    }
    this.#hub.tell(undefined);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw storeUnavailable("it is closed");
  }
}

function read(body: unknown, key: Parameters<typeof readApproval>[1]): Approval | undefined {
  return body === null ? undefined : readApproval(toText(body), key);
}

function toText(reply: unknown): string {
  if (typeof reply === "string") return reply;
  throw unexpected();
}

function toList(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw unexpected();
}

/** Before the first change there is none. */
function toSeq(reply: unknown): number {
  return Number(reply ?? 0);
}

function toNumber(reply: unknown): number {
  if (typeof reply === "number") return reply;
  throw unexpected();
}

function toRows(reply: unknown): readonly ApprovalRow[] {
  const [ids, bodies] = toList(reply).map(toList);
  // An id without a body is one that cannot be read.
  return (ids ?? []).map((id, index) => ({ id: toText(id), body: toText(bodies?.[index] ?? "") }));
}

function unexpected(): HookgateError {
  return storeUnavailable("Redis answers something else than was asked");
}
