import { isHookgateError, toRpcCode } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import { HELLO_METHOD, PROTOCOL_VERSION } from "../picoclaw/codec.ts";
import { createHookHandler, type HookHandler } from "../picoclaw/handler.ts";
import type { Hook } from "../picoclaw/hook.ts";
import { checkHttp, createBodyLimit } from "../signing/http-message.ts";
import { checkParty } from "../signing/token.ts";
import { isVerificationError, VerificationError } from "../signing/verification-error.ts";
import {
  ACCEPTED,
  type Answer,
  answerJwks,
  answerRefusal,
  RefusedError,
  type RpcError,
  toErrorText,
  toRefusal,
  toResponse,
  toResultText,
} from "./answer.ts";
import { readBody } from "./body.ts";
import { type CallCut, parseTimeout, runWithin } from "./deadline.ts";
import { type Call, type EventMessage, parseBody, parseMessage } from "./message.ts";
import type { HookEndpointOptions } from "./options.ts";
import { createTrust, type Trust, type Trusted } from "./trust.ts";

/** What a server knows of a request that the request does not say. */
export interface RequestContext {
  /**
   * Keeps work alive after the answer, as on Workers: events are then answered at once and handled afterwards.
   * @default the answer waits for them, which holds the gateway's next batch back
   */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
  /** Reads the body faster than the request itself does; undefined when it is longer. @default the request's stream */
  readonly readBody?: ((maxBytes: number) => Promise<Uint8Array | undefined>) | undefined;
}

/** A hook behind a URL. */
export interface HookEndpoint {
  /** Answers a request; it never rejects. It needs no `this`, and further arguments of a platform are not looked at. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Answers a request, for servers that know more of it; it never rejects. */
  answer(request: Request, context: RequestContext): Promise<Response>;
  /**
   * Imports the keys now and not with the first request, so that a wrong one is seen at the start.
   * @throws {HookgateError} `ERR_CONFIG` when one is not valid
   */
  ready(): Promise<void>;
}

/**
 * Puts a hook behind a URL: verifies each request, runs the hook under the caller's deadline and signs what it answers.
 * The same hook still runs over stdio and in-process.
 * @throws {TypeError} naming the option that is missing, does not fit or does not go with another
 * @throws {RangeError} when a secret is too short or `maxBodyBytes` is not a positive integer
 * @throws {HookgateError} `ERR_CONFIG` when a key is not valid
 * @see docs/signing.md
 */
export function createHookEndpoint(hook: Hook, options: HookEndpointOptions): HookEndpoint {
  const server = new EndpointServer(hook, options);
  return {
    fetch: (request) => server.answer(request, {}),
    answer: (request, context) => server.answer(request, context),
    ready: () => server.ready(),
  };
}

const DIALECT = "picoclaw";
const JWKS_PATH = "/.well-known/jwks.json";
const HOOK_ERROR = -32_000;
const MAX_ERROR_CHARS = 1000;
const NOTHING = new Uint8Array();
class EndpointServer {
  readonly #trust: Trust;
  readonly #handle: HookHandler;
  readonly #greeting: Readonly<Record<string, unknown>>;
  readonly #maxBodyBytes: number;
  readonly #log: Log;

  constructor(hook: Hook, options: HookEndpointOptions) {
    const { log = silentLog, idempotent } = options;
    const name = checkParty("name", options.name);
    this.#trust = createTrust(options);
    this.#handle = createHookHandler(hook, { name, log });
    this.#greeting = { version: PROTOCOL_VERSION, dialect: DIALECT, idempotent };
    this.#maxBodyBytes = createBodyLimit(options.maxBodyBytes);
    this.#log = log;
  }

  ready(): Promise<void> {
    return this.#trust.ready();
  }

  async answer(request: Request, context: RequestContext): Promise<Response> {
    try {
      const { jwks } = this.#trust;
      if (jwks !== undefined && isJwksRequest(request)) return answerJwks(await jwks());
      return await this.#answerPost(request, context);
    } catch (error) {
      this.#logRefusal(error);
      return answerRefusal(error);
    }
  }

  async #answerPost(request: Request, context: RequestContext): Promise<Response> {
    const { method, headers } = request;
    // Before the body is read: what is refused anyway is not taken in.
    checkHttp({ method, contentType: headers.get("content-type"), body: NOTHING }, this.#maxBodyBytes);
    const body = await this.#read(request, context);
    const trusted = await this.#trust.verify({ method, headers, body });
    const answer = await this.#answerMessage(body, { request, context, trusted });
    return toResponse(answer, await trusted.sign({ status: answer.status, body: answer.text }));
  }

  async #read(request: Request, context: RequestContext): Promise<Uint8Array> {
    const max = this.#maxBodyBytes;
    // Not waited for: the sender itself says that it is too long.
    if (Number(request.headers.get("content-length") ?? 0) > max) throw new VerificationError("body_too_large");
    let body: Uint8Array | undefined;
    try {
      body = await (context.readBody?.(max) ?? readBody(request, max));
    } catch {
      throw new RefusedError("ERR_INVALID_REQUEST", "the body ended early");
    }
    if (body === undefined) throw new VerificationError("body_too_large");
    return body;
  }

  async #answerMessage(body: Uint8Array, delivery: Delivery): Promise<Answer> {
    let message: Call | readonly EventMessage[];
    try {
      const parsed = parseBody(body);
      delivery.trusted.checkMethod(parsed);
      message = parseMessage(parsed);
    } catch (error) {
      // The sender is known, so it gets a signed answer.
      if (error instanceof RefusedError) return toRefusal(error.code, error.message);
      throw error;
    }
    return isEvents(message) ? this.#takeEvents(message, delivery) : this.#call(message, delivery.request);
  }

  async #call({ id, method, params }: Call, { headers, signal }: Request): Promise<Answer> {
    const timeoutMs = parseTimeout(headers.get("hook-timeout-ms"));
    try {
      const run = ({ onAbort }: CallCut): Promise<unknown> => this.#handle(method, params, { onAbort, timeoutMs });
      const result = await runWithin(run, { timeoutMs, signal });
      const text = toResultText(id, method === HELLO_METHOD ? { ...Object(result), ...this.#greeting } : result);
      return { status: 200, text };
    } catch (error) {
      const answer = toRpcError(error);
      this.#log.warn("a call failed", { method: method.slice(0, 80), code: answer.code, error: answer.message });
      return { status: 200, text: toErrorText(id, answer) };
    }
  }

  async #takeEvents(events: readonly EventMessage[], { request, context }: Delivery): Promise<Answer> {
    const timeoutMs = parseTimeout(request.headers.get("hook-timeout-ms"));
    const { waitUntil } = context;
    // Work that outlives the answer is not the caller's to abort.
    const signal = waitUntil === undefined ? request.signal : undefined;
    const work = runWithin((cut) => this.#tell(events, { cut, timeoutMs }), { timeoutMs, signal }).catch(
      (error: unknown) => this.#log.warn("events were not handled in time", { error: toRpcError(error).message }),
    );
    if (waitUntil === undefined) await work;
    else waitUntil(work);
    return ACCEPTED;
  }

  /** Tells the hook of events, one after the other. */
  async #tell(events: readonly EventMessage[], { cut, timeoutMs }: { cut: CallCut; timeoutMs: number }): Promise<void> {
    for (const { method, params } of events) {
      if (cut.isCut) return;
      try {
        await this.#handle(method, params, { onAbort: cut.onAbort, timeoutMs });
      } catch (error) {
        this.#log.warn("an event was not handled", { error: toRpcError(error).message });
      }
    }
  }

  /** Of a refused token only its code and kid; of a fault of our own what it was. */
  #logRefusal(error: unknown): void {
    if (isVerificationError(error)) {
      const { reason, kid, cause } = error;
      const by = kid === undefined ? {} : { kid };
      const why = cause instanceof Error ? { error: cause.message } : {};
      this.#log.warn("a request was refused", { reason, ...by, ...why });
    } else if (error instanceof RefusedError) {
      this.#log.warn("a request was refused", { reason: error.message });
    } else {
      this.#log.error("a request failed", { error: error instanceof Error ? error.message : String(error) });
    }
  }
}

interface Delivery {
  readonly request: Request;
  readonly context: RequestContext;
  readonly trusted: Trusted;
}

function isJwksRequest({ method, url }: Request): boolean {
  return method === "GET" && (URL.parse(url)?.pathname.endsWith(JWKS_PATH) ?? false);
}

function isEvents(message: Call | readonly EventMessage[]): message is readonly EventMessage[] {
  return Array.isArray(message);
}

/** The hook's own errors are -32000; what the protocol has a code for keeps it. */
function toRpcError(error: unknown): RpcError {
  if (isHookgateError(error) && (error.code === "ERR_METHOD_NOT_FOUND" || error.code === "ERR_INVALID_PARAMS")) {
    return { code: toRpcCode(error.code), message: error.message.slice(0, MAX_ERROR_CHARS) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: HOOK_ERROR, message: message.slice(0, MAX_ERROR_CHARS) };
}
