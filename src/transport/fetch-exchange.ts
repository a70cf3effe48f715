import {
  ExchangeError,
  type ExchangeFailure,
  type HttpExchange,
  type HttpHead,
  type HttpReply,
  type HttpRequest,
  type Retry,
} from "./http-exchange.ts";

/** The host's fetch, as far as it is used. A service binding's `fetch` is one. */
export type ExchangeFetch = (url: string, init: RequestInit) => Promise<Response>;

/** Whether a value is what a runtime binds to a program to reach another by. */
export function isFetchBinding(value: unknown): value is { readonly fetch: ExchangeFetch } {
  return typeof value === "object" && value !== null && "fetch" in value && typeof value.fetch === "function";
}

/** Options of {@link createFetchExchange}. */
export interface FetchExchangeOptions {
  /** @default the platform's `fetch` */
  readonly fetch?: ExchangeFetch | undefined;
}

/** Codes that runtimes put on the cause of a failed fetch before any byte is written. */
const UNSENT: Readonly<Record<string, ExchangeFailure>> = {
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  ECONNREFUSED: "refused",
  ConnectionRefused: "refused",
  EHOSTUNREACH: "refused",
  ENETUNREACH: "refused",
  UND_ERR_CONNECT_TIMEOUT: "connect_timeout",
  ETIMEDOUT: "connect_timeout",
};

/**
 * Carries requests out with a `fetch`. It cannot check the address that a name resolves to, nor tell whether a request
 * was written before it failed; on Node the adapter's own exchange can.
 */
export function createFetchExchange({
  fetch: send = (url, init) => fetch(url, init),
}: FetchExchangeOptions = {}): HttpExchange {
  const closing = new AbortController();
  return {
    async send(request) {
      if (closing.signal.aborted) throw new ExchangeError("closed", { retry: "never" });
      const controller = new AbortController();
      const onAbort = (): void => controller.abort(request.signal.reason);
      const onClose = (): void => controller.abort(new ExchangeError("closed", { retry: "never" }));
      request.signal.addEventListener("abort", onAbort);
      closing.signal.addEventListener("abort", onClose);
      try {
        if (request.signal.aborted) onAbort();
        return await exchange(request, send, controller.signal);
      } catch (error) {
        controller.signal.throwIfAborted();
        throw error;
      } finally {
        request.signal.removeEventListener("abort", onAbort);
        closing.signal.removeEventListener("abort", onClose);
      }
    },
    close() {
      closing.abort();
      return Promise.resolve();
    },
  };
}

async function exchange(request: HttpRequest, send: ExchangeFetch, signal: AbortSignal): Promise<HttpReply> {
  const { url, headers, body, maxBodyBytes } = request;
  const response = await send(url, {
    method: "POST",
    headers,
    // A copy only where the bytes are in shared memory, which fetch refuses.
    body: body.buffer instanceof ArrayBuffer ? new Uint8Array(body.buffer, body.byteOffset, body.length) : body.slice(),
    // Not "error", which Workers throw on: a 3xx is then a status like any other.
    redirect: "manual",
    signal,
  }).catch((cause: unknown) => {
    throw toError(cause);
  });
  const head = toHead(response);
  if (!request.wantsBody(head)) {
    // It is not waited for: an endpoint may take its time to hear of it.
    void response.body?.cancel().catch(() => {});
    return { head, body: new Uint8Array() };
  }
  return { head, body: await readBody(response, maxBodyBytes) };
}

function toHead({ status, headers, type }: Response): HttpHead {
  return {
    // Where a redirect is hidden from the caller it has no status.
    status: type === "opaqueredirect" ? 302 : status,
    header(name) {
      // The runtime has undone the coding, so what these say is not about the body that is read.
      if (name === "content-encoding") return undefined;
      if (name === "content-length" && headers.has("content-encoding")) return undefined;
      return headers.get(name) ?? undefined;
    },
  };
}

async function readBody(response: Response, maxBodyBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  try {
    for (let step = await reader?.read(); step?.done === false; step = await reader?.read()) {
      const chunk: Uint8Array = step.value;
      length += chunk.length;
      if (length > maxBodyBytes) {
        void reader?.cancel().catch(() => {});
        throw new ExchangeError("too_large", { retry: "never" });
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof ExchangeError) throw cause;
    throw new ExchangeError("truncated", { retry: "never", cause });
  }
  return join(chunks, length);
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks;
  if (first?.length === length) return first;
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function toError(cause: unknown): ExchangeError {
  const code = codeOf(cause);
  const failure = UNSENT[code];
  if (failure !== undefined) return new ExchangeError(failure, { retry: "safe", cause });
  if (isTls(code)) return new ExchangeError("tls", { retry: "never", cause });
  if (code.startsWith("HPE_")) return new ExchangeError("malformed", { retry: "never", cause });
  // Whether it was written cannot be told, so it may have been.
  const retry: Retry = "idempotent";
  return new ExchangeError(code === "ECONNRESET" || code === "UND_ERR_SOCKET" ? "reset" : "unknown", { retry, cause });
}

function isTls(code: string): boolean {
  return /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO$)/.test(code);
}

/** The code on the error, or on what caused it. */
function codeOf(error: unknown, depth = 0): string {
  if (typeof error !== "object" || error === null || depth > 4) return "";
  if ("code" in error && typeof error.code === "string") return error.code;
  return "cause" in error ? codeOf(error.cause, depth + 1) : "";
}
