import * as z from "zod";
import { HookCallError, HookgateError, type HookgateErrorCode, isHookgateError } from "../errors.ts";
import { type GatewayFetch, type GatewayResponse, readText } from "./fetch.ts";
import type { ClientSigning } from "./signing.ts";

/** Options of {@link GatewayCaller}. */
export interface GatewayCallerOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly signing: ClientSigning | undefined;
  readonly fetch: GatewayFetch;
  readonly maxReplyBytes: number;
}

/** Options of one exchange. */
export interface ExchangeOptions {
  /** When it is cut, whatever the other side does; in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** One JSON-RPC call. */
export interface GatewayCall extends ExchangeOptions {
  readonly method: string;
  /** As JSON text. */
  readonly params: string;
}

interface Message {
  /** The JSON-RPC method, or `batch`. */
  readonly method: string;
  readonly text: string;
}

interface Answer {
  readonly status: number;
  readonly isJson: boolean;
  readonly text: string;
}

/** Statuses that say the caller is at fault. Trying again, or going on without an answer, would hide it. */
const CALLERS_STATUSES: ReadonlyMap<number, HookgateErrorCode> = new Map([
  [400, "ERR_INVALID_REQUEST"],
  [401, "ERR_UNAUTHORIZED"],
  [403, "ERR_FORBIDDEN"],
  [413, "ERR_BODY_TOO_LARGE"],
]);

/** JSON-RPC codes that say the same. */
const CALLERS_CODES: ReadonlyMap<number, HookgateErrorCode> = new Map([
  [-32600, "ERR_INVALID_REQUEST"],
  [-32601, "ERR_METHOD_NOT_FOUND"],
  [-32602, "ERR_INVALID_PARAMS"],
  [-32001, "ERR_FORBIDDEN"],
]);

const OVERLOADED = -32002;

const MESSAGE_LIMIT = 1000;

const envelopeSchema = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]),
  result: z.unknown().exactOptional(),
  error: z.looseObject({ code: z.int(), message: z.string() }).exactOptional(),
});

/** Speaks JSON-RPC 2.0 to one gateway over HTTP. */
export class GatewayCaller {
  readonly #options: GatewayCallerOptions;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(options: GatewayCallerOptions) {
    const { token } = options;
    this.#options = options;
    this.#headers = {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  /**
   * Calls a method.
   * @returns the result as it came
   * @throws {HookCallError} when there is no verdict
   * @throws {HookgateError} `ERR_ABORTED` when the signal aborts; `ERR_UNAUTHORIZED`, `ERR_FORBIDDEN`,
   *   `ERR_INVALID_PARAMS` and the like when the caller is at fault
   */
  async call({ method, params, ...exchange }: GatewayCall): Promise<unknown> {
    const id = crypto.randomUUID();
    const body = `{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":${params}}`;
    const answer = await this.#exchange({ method, text: body }, exchange);
    if (answer.status !== 200) throw this.#toError(answer);
    if (!answer.isJson) throw new HookCallError("content_type", "the gateway's answer is not JSON");
    return this.#readResult(answer.text, id);
  }

  /**
   * Sends a batch of notifications.
   * @throws {HookCallError} when the gateway did not take them
   */
  async notify(body: string, exchange: ExchangeOptions): Promise<void> {
    const answer = await this.#exchange({ method: "batch", text: body }, exchange);
    if (answer.status < 200 || answer.status > 299) throw this.#toError(answer);
  }

  #exchange(message: Message, { timeoutMs, signal }: ExchangeOptions): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const controller = new AbortController();
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        act();
      };
      const cut = (error: HookgateError): void => {
        settle(() => reject(error));
        controller.abort(error);
      };
      const onAbort = (): void => cut(new HookgateError("ERR_ABORTED", "the host aborted", { cause: signal?.reason }));
      const timer = setTimeout(() => cut(new HookCallError("timeout", `no answer in ${timeoutMs} ms`)), timeoutMs);
      if (signal?.aborted === true) {
        onAbort();
        return;
      }
      signal?.addEventListener("abort", onAbort);
      this.#send(message, controller.signal).then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => settle(() => reject(toUnreachable(error))),
      );
    });
  }

  async #send({ method, text: body }: Message, signal: AbortSignal): Promise<Answer> {
    const { fetch, url, maxReplyBytes, signing } = this.#options;
    const signed = await signing?.sign(method, body);
    const headers = signed === undefined ? this.#headers : { ...this.#headers, ...signed.headers };
    const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
    const { status } = response;
    const text = await readText(response.body, maxReplyBytes);
    if (text === undefined) throw new HookCallError("too_large", `the answer is larger than ${maxReplyBytes} bytes`);
    // What says that nothing was decided needs no proof.
    if (status === 200) await signed?.verify({ status, text, signature: response.headers.get("hook-signature") });
    return { status, isJson: isJson(response), text };
  }

  #readResult(text: string, id: string): unknown {
    const { id: repliedId, result, error } = parseEnvelope(text);
    if (repliedId !== id) throw new HookCallError("wrong_id", "the reply is not to this call");
    if ((result === undefined) === (error === undefined)) {
      throw new HookCallError("bad_envelope", "the reply must have either a result or an error");
    }
    if (error === undefined) return result;
    const message = this.#redact(error.message);
    const code = CALLERS_CODES.get(error.code);
    if (code !== undefined) throw new HookgateError(code, message);
    throw new HookCallError(error.code === OVERLOADED ? "overloaded" : "rpc_error", message);
  }

  #toError({ status, text }: Answer): HookgateError {
    // Zero is how a browser-like fetch shows a redirect that it did not follow.
    if (status === 0 || (status >= 300 && status <= 399)) {
      return new HookCallError("redirect", "the gateway's URL redirects, which is not followed");
    }
    if (status === 429 || status === 503) return new HookCallError("overloaded", `the gateway answered ${status}`);
    const code = CALLERS_STATUSES.get(status);
    if (code === undefined) return new HookCallError("http_status", `the gateway answered ${status}`);
    return new HookgateError(code, `the gateway answered ${status}${this.#explain(text)}`);
  }

  #explain(text: string): string {
    try {
      const { error } = parseEnvelope(text);
      return error === undefined ? "" : `: ${this.#redact(error.message)}`;
    } catch {
      return "";
    }
  }

  /** What the other side says, fit for a log: it may have sent back the token it was given. */
  #redact(message: string): string {
    const { token } = this.#options;
    return (token === undefined ? message : message.replaceAll(token, "[token]")).slice(0, MESSAGE_LIMIT);
  }
}

function parseEnvelope(text: string): z.infer<typeof envelopeSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HookCallError("bad_json", "the answer is not JSON");
  }
  const { data, error } = envelopeSchema.safeParse(value);
  if (data === undefined)
    throw new HookCallError("bad_envelope", "the answer is not a JSON-RPC 2.0 reply", { cause: error });
  return data;
}

function isJson({ headers }: GatewayResponse): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
}

function toUnreachable(error: unknown): HookgateError {
  if (isHookgateError(error)) return error;
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  const message = `the gateway cannot be reached${code === undefined ? "" : `: ${code}`}`;
  return new HookCallError("unreachable", message, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" && /^\w{1,40}$/.test(error.code) ? error.code : undefined;
}
