import type { Agent, Dispatcher } from "undici";
import {
  ExchangeError,
  type ExchangeFailure,
  type HttpExchange,
  type HttpHead,
  type HttpReply,
  type HttpRequest,
} from "../../src/transport/http-exchange.ts";
import { createGuardedAgent, type GuardedAgentOptions, isUnsent } from "./guarded-agent.ts";

/**
 * Carries requests out with an undici agent of its own, passed explicitly: the global one is another version's as soon as
 * something imports `node:http`, and ignores an abort while connecting. Redirects are not followed, nothing is decoded.
 */
export function createHttpExchange(options: GuardedAgentOptions = {}): HttpExchange {
  return createAgentExchange(createGuardedAgent(options));
}

/** Carries requests out with an agent, which closes with it. */
export function createAgentExchange(agent: Agent): HttpExchange {
  return {
    send: (request) => send(agent, request),
    async close() {
      await agent.destroy(new ExchangeError("closed", { retry: "never" }));
    },
  };
}

async function send(agent: Agent, request: HttpRequest): Promise<HttpReply> {
  const { origin, path } = toTarget(request.url);
  const { headers, body, signal } = request;
  let response: Dispatcher.ResponseData;
  try {
    response = await agent.request({ origin, path, method: "POST", headers, body, signal });
  } catch (cause) {
    signal.throwIfAborted();
    throw toError(cause);
  }
  const head = toHead(response);
  if (!request.wantsBody(head)) {
    response.body.on("error", ignore).destroy();
    return { head, body: EMPTY };
  }
  return { head, body: await readBody(response.body, request) };
}

const EMPTY = new Uint8Array();

function ignore(): void {}

/** URLs of hooks are few and each is used again and again. */
const targets = new Map<string, { readonly origin: string; readonly path: string }>();

function toTarget(url: string): { readonly origin: string; readonly path: string } {
  let target = targets.get(url);
  if (target === undefined) {
    const { origin, pathname, search } = new URL(url);
    target = { origin, path: pathname + search };
    if (targets.size >= 1024) targets.clear();
    targets.set(url, target);
  }
  return target;
}

function toHead({ statusCode, headers }: Dispatcher.ResponseData): HttpHead {
  return {
    status: statusCode,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
  };
}

function readBody(body: Dispatcher.ResponseData["body"], { maxBodyBytes, signal }: HttpRequest): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    body.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBodyBytes) body.destroy(new ExchangeError("too_large", { retry: "never" }));
      else chunks.push(chunk);
    });
    body.on("end", () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)),
    );
    body.on("error", (cause) => {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason is what the call was cut with
      if (signal.aborted) reject(signal.reason);
      else reject(cause instanceof ExchangeError ? cause : new ExchangeError("truncated", { retry: "never", cause }));
    });
  });
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
