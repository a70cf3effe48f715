import { Hono } from "hono";
import type { ApprovalManager } from "../approvals/index.ts";
import { type Log, silentLog } from "../log.ts";
import type { HookHost } from "../picoclaw/index.ts";
import { isVerificationError } from "../signing/verification-error.ts";
import { addApprovalRoutes, addNoApprovals } from "./approvals.ts";
import { answerEmpty, answerJson, answerJwks, answerRefusal, type Refusal } from "./answer.ts";
import { createTokenAuthenticator, isRefusal, mayAny, type Scope } from "./auth.ts";
import { decodeUtf8, refuseMediaType, RequestBody } from "./body.ts";
import { Callers } from "./callers.ts";
import { addCors } from "./cors.ts";
import { InFlight, RateLimit, toLimit } from "./limit.ts";
import { assertBindable, OriginGuard, parseOrigins, type PeerInfo } from "./origin.ts";
import { addPages, PageSessions } from "./page/index.ts";
import { type GatewayHook, type Readiness, toReadiness, toStoreStatus } from "./pages.ts";
import { Readers } from "./readers.ts";
import type { ReloadPort } from "./reload.ts";
import { addSessionHookRoutes, type GatewayLifecycle, REGISTERED, type Registering } from "./session-hooks.ts";
import { addRecordRoutes, type RecordPages } from "./records.ts";
import type { GatewayOptions } from "./options.ts";
import { toRefusal } from "./host-auth.ts";
import { forbidden, overloaded, refusedCredentials } from "./refusals.ts";
import { readTimeout } from "./timeout.ts";
import { type Admitted, admitWriter, type Writing } from "./writers.ts";
import { JWKS_PATH, RELOAD_PATH, toRoutes } from "./routes.ts";
import { RPC_SCOPES, RpcServer } from "./rpc.ts";
import { isRpc, toResponse } from "./rpc-http.ts";

/** The gateway as a server sees it. */
export interface Gateway {
  /** Answers a request. It does not reject. */
  fetch(request: Request, info?: PeerInfo): Promise<Response>;
  /**
   * Answers new calls with 503 from now on, and waits for those under way and for the events they emitted, at most
   * `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
  /** How many `/rpc` requests are under way. */
  callsInFlight(): number;
  /**
   * Checks that the gateway may be reached by this name; whoever listens calls it first.
   * @throws {HookgateError} `ERR_CONFIG` when it is not a loopback name and no authentication is configured
   */
  assertBindable(hostname: string): void;
}

/** A gateway that can be replaced by another. */
export interface RetirableGateway extends Gateway {
  /** Waits for the calls under way, at most `timeoutMs`; the result says whether there are none. */
  idle(timeoutMs: number): Promise<boolean>;
}

const RELOAD_SCOPES: readonly Scope[] = ["admin"];

/**
 * Builds the gateway's HTTP interface: `POST /rpc`, `GET /healthz`, `/readyz` and `/v1/hooks`, `POST /v1/reload` where its
 * configuration can be read again, and `/.well-known/jwks.json` where it has keys to publish.
 * @throws {TypeError} when a token or an origin is not valid
 * @throws {RangeError} when a limit is not a positive integer
 * @see docs/protocol.md, "The gateway's interface for hosts"
 */
export function createGateway(options: GatewayOptions): RetirableGateway {
  const server = new GatewayServer(options);
  const app = new Hono<{ Bindings: PeerInfo }>();
  app.get("/healthz", () => answerJson({ status: "ok" }, { status: 200 }));
  app.get("/readyz", ({ req, env }) => server.readyz(req.raw, env));
  app.get("/v1/hooks", ({ req, env }) => server.hooks(req.raw, env));
  const { jwks, lifecycle, reload } = options;
  if (lifecycle !== undefined) {
    addSessionHookRoutes(app, lifecycle, (request, info, answer) => server.registering(request, info, answer));
  }
  if (reload !== undefined) app.post(RELOAD_PATH, ({ req, env }) => server.reload(req.raw, env, reload));
  if (jwks !== undefined) app.get(JWKS_PATH, () => answerJwks(jwks));
  addRecordRoutes(app, options, (request, info) => server.refuseReader(request, info));
  server.addApprovals(app, options);
  server.addPages(app, options);
  app.notFound(({ req }) => server.notFound(req.raw, req.path));
  app.onError((error) => server.failed(error));
  return {
    fetch(request, info = {}) {
      // What is asked all the time goes past the router.
      const response = isRpc(request) ? server.rpc(request, info) : Promise.resolve(app.fetch(request, info));
      return server.hasOrigins ? response.then((answer) => server.withCors(request, answer)) : response;
    },
    callsInFlight: () => server.callsInFlight(),
    drain: (timeoutMs) => server.drain(timeoutMs),
    idle: (timeoutMs) => server.idle(timeoutMs),
    assertBindable: (hostname) => assertBindable(hostname, server),
  };
}

/** How many bodies may be received for each call that may be under way. It bounds the memory that slow senders hold. */
const READERS_PER_CALL = 4;

class GatewayServer {
  readonly hasAuth: boolean;
  readonly hasOrigins: boolean;
  readonly #host: HookHost;
  readonly #hooks: () => readonly GatewayHook[];
  readonly #lifecycle: GatewayLifecycle | undefined;
  readonly #approvals: ApprovalManager | undefined;
  readonly #notifications: GatewayOptions["notifications"];
  readonly #callers: Callers;
  readonly #guard: OriginGuard;
  readonly #rpc: RpcServer;
  readonly #maxBodyBytes: number;
  readonly #inFlight: InFlight;
  readonly #reading: InFlight;
  readonly #rate: RateLimit | undefined;
  readonly #routes: ReadonlyMap<string, string>;
  readonly #reload: ReloadPort | undefined;
  readonly #recording: RecordPages["recording"];
  readonly #readers: Readers;
  readonly #stopped = new AbortController();
  readonly #sessions: PageSessions;
  readonly #log: Log;
  #isDraining = false;

  constructor({
    host,
    hooks,
    auth,
    limits = {},
    allowedOrigins = [],
    lifecycle,
    approvals,
    notifications,
    methods = {},
    jwks,
    reload,
    sessions,
    log = silentLog,
    now,
    ...pages
  }: GatewayOptions) {
    const { tokens = [], authenticators = [], crypto } = auth ?? {};
    this.#host = host;
    this.#hooks = hooks;
    this.#lifecycle = lifecycle;
    this.#approvals = approvals;
    this.#notifications = notifications;
    // An empty list of tokens lets nobody in; only leaving out `auth` opens the gateway to this machine.
    this.hasAuth = auth !== undefined;
    this.#callers = new Callers(
      auth && [...(tokens.length === 0 ? [] : [createTokenAuthenticator(tokens, crypto)]), ...authenticators],
      log,
    );
    this.#guard = new OriginGuard({ hasAuth: this.hasAuth, allowedOrigins: parseOrigins(allowedOrigins) });
    this.hasOrigins = allowedOrigins.length > 0;
    this.#maxBodyBytes = toLimit("maxBodyBytes", limits.maxBodyBytes, 8 * 1024 * 1024);
    const maxConcurrency = toLimit("maxConcurrency", limits.maxConcurrency, 256);
    this.#inFlight = new InFlight(maxConcurrency);
    this.#reading = new InFlight(maxConcurrency * READERS_PER_CALL);
    const perMinute = toLimit("requestsPerMinute", limits.requestsPerMinute, 0);
    this.#rate = perMinute === 0 ? undefined : new RateLimit(perMinute, now ?? (() => performance.now()));
    this.#rpc = new RpcServer({ host, methods, log, maxBatch: toLimit("maxBatch", limits.maxBatch, 50) });
    this.#reload = reload;
    this.#recording = pages.recording;
    this.#sessions = sessions ?? new PageSessions({ now });
    this.#readers = new Readers({
      hasAuth: this.hasAuth,
      guard: this.#guard,
      callers: this.#callers,
      sessions: this.#sessions,
      maxBodyBytes: this.#maxBodyBytes,
    });
    this.#routes = toRoutes({ ...pages, approvals, jwks, reload });
    this.#log = log;
  }

  async rpc(request: Request, info: PeerInfo): Promise<Response> {
    if (this.#isDraining) return answerRefusal(overloaded("the gateway is shutting down"));
    const body = new RequestBody(request, info, this.#maxBodyBytes);
    const refusal = this.#guard.check(request, info) ?? refuseMediaType(request.headers);
    if (refusal !== undefined) return this.#refuse(refusal);
    const known = this.#callers.identify(request, body);
    const principal = known instanceof Promise ? await known : known;
    if (isRefusal(principal)) return this.#refuse(principal);
    const { name } = principal;
    if (!mayAny(principal, RPC_SCOPES)) return this.#refuse(forbidden(RPC_SCOPES));
    const retryAfterMs = this.#rate?.take(name) ?? 0;
    if (retryAfterMs > 0) {
      return this.#refuse({ code: "ERR_RATE_LIMITED", message: "too many calls with this token", retryAfterMs });
    }
    const text = await this.#receive(body);
    if (typeof text !== "string") return text;
    try {
      const rate = this.#rate;
      const onExtraCalls = rate && ((count: number): void => rate.charge(name, count));
      const answer = await this.#rpc.answer(text, {
        principal,
        signal: request.signal,
        timeoutMs: readTimeout(request.headers),
        traceparent: request.headers.get("traceparent") ?? undefined,
        onExtraCalls,
      });
      return await toResponse(answer, principal);
    } catch (error) {
      if (!isVerificationError(error)) return this.failed(error);
      return this.#refuse(refusedCredentials(toRefusal(error, { log: this.#log, caller: name })));
    } finally {
      this.#inFlight.leave();
    }
  }

  /**
   * Receives a body, outside the bound on calls: one that comes slowly holds up nobody who has sent theirs. With the
   * text in hand the call is under way.
   */
  async #receive(body: RequestBody): Promise<string | Response> {
    if (!this.#reading.enter()) return this.#refuse(overloaded("too many requests are being received"));
    try {
      const bytes = await body.bytes();
      if (!(bytes instanceof Uint8Array)) return this.#refuse(bytes);
      const text = decodeUtf8(bytes);
      if (text === undefined) return this.#refuse({ code: "ERR_PARSE", message: "the body is not UTF-8" });
      return this.#inFlight.enter() ? text : this.#refuse(overloaded("too many calls are under way"));
    } catch (error) {
      return this.failed(error);
    } finally {
      this.#reading.leave();
    }
  }

  async readyz(request: Request, info: PeerInfo): Promise<Response> {
    // Probes carry no token and are only told the status; the reasons may name commands and addresses.
    const readiness = await this.#readiness((await this.refuseReader(request, info)) === undefined);
    const isReady = readiness.status === "ready" || readiness.status === "degraded";
    return answerJson(readiness, { status: isReady ? 200 : 503 });
  }

  async #readiness(withHooks: boolean): Promise<Readiness> {
    const approvals = this.#approvals && (await toStoreStatus(this.#approvals.store));
    return toReadiness(this.#hooks(), {
      isDraining: this.#isDraining,
      withHooks,
      reload: this.#reload?.status(),
      records: this.#recording?.status(),
      approvals,
    });
  }

  /** Adds the pages that people look at. */
  addPages(app: Hono<{ Bindings: PeerInfo }>, options: GatewayOptions): void {
    addPages(app, {
      ...options,
      hasAuth: this.hasAuth,
      sessions: this.#sessions,
      readers: this.#readers,
      refuse: (request, info) => this.#guard.check(request, info),
      readiness: () => this.#readiness(true),
      hooks: () => this.#hooks(),
      yamlHooks: () => this.#lifecycle?.hooks(),
      log: this.#log,
      now: options.now ?? (() => performance.now()),
    });
  }

  async hooks(request: Request, info: PeerInfo): Promise<Response> {
    const refusal = await this.refuseReader(request, info);
    if (refusal !== undefined) return this.#refuse(refusal);
    const reload = this.#reload?.status();
    const generation = reload && { generation: reload.generation };
    const yaml = this.#lifecycle && { yaml_hooks: this.#lifecycle.hooks() };
    const told = this.#notifications && { notifications: await this.#notifications() };
    return answerJson({ ...generation, hooks: this.#hooks(), ...yaml, ...told }, { status: 200 });
  }

  async reload(request: Request, info: PeerInfo, port: ReloadPort): Promise<Response> {
    const refusal = await this.refuseReader(request, info, RELOAD_SCOPES);
    if (refusal !== undefined) return this.#refuse(refusal);
    if (this.#isDraining) return this.#refuse(overloaded("the gateway is shutting down"));
    const report = await port.reload();
    return answerJson(report, { status: report.ok ? 200 : 422 });
  }

  idle(timeoutMs: number): Promise<boolean> {
    return this.#inFlight.idle(timeoutMs);
  }

  /** Adds the paths at which people are asked and decide. */
  addApprovals(app: Hono<{ Bindings: PeerInfo }>, { approvals, streamsEnd }: GatewayOptions): void {
    const refuse = (request: Request, info: PeerInfo, scopes: readonly Scope[]): Promise<Refusal | undefined> =>
      this.refuseReader(request, info, scopes);
    if (approvals === undefined) return addNoApprovals(app, refuse);
    const change = (
      writing: Writing,
      answer: (admitted: Admitted) => Response | Promise<Response>,
    ): Promise<Response> => this.#change(writing, answer);
    const ends = [this.#stopped.signal, ...(streamsEnd === undefined ? [] : [streamsEnd])];
    return addApprovalRoutes(app, { approvals, refuse, change, ends, log: this.#log });
  }

  /** Answers who may register hooks, with the body where there is one. */
  registering(...[request, info, answer]: Parameters<Registering>): Promise<Response> {
    return this.#change({ request, info, ...REGISTERED }, ({ body }) => answer(body));
  }

  async #change(writing: Writing, answer: (admitted: Admitted) => Response | Promise<Response>): Promise<Response> {
    if (this.#isDraining) return answerRefusal(overloaded("the gateway is shutting down"));
    const admitted = await admitWriter(writing, { guard: this.#guard, callers: this.#callers });
    return "code" in admitted ? this.#refuse(admitted) : answer(admitted);
  }

  notFound(request: Request, path: string): Response {
    const allow = this.#routes.get(path);
    if (allow === undefined) {
      const message = `no such path; there are ${[...this.#routes.keys()].join(", ")}`;
      return answerRefusal({ code: "ERR_METHOD_NOT_FOUND", message });
    }
    if (request.method === "OPTIONS") return answerEmpty({ status: 204, headers: { allow } });
    const message = path === "/rpc" ? "POST a JSON-RPC 2.0 request here" : allow === "POST" ? "POST this" : "GET this";
    return answerRefusal({ code: "ERR_INVALID_REQUEST", message, status: 405, headers: { allow } });
  }

  failed(error: unknown): Response {
    const message = error instanceof Error ? error.message : String(error);
    this.#log.error("a request failed inside the gateway", { error: message.slice(0, 300) });
    return answerRefusal({ code: "ERR_INTERNAL", message: "internal error" });
  }

  withCors(request: Request, response: Response): Response {
    return addCors(response, { request, guard: this.#guard });
  }

  callsInFlight(): number {
    return this.#inFlight.count;
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    // Those who watch would otherwise keep the server from ending.
    this.#recording?.hub?.close();
    this.#stopped.abort();
    // Nor need those who wait for people: they are told to come again.
    this.#approvals?.release();
    const startedAtMs = performance.now();
    const hasReceived = await this.#reading.idle(timeoutMs);
    const isIdle = hasReceived && (await this.#inFlight.idle(timeoutMs - (performance.now() - startedAtMs)));
    if (!isIdle) this.#log.warn("calls were still under way when draining ended", { timeout_ms: timeoutMs });
    await this.#host.flush(Math.max(0, timeoutMs - (performance.now() - startedAtMs)));
  }

  /** Why a request may not read what the gateway shows; undefined when it may. */
  async refuseReader(request: Request, info: PeerInfo, scopes?: readonly Scope[]): Promise<Refusal | undefined> {
    const found = await this.#readers.find({ request, info, scopes });
    return isRefusal(found) ? found : undefined;
  }

  #refuse(refusal: Refusal): Response {
    this.#log.debug("request refused", { code: refusal.code, message: refusal.message });
    return answerRefusal(refusal);
  }
}
