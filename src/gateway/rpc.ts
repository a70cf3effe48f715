import { isHookgateError, type HookgateErrorCode, toRpcCode } from "../errors.ts";
import { isObject } from "../is-object.ts";
import type { Log } from "../log.ts";
import { answerHost, HOST_METHODS, type HookHost, type HostCallOptions } from "../picoclaw/index.ts";
import type { RpcError, RpcId, RpcReply } from "./answer.ts";
import type { Principal, Scope } from "./auth.ts";

/** Answers one further JSON-RPC method. It may throw {@link HookgateError} `ERR_INVALID_PARAMS`; its message is sent. */
export type RpcMethod = (params: unknown, options: HostCallOptions) => unknown;

/** Options of {@link RpcServer}. */
export interface RpcServerOptions {
  readonly host: HookHost;
  readonly methods: Readonly<Record<string, RpcMethod>>;
  /** How many messages a batch may hold. */
  readonly maxBatch: number;
  readonly log: Log;
}

/** What is known of the HTTP request that carries the messages. */
export interface RpcContext {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  /** What one call may take, in milliseconds, where the caller has said. */
  readonly timeoutMs?: number | undefined;
  /** The W3C trace the request says it belongs to. */
  readonly traceparent?: string | undefined;
  /** Told how many calls a batch holds beyond its first. */
  readonly onExtraCalls?: ((count: number) => void) | undefined;
}

/** What to answer: no text when every message was a notification. */
export interface RpcAnswer {
  readonly status: number;
  readonly text: string | undefined;
}

/** The scopes of which a token needs one to use `/rpc` at all. */
export const RPC_SCOPES: readonly Scope[] = ["call", "observe"];

/** The scopes of which a method needs one; every method that is not named here needs `call`. */
const METHOD_SCOPES: ReadonlyMap<string, readonly Scope[]> = new Map([
  ["hook.hello", RPC_SCOPES],
  ["hook.event", RPC_SCOPES],
  ["hook.runtime_event", RPC_SCOPES],
]);

const CALL_SCOPES: readonly Scope[] = ["call"];

/**
 * Answers JSON-RPC 2.0 messages, one or a batch.
 * @see {@link https://www.jsonrpc.org/specification}
 */
export class RpcServer {
  readonly #options: RpcServerOptions;
  readonly #methods: ReadonlySet<string>;

  constructor(options: RpcServerOptions) {
    this.#options = options;
    this.#methods = new Set([...HOST_METHODS, ...Object.keys(options.methods)]);
  }

  /**
   * Answers a body. What goes wrong is in the reply.
   * @throws {VerificationError} when the body is not what its sender signed
   */
  answer(text: string, context: RpcContext): RpcAnswer | Promise<RpcAnswer> {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return toAnswer(toError(null, toRpcError("ERR_PARSE", "the body is not JSON")));
    }
    context.principal.proof?.checkMessage(message);
    if (Array.isArray(message)) return this.#answerBatch(message, context);
    return this.#answerOne(message, context).then(toAnswer);
  }

  async #answerBatch(messages: readonly unknown[], context: RpcContext): Promise<RpcAnswer> {
    const { maxBatch } = this.#options;
    if (messages.length === 0 || messages.length > maxBatch) {
      const message = `a batch holds 1 to ${maxBatch} messages, got ${messages.length}`;
      return toAnswer(toError(null, toRpcError("ERR_INVALID_REQUEST", message)));
    }
    if (messages.length > 1) context.onExtraCalls?.(messages.length - 1);
    const replies: string[] = [];
    for (const message of messages) {
      // Nobody is left to read the rest.
      if (context.signal.aborted) break;
      const reply = await this.#answerOne(message, context);
      if (reply !== undefined) replies.push(stringify(reply));
    }
    return replies.length === 0 ? NOTHING : { status: 200, text: `[${replies.join(",")}]` };
  }

  async #answerOne(message: unknown, context: RpcContext): Promise<RpcReply | undefined> {
    if (!isObject(message)) return toError(null, toRpcError("ERR_INVALID_REQUEST", "a message must be an object"));
    const { jsonrpc, id, method, params } = message;
    const isNotification = id === undefined;
    if (!isNotification && !isId(id)) {
      const expected = "id: expected a string, null or a number that JSON can hold exactly";
      return toError(null, toRpcError("ERR_INVALID_REQUEST", expected));
    }
    if (jsonrpc !== "2.0" || typeof method !== "string" || !isStructured(params)) {
      return toError(id ?? null, toRpcError("ERR_INVALID_REQUEST", describe(message)));
    }
    const refusal = this.#refuse(method, context.principal);
    if (refusal !== undefined) return isNotification ? undefined : toError(id, refusal);
    try {
      const result = await this.#call({ method, params }, context);
      return isNotification ? undefined : { jsonrpc: "2.0", id, result: result ?? null };
    } catch (error) {
      const failure = this.#toFailure(error, { method, caller: context.principal.name });
      return isNotification ? undefined : toError(id, failure);
    }
  }

  #refuse(method: string, { scopes }: Principal): RpcError | undefined {
    if (!this.#methods.has(method)) {
      return toRpcError("ERR_METHOD_NOT_FOUND", `unknown method; expected one of ${[...this.#methods].join(", ")}`);
    }
    const wanted = METHOD_SCOPES.get(method) ?? CALL_SCOPES;
    if (wanted.some((scope) => scopes.has(scope))) return undefined;
    return toRpcError("ERR_FORBIDDEN", `${method} needs a token with scope ${wanted.join(" or ")}`);
  }

  #call({ method, params }: Call, { signal, timeoutMs, traceparent, principal }: RpcContext): unknown {
    const { host, methods } = this.#options;
    const options = { signal, timeoutMs, traceparent, caller: principal.name };
    const further = Object.hasOwn(methods, method) ? methods[method] : undefined;
    return further === undefined ? answerHost(host, { method, params, ...options }) : further(params, options);
  }

  /** What a caller may know of a failure: its own fault in full, anything else only as an id to look for in the log. */
  #toFailure(error: unknown, { method, caller }: { readonly method: string; readonly caller: string }): RpcError {
    if (isHookgateError(error)) {
      if (error.code === "ERR_INVALID_PARAMS") return toRpcError(error.code, error.message);
      if (error.code === "ERR_ABORTED") return toRpcError(error.code, "aborted");
    }
    const logId = crypto.randomUUID();
    this.#options.log.error("a call failed inside the gateway", {
      method,
      caller,
      log_id: logId,
      error: (error instanceof Error ? error.message : String(error)).slice(0, 300),
    });
    return { ...toRpcError("ERR_INTERNAL", "internal error"), data: { log_id: logId } };
  }
}

interface Call {
  readonly method: string;
  readonly params: unknown;
}

const NOTHING: RpcAnswer = { status: 202, text: undefined };

/** A reply to one message alone: an error whose call has no id answers with its own status. */
function toAnswer(reply: RpcReply | undefined): RpcAnswer {
  if (reply === undefined) return NOTHING;
  return { status: "error" in reply && reply.id === null ? 400 : 200, text: stringify(reply) };
}

function stringify(reply: RpcReply): string {
  try {
    return JSON.stringify(reply);
  } catch {
    return JSON.stringify(toError(reply.id, toRpcError("ERR_INTERNAL", "internal error")));
  }
}

function toError(id: RpcId, error: RpcError): RpcReply {
  return { jsonrpc: "2.0", id, error };
}

function toRpcError(code: HookgateErrorCode, message: string): RpcError {
  return { code: toRpcCode(code), message };
}

function describe({ jsonrpc, method }: Fields): string {
  if (jsonrpc !== "2.0") return 'jsonrpc: expected "2.0"';
  return typeof method === "string" ? "params: expected an object" : "method: expected a string";
}

type Fields = Readonly<Record<string, unknown>>;

function isStructured(params: unknown): boolean {
  return params === undefined || typeof params === "object";
}

/** Whether a value can be an id that comes back as it was sent. */
function isId(value: unknown): value is RpcId {
  if (typeof value === "string" || value === null) return true;
  return (
    typeof value === "number" && Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
  );
}
