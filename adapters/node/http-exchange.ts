import type { Dispatcher } from "undici";
import {
  ExchangeError,
  type ExchangeFailure,
  type HttpExchange,
  type HttpHead,
  type HttpReply,
  type HttpRequest,
} from "../../src/transport/http-exchange.ts";
import { createGuardedAgent, type GuardedAgent, type GuardedAgentOptions, isUnsent } from "./guarded-agent.ts";

/**
 * Carries requests out with an undici agent of its own, passed explicitly: the global one is another version's as soon as
 * something imports `node:http`, and ignores an abort while connecting. Redirects are not followed, nothing is decoded.
 */
export function createHttpExchange(options: GuardedAgentOptions = {}): HttpExchange {
  return createAgentExchange(createGuardedAgent(options));
}

/** Carries requests out with an agent, which closes with it. */
export function createAgentExchange(guarded: GuardedAgent): HttpExchange {
  return {
    send: (request) => new Promise((resolve, reject) => new Exchange(guarded, request, { resolve, reject }).start()),
    // From a pool: a buffer of its own costs more than encoding what is short.
    encode: (text) => Buffer.from(text),
    async close() {
      await guarded.agent.destroy(new ExchangeError("closed", { retry: "never" }));
    },
  };
}

const EMPTY = new Uint8Array();

interface Settle {
  resolve(reply: HttpReply): void;
  reject(error: unknown): void;
}

/**
 * One request on the agent. It takes the body as it comes off the socket: the stream that `agent.request` makes of it
 * costs a fifth of a call.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #guarded: GuardedAgent;
  readonly #request: HttpRequest;
  readonly #settle: Settle;
  readonly #target: Target;
  #controller: Dispatcher.DispatchController | undefined;
  #head: HttpHead | undefined;
  #chunk: Buffer | undefined;
  #more: Buffer[] | undefined;
  #byteLength = 0;
  #isDispatched = false;
  #isOver = false;

  constructor(guarded: GuardedAgent, request: HttpRequest, settle: Settle) {
    this.#guarded = guarded;
    this.#request = request;
    this.#settle = settle;
    this.#target = toTarget(request.url);
  }

  start(): void {
    const { headers, body } = this.#request;
    this.#listen();
    if (this.#isOver) return;
    const { origin, path } = this.#target;
    this.#isDispatched = true;
    this.#guarded.attempts.enter(origin);
    this.#guarded.agent.dispatch({ origin, path, method: "POST", headers, body }, this);
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#cut(this.#request.signal.reason);
  }

  #listen(): void {
    const { watch } = this.#request;
    if (watch !== undefined) {
      watch.listen((reason) => this.#cut(reason));
      return;
    }
    const { signal } = this.#request;
    if (signal.aborted) this.#reject(signal.reason);
    else signal.addEventListener("abort", this);
  }

  #cut(reason: unknown): void {
    this.#reject(reason);
    if (this.#controller !== undefined) this.#controller.abort(toAbortError(reason));
    else if (this.#isDispatched) this.#guarded.attempts.leave(this.#target.origin, true);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // It was cut while it waited for a connection, which is good for others.
    if (this.#isOver) throw new ExchangeError("closed", { retry: "never" });
    this.#controller = controller;
    this.#guarded.attempts.leave(this.#target.origin, false);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (this.#isOver || status < 200) return;
    const head = toHead(status, headers);
    this.#head = head;
    if (this.#request.wantsBody(head)) return;
    this.#resolve({ head, body: EMPTY });
    controller.abort(new ExchangeError("closed", { retry: "never" }));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#byteLength += chunk.length;
    if (this.#byteLength > this.#request.maxBodyBytes) {
      const error = new ExchangeError("too_large", { retry: "never" });
      this.#reject(error);
      controller.abort(error);
    } else if (this.#chunk === undefined) this.#chunk = chunk;
    else (this.#more ??= [this.#chunk]).push(chunk);
  }

  onResponseEnd(): void {
    if (this.#head === undefined) return;
    const whole = this.#more === undefined ? this.#chunk : Buffer.concat(this.#more, this.#byteLength);
    this.#resolve({ head: this.#head, body: whole ?? EMPTY });
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    if (this.#isOver) return;
    if (this.#controller === undefined) this.#guarded.attempts.leave(this.#target.origin, false);
    this.#reject(this.#head === undefined ? toError(cause) : new ExchangeError("truncated", { retry: "never", cause }));
  }

  #resolve(reply: HttpReply): void {
    if (this.#isOver) return;
    this.#end();
    this.#settle.resolve(reply);
  }

  #reject(error: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.#settle.reject(error);
  }

  #end(): void {
    this.#isOver = true;
    const { watch } = this.#request;
    if (watch === undefined) this.#request.signal.removeEventListener("abort", this);
    else watch.listen(undefined);
  }
}

type IncomingHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2];

function toAbortError(reason: unknown): Error {
  return reason instanceof Error ? reason : new ExchangeError("closed", { retry: "never" });
}

interface Target {
  readonly origin: string;
  readonly path: string;
}

/** URLs of hooks are few and each is used again and again. */
const targets = new Map<string, Target>();

function toTarget(url: string): Target {
  let target = targets.get(url);
  if (target === undefined) {
    const { origin, pathname, search } = new URL(url);
    target = { origin, path: pathname + search };
    if (targets.size >= 1024) targets.clear();
    targets.set(url, target);
  }
  return target;
}

function toHead(status: number, headers: IncomingHeaders): HttpHead {
  return {
    status,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
  };
}

const DNS_CODES: ReadonlySet<string> = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "EAI_NONAME"]);
const TIMEOUT_CODES: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"]);
const TLS_CODE = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO$|HOSTNAME_MISMATCH)/;

function toError(cause: unknown): ExchangeError {
  if (cause instanceof ExchangeError) return cause;
  const code = codeOf(cause);
  if (isUnsent(cause)) {
    const failure = toConnectFailure(code);
    // A certificate that is not trusted will not be trusted at the next attempt.
    return new ExchangeError(failure, { retry: failure === "tls" ? "never" : "safe", cause });
  }
  if (code === "UND_ERR_HEADERS_OVERFLOW") return new ExchangeError("too_large", { retry: "never", cause });
  if (code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE") {
    return new ExchangeError("reset", { retry: "idempotent", cause });
  }
  if (code === "UND_ERR_DESTROYED" || code === "UND_ERR_CLOSED")
    return new ExchangeError("closed", { retry: "never", cause });
  const isParser = cause instanceof Error && cause.name === "HTTPParserError";
  return new ExchangeError(isParser ? "malformed" : "unknown", { retry: "never", cause });
}

function toConnectFailure(code: string): ExchangeFailure {
  if (DNS_CODES.has(code)) return "dns";
  if (TIMEOUT_CODES.has(code)) return "connect_timeout";
  if (TLS_CODE.test(code)) return "tls";
  return code === "ECONNRESET" ? "reset" : "refused";
}

/** The error's code; the first of several where each address of a name failed by itself. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if ("code" in error && typeof error.code === "string") return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : "";
}
