import { HookCallError, HookgateError, type HookgateErrorCode } from "../errors.ts";
import { parseEnvelope, readError, redact } from "./envelope.ts";
import { type Answer, exchange, type ExchangeOptions, isRedirect, readAnswer } from "./exchange.ts";
import type { GatewayFetch } from "./fetch.ts";
import type { ClientSigning } from "./signing.ts";

/** Options of {@link GatewayCaller}. */
export interface GatewayCallerOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly signing: ClientSigning | undefined;
  readonly fetch: GatewayFetch;
  readonly maxReplyBytes: number;
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
  async call({ method, params, ...options }: GatewayCall): Promise<unknown> {
    const id = crypto.randomUUID();
    const body = `{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":${params}}`;
    const answer = await exchange((signal) => this.#send({ method, text: body }, signal), options);
    if (answer.status !== 200) throw this.#toError(answer);
    if (!answer.isJson) throw new HookCallError("content_type", "the gateway's answer is not JSON");
    return this.#readResult(answer.text, id);
  }

  /**
   * Sends a batch of notifications.
   * @throws {HookCallError} when the gateway did not take them
   */
  async notify(body: string, options: ExchangeOptions): Promise<void> {
    const answer = await exchange((signal) => this.#send({ method: "batch", text: body }, signal), options);
    if (answer.status < 200 || answer.status > 299) throw this.#toError(answer);
  }

  async #send({ method, text: body }: Message, signal: AbortSignal): Promise<Answer> {
    const { fetch, url, maxReplyBytes, signing } = this.#options;
    const signed = await signing?.sign(method, body);
    const headers = signed === undefined ? this.#headers : { ...this.#headers, ...signed.headers };
    const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
    const answer = await readAnswer(response, maxReplyBytes);
    const { status, text } = answer;
    // What says that nothing was decided needs no proof.
    if (status === 200) await signed?.verify({ status, text, signature: response.headers.get("hook-signature") });
    return answer;
  }

  #readResult(text: string, id: string): unknown {
    const { id: repliedId, result, error } = parseEnvelope(text);
    if (repliedId !== id) throw new HookCallError("wrong_id", "the reply is not to this call");
    if ((result === undefined) === (error === undefined)) {
      throw new HookCallError("bad_envelope", "the reply must have either a result or an error");
    }
    if (error === undefined) return result;
    const message = redact(error.message, this.#options.token);
    const code = CALLERS_CODES.get(error.code);
    if (code !== undefined) throw new HookgateError(code, message);
    throw new HookCallError(error.code === OVERLOADED ? "overloaded" : "rpc_error", message);
  }

  #toError(answer: Answer): HookgateError {
    const { status, text } = answer;
    if (isRedirect(answer)) return new HookCallError("redirect", "the gateway's URL redirects, which is not followed");
    if (status === 429 || status === 503) return new HookCallError("overloaded", `the gateway answered ${status}`);
    const code = CALLERS_STATUSES.get(status);
    if (code === undefined) return new HookCallError("http_status", `the gateway answered ${status}`);
    const said = readError(text);
    const why = said === undefined ? "" : `: ${redact(said.message, this.#options.token)}`;
    return new HookgateError(code, `the gateway answered ${status}${why}`);
  }
}
