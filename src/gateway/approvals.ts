import type { Hono } from "hono";
import { type Approval, ApprovalError, type ApprovalManager, type ApprovalPage } from "../approvals/index.ts";
import { HookgateError } from "../errors.ts";
import type { Log } from "../log.ts";
import { answerJson, answerRefusal, type Refusal } from "./answer.ts";
import {
  approvalQuerySchema,
  grantQuerySchema,
  MAX_DECISION_BYTES,
  parseCancelBody,
  parseDecisionBody,
  waitQuerySchema,
} from "./approval-body.ts";
import { streamApprovals } from "./approval-stream.ts";
import type { Principal, Scope } from "./auth.ts";
import type { PeerInfo } from "./origin.ts";
import { parseQuery } from "./query.ts";
import { overloaded, refused } from "./refusals.ts";
import { toVoter } from "./voter.ts";
import type { Admitted, Writing } from "./writers.ts";

/** What the routes of approvals are made of. */
export interface ApprovalRoutes {
  readonly approvals: ApprovalManager;
  /** Why a request may not read; undefined when it may. */
  readonly refuse: (request: Request, info: PeerInfo, scopes: readonly Scope[]) => Promise<Refusal | undefined>;
  /** Answers who may change something. */
  readonly change: (
    writing: Writing,
    answer: (admitted: Admitted) => Response | Promise<Response>,
  ) => Promise<Response>;
  /** The gateway stops when one of them aborts: no stream is left open then. */
  readonly ends: readonly AbortSignal[];
  readonly log: Log;
}

/** The paths there are, as {@link addApprovalRoutes} adds them. */
export const APPROVAL_PATHS: readonly string[] = ["/v1/approvals", "/v1/approvals/events", "/v1/grants"];

/** With which scopes approvals are listed. */
const LIST_SCOPES: readonly Scope[] = ["approve", "admin", "observe"];
/** With which one approval is read: who asked about a call is told its approval's id, and has to learn what comes of it. */
const READ_SCOPES: readonly Scope[] = [...LIST_SCOPES, "call"];
const DECIDE_SCOPES: readonly Scope[] = ["approve"];
/** Taking back lets nothing run. */
const CANCEL_SCOPES: readonly Scope[] = ["approve", "admin"];

/** How many may watch at once, and how many requests may wait. */
const MAX_WATCHERS = 64;
const MAX_WAITING = 4096;

/** Whoever is in between could send what is signed to the path of another approval. */
const UNBOUND: Refusal = {
  code: "ERR_FORBIDDEN",
  message: "a hook-signature does not say which approval it is for: use a bearer token or a JWT here",
};

/** Adds `/v1/approvals`, what is below it, and `/v1/grants`. */
export function addApprovalRoutes(app: Hono<{ Bindings: PeerInfo }>, routes: ApprovalRoutes): void {
  const pages = new ApprovalPages(routes);
  const { refuse, change } = routes;
  type Context = { req: { raw: Request; param(name: string): string | undefined }; env: PeerInfo };
  const reading =
    (scopes: readonly Scope[], answer: (request: Request, id: string) => Response | Promise<Response>) =>
    async ({ req, env }: Context): Promise<Response> => {
      const refusal = await refuse(req.raw, env, scopes);
      return refusal === undefined ? answering(() => answer(req.raw, req.param("id") ?? "")) : answerRefusal(refusal);
    };
  const changing =
    (scopes: readonly Scope[], answer: (id: string, admitted: Admitted) => Promise<Response>) =>
    ({ req, env }: Context): Promise<Response> =>
      change({ request: req.raw, info: env, scopes, maxBodyBytes: MAX_DECISION_BYTES }, (admitted) =>
        admitted.principal.proof === undefined
          ? answering(() => answer(req.param("id") ?? "", admitted))
          : answerRefusal(UNBOUND),
      );
  const list = (request: Request): Promise<Response> => pages.list(request);
  app.get("/v1/approvals", reading(LIST_SCOPES, list));
  const watch = (request: Request): Response | Promise<Response> => pages.watch(request);
  app.get("/v1/approvals/events", reading(LIST_SCOPES, watch));
  const show = (request: Request, id: string): Promise<Response> => pages.show(request, id);
  app.get("/v1/approvals/:id", reading(READ_SCOPES, show));
  const decide = (id: string, admitted: Admitted): Promise<Response> => pages.decide(id, admitted);
  app.post("/v1/approvals/:id/decision", changing(DECIDE_SCOPES, decide));
  const cancel = (id: string, admitted: Admitted): Promise<Response> => pages.cancel(id, admitted);
  app.post("/v1/approvals/:id/cancel", changing(CANCEL_SCOPES, cancel));
  const grants = (request: Request): Promise<Response> => pages.grants(request);
  app.get("/v1/grants", reading(LIST_SCOPES, grants));
  const revoke = (id: string, { principal }: Admitted): Promise<Response> => pages.revoke(id, principal);
  app.delete("/v1/grants/:id", changing(CANCEL_SCOPES, revoke));
  // Looking decides nothing, whatever it is that looks.
  app.all("/v1/approvals/:id/decision", () => onlyBy("POST"));
  app.all("/v1/approvals/:id/cancel", () => onlyBy("POST"));
  app.all("/v1/approvals/:id", () => onlyBy("GET, HEAD"));
  app.all("/v1/grants/:id", () => onlyBy("DELETE"));
}

/** Says why there are no paths of approvals, to those who may read. */
export function addNoApprovals(app: Hono<{ Bindings: PeerInfo }>, refuse: ApprovalRoutes["refuse"]): void {
  const message =
    "this gateway asks no people: its config has neither hooks.builtins.human_approval nor approvals, or its runtime has no store for them";
  for (const path of ["/v1/approvals", "/v1/approvals/*", "/v1/grants", "/v1/grants/*"]) {
    app.all(path, async ({ req, env }) => {
      const refusal = await refuse(req.raw, env, READ_SCOPES);
      return answerRefusal(refusal ?? { code: "ERR_METHOD_NOT_FOUND", message });
    });
  }
}

class ApprovalPages {
  readonly #approvals: ApprovalManager;
  readonly #ends: readonly AbortSignal[];
  readonly #log: Log;
  #watcherCount = 0;
  #waitingCount = 0;

  constructor({ approvals, ends, log }: ApprovalRoutes) {
    this.#approvals = approvals;
    this.#ends = ends;
    this.#log = log;
  }

  async list(request: Request): Promise<Response> {
    const query = parseQuery(request, approvalQuerySchema);
    if ("code" in query) return answerRefusal(query);
    const { status, limit: maxApprovals, cursor } = query;
    const page = await this.#approvals.list({ status, maxApprovals, cursor });
    return answerJson({ approvals: page.approvals, ...toRest(page) }, { status: 200 });
  }

  async show(request: Request, id: string): Promise<Response> {
    const query = parseQuery(request, waitQuerySchema);
    if ("code" in query) return answerRefusal(query);
    if (query.wait === 0) return answerApproval(await this.#approvals.get(id));
    if (this.#waitingCount >= MAX_WAITING) {
      return answerRefusal(overloaded(`${MAX_WAITING} requests wait for approvals already`));
    }
    this.#waitingCount += 1;
    try {
      const { signal } = request;
      return answerApproval(await this.#approvals.wait(id, { timeoutMs: query.wait * 1000, signal }));
    } finally {
      this.#waitingCount -= 1;
    }
  }

  watch({ signal }: Request): Response | Promise<Response> {
    if (this.#ends.some(({ aborted }) => aborted)) return answerRefusal(overloaded("the gateway is shutting down"));
    if (this.#watcherCount >= MAX_WATCHERS) {
      return answerRefusal(overloaded(`${MAX_WATCHERS} clients are watching already`));
    }
    this.#watcherCount += 1;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const sources = [signal, ...this.#ends];
    for (const source of sources) source.addEventListener("abort", end);
    const onEnd = (): void => {
      this.#watcherCount -= 1;
      for (const source of sources) source.removeEventListener("abort", end);
    };
    return streamApprovals(this.#approvals, { signal: ended.signal, onEnd });
  }

  async decide(id: string, { principal, body }: Admitted): Promise<Response> {
    const parsed = parseDecisionBody(body);
    if ("code" in parsed) return answerRefusal(parsed);
    const { by: named, ...decision } = parsed;
    const voter = toVoter(principal, named);
    if ("code" in voter) return answerRefusal(voter);
    const approval = await this.#approvals.decide(id, { ...decision, ...voter, how: "token" });
    const { status } = approval;
    this.#log.info("a person decided", { approval: id, decision: decision.decision, ...voter, status });
    return answerApproval(approval);
  }

  async cancel(id: string, { principal, body }: Admitted): Promise<Response> {
    const parsed = parseCancelBody(body);
    if ("code" in parsed) return answerRefusal(parsed);
    const { by, reason } = parsed;
    const voter = by === undefined ? { by: principal.name } : toVoter(principal, by);
    if ("code" in voter) return answerRefusal(voter);
    return this.#cancel(id, { by: voter.by, reason });
  }

  async grants(request: Request): Promise<Response> {
    const query = parseQuery(request, grantQuerySchema);
    if ("code" in query) return answerRefusal(query);
    const { limit: maxApprovals, cursor } = query;
    const page = await this.#approvals.list({ status: "approved", maxApprovals, cursor });
    return answerJson({ grants: page.approvals.filter(isGrant), ...toRest(page) }, { status: 200 });
  }

  async revoke(id: string, { name }: Principal): Promise<Response> {
    const approval = await this.#approvals.get(id);
    if (approval.status === "pending" || (approval.status === "approved" && !isGrant(approval))) {
      return answerRefusal({ code: "ERR_NOT_FOUND", message: "there is no grant of this id" });
    }
    return this.#cancel(id, { by: name, reason: "revoked" });
  }

  async #cancel(id: string, why: { readonly by: string; readonly reason: string | undefined }): Promise<Response> {
    const approval = await this.#approvals.cancel(id, why);
    this.#log.info("an approval was taken back", { approval: id, by: why.by });
    return answerApproval(approval);
  }
}

/** What a page says besides its approvals: where the next begins, and how many are left out because they cannot be read. */
function toRest({ next, unreadable }: ApprovalPage): object {
  return { next: next ?? null, ...(unreadable !== undefined && { unreadable: unreadable.length }) };
}

/** Whether an approval holds for more than one use. */
function isGrant({ status, scope = "once" }: Approval): boolean {
  return status === "approved" && scope !== "once";
}

function answerApproval(approval: Approval): Response {
  return answerJson(approval, { status: 200 });
}

function onlyBy(allow: string): Response {
  const message = `use ${allow} here`;
  return answerRefusal({ code: "ERR_INVALID_REQUEST", message, status: 405, headers: { allow } });
}

/** What is refused is answered with its own status; anything else is the gateway's own failure. */
async function answering(act: () => Response | Promise<Response>): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof HookgateError)) throw error;
    return answerRefusal({ ...refused(error), ...(error instanceof ApprovalError && { reason: error.refusal }) });
  }
}
