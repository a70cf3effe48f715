import { DurableObject } from "cloudflare:workers";
import {
  ApprovalActor,
  type ApprovalIndex,
  type ApprovalPeer,
  askTeller,
  createRemoteApprovalStore,
  type OutboxPeer,
  type RowQuery,
} from "../../src/approvals/index.ts";
import type { GatewayStore } from "../../src/config/index.ts";
import { createRemoteSessionStore, type SessionPeer, SessionTable } from "../../src/jcli/index.ts";
import { createObjectLog, type Log } from "../../src/log.ts";
import { createFailureLog } from "../../src/log-limit.ts";

/** Workers Logs index the members of an object. */
export const log: Log = createObjectLog((level, line) => console[level](line));

// Of which class an object is shows only when it is asked.
const onFailure = createFailureLog(log, "the binding of approvals gives no answer; its class must be ApprovalsObject");

/**
 * All approvals of a gateway, and the hooks of its sessions: a Durable Object with SQLite storage, which settles by alarm
 * approvals whose time is over, and has the default export of its Worker, which `createGatewayWorker` makes, tell of them. A
 * Worker that keeps either exports this class and lists it in `new_sqlite_classes` of a migration.
 */
export class ApprovalsObject extends DurableObject implements ApprovalPeer, OutboxPeer, SessionPeer {
  /** Milliseconds since the epoch; tests put another clock here. */
  now: () => number = Date.now;
  readonly #actor: ApprovalActor;
  readonly #sessions: SessionTable;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#sessions = new SessionTable({ storage: ctx.storage, now: () => this.now() });
    this.#actor = new ApprovalActor({
      storage: ctx.storage,
      askGateway: () => askTeller(ctx.exports),
      now: () => this.now(),
      log,
    });
  }

  // Only methods of the class itself can be called from elsewhere.
  create(entry: ApprovalIndex, keepMs: number): ReturnType<ApprovalPeer["create"]> {
    return this.#actor.create(entry, keepMs);
  }

  get(id: string): ReturnType<ApprovalPeer["get"]> {
    return this.#actor.get(id);
  }

  findOpen(call: string): ReturnType<ApprovalPeer["findOpen"]> {
    return this.#actor.findOpen(call);
  }

  findLast(call: string): ReturnType<ApprovalPeer["findLast"]> {
    return this.#actor.findLast(call);
  }

  replace(entry: ApprovalIndex): ReturnType<ApprovalPeer["replace"]> {
    return this.#actor.replace(entry);
  }

  list(query: RowQuery): ReturnType<ApprovalPeer["list"]> {
    return this.#actor.list(query);
  }

  due(nowMs: number, maxRows: number): ReturnType<ApprovalPeer["due"]> {
    return this.#actor.due(nowMs, maxRows);
  }

  prune(beforeMs: number): ReturnType<ApprovalPeer["prune"]> {
    return this.#actor.prune(beforeMs);
  }

  insert(key: string, expiresAtMs: number): ReturnType<ApprovalPeer["insert"]> {
    return this.#actor.insert(key, expiresAtMs);
  }

  lastSeq(): ReturnType<ApprovalPeer["lastSeq"]> {
    return this.#actor.lastSeq();
  }

  changed(id: string, version: number): ReturnType<ApprovalPeer["changed"]> {
    return this.#actor.changed(id, version);
  }

  changesSince(seq: number): ReturnType<ApprovalPeer["changesSince"]> {
    return this.#actor.changesSince(seq);
  }

  enqueue(...given: Parameters<OutboxPeer["enqueue"]>): ReturnType<OutboxPeer["enqueue"]> {
    return this.#actor.enqueue(...given);
  }

  exchange(...given: Parameters<OutboxPeer["exchange"]>): ReturnType<OutboxPeer["exchange"]> {
    return this.#actor.exchange(...given);
  }

  async getSession(session: string): ReturnType<SessionPeer["getSession"]> {
    return this.#sessions.get(session);
  }

  async replaceSession(...given: Parameters<SessionPeer["replaceSession"]>): ReturnType<SessionPeer["replaceSession"]> {
    return this.#sessions.replace(...given);
  }

  /** Settles what is over. It may run twice for one alarm, and sets the next one itself. */
  override alarm(): Promise<void> {
    return this.#actor.alarm();
  }
}

/** Options of {@link createDurableApprovalStore}. */
export interface DurableApprovalStoreOptions {
  /** The binding of {@link ApprovalsObject}. */
  readonly namespace: DurableObjectNamespace<ApprovalsObject>;
  /** Which of its objects; gateways that share their approvals name the same. @default "approvals" */
  readonly name?: string | undefined;
  /** How long settled approvals are kept, in milliseconds. @default 30 days */
  readonly keepMs?: number | undefined;
}

/**
 * Makes a store of approvals and session hooks in one Durable Object, which every isolate and every Worker that is bound to
 * it shares.
 */
export function createDurableApprovalStore(options: DurableApprovalStoreOptions): GatewayStore {
  const { namespace, name = "approvals", keepMs } = options;
  const place = { name: "durable_object", connect: () => namespace.getByName(name), keepMs, onFailure };
  return Object.assign(createRemoteApprovalStore(place), { sessionHooks: createRemoteSessionStore(place) });
}
