import { HookCallError } from "../errors.ts";
import { createUuidV7 } from "../signing/uuid.ts";
import { isVerificationError, toNoVerdictKind } from "../signing/verification-error.ts";
import type { OutgoingMessage } from "./contract.ts";
import { encodeBatch, encodeRequest, type OutgoingBody } from "./http-body.ts";
import type { HttpHead, HttpReply, HttpRequest } from "./http-exchange.ts";
import { createRequestHeaders } from "./http-headers.ts";
import type { HttpSettings } from "./http-options.ts";
import { checkHead, HttpStatusError, parseHttpReply } from "./http-reply.ts";
import { retryDelayMs } from "./retry.ts";
import type { SignedMessage } from "./signature.ts";
import type { Watch } from "./watch.ts";

const DELIVERED: ReadonlySet<number> = new Set([200, 202, 204]);

/** One batch of notifications; it is the same one on a retry. */
export interface Batch {
  readonly id: string;
  readonly body: OutgoingBody;
}

interface Attempt {
  /** The JSON-RPC method, or `batch`. */
  readonly method: string;
  readonly id: string;
  readonly body: OutgoingBody;
  readonly watch: Watch;
  /** Why a reply with this head is none. */
  readonly refuse: (head: HttpHead) => HookCallError | undefined;
}

/**
 * One POST of a call. A class, since an object with an accessor of its own has a hidden class of its own as well, which
 * lives in the old generation and keeps the whole call until the next full collection.
 */
class WatchedRequest implements HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly maxBodyBytes: number;
  readonly watch: Watch;
  readonly #refuse: Attempt["refuse"];

  constructor(
    parts: Pick<HttpRequest, "url" | "headers" | "body" | "maxBodyBytes">,
    watch: Watch,
    refuse: Attempt["refuse"],
  ) {
    this.url = parts.url;
    this.headers = parts.headers;
    this.body = parts.body;
    this.maxBodyBytes = parts.maxBodyBytes;
    this.watch = watch;
    this.#refuse = refuse;
  }

  get signal(): AbortSignal {
    return this.watch.scope.signal;
  }

  wantsBody(head: HttpHead): boolean {
    return this.#refuse(head) === undefined;
  }
}

/** Speaks JSON-RPC 2.0 over single POSTs to one endpoint. */
export class HttpClient {
  readonly #settings: HttpSettings;

  constructor(settings: HttpSettings) {
    this.#settings = settings;
  }

  /**
   * Calls a method, again if that is safe, within the call's deadline.
   * @returns the result as it came
   * @throws {HookCallError} with the kind of no-verdict
   */
  async call(message: OutgoingMessage, watch: Watch, isIdempotent: boolean): Promise<unknown> {
    const { exchange, maxMessageBytes, maxRetries, epochNow, random, schedule } = this.#settings;
    const { scope } = watch;
    const id = createUuidV7(epochNow());
    const body = encodeRequest(message, id, exchange.encode);
    const refuse = (head: HttpHead): HookCallError | undefined => checkHead(head, maxMessageBytes);
    for (let failures = 1; ; failures += 1) {
      scope.attempt = failures;
      try {
        const { reply, signed } = await this.#attempt({ method: message.method, id, body, watch, refuse });
        if (signed !== undefined) await verify(signed, reply);
        return parseHttpReply(reply.body, id);
      } catch (error) {
        if (watch.isCut || failures > maxRetries) throw error;
        const delayMs = retryDelayMs(error, { failures, isIdempotent, random: random(), epochMs: epochNow() });
        if (delayMs === undefined || delayMs >= scope.remainingMs) throw error;
        if (delayMs > 0) await watch.wait((done) => schedule(done, delayMs));
      }
    }
  }

  /** Makes a batch of notifications, each JSON text. */
  createBatch(notifications: readonly string[]): Batch {
    return { id: createUuidV7(this.#settings.epochNow()), body: encodeBatch(notifications) };
  }

  /**
   * Sends a batch, once. What is answered is not looked at.
   * @throws {HookCallError} when it was not taken
   */
  async deliver({ id, body }: Batch, watch: Watch): Promise<void> {
    await this.#attempt({ method: "batch", id, body, watch, refuse: refuseUndelivered });
  }

  async #attempt({ method, id, body, watch, refuse }: Attempt): Promise<{ reply: HttpReply; signed?: SignedMessage }> {
    const { exchange, signature, url, headers, maxMessageBytes } = this.#settings;
    const signing = signature?.sign({ method, id, body });
    const signed = signing instanceof Promise ? await signing : signing;
    const { remainingMs, traceparent } = watch.scope;
    const sent = createRequestHeaders({ fixed: headers, id, remainingMs, traceparent });
    if (signed !== undefined) Object.assign(sent, signed.headers);
    const parts = { url, headers: sent, body: body.bytes, maxBodyBytes: maxMessageBytes };
    const reply = await exchange.send(new WatchedRequest(parts, watch, refuse));
    const refusal = refuse(reply.head);
    if (refusal !== undefined) throw refusal;
    return signed === undefined ? { reply } : { reply, signed };
  }
}

function refuseUndelivered({ status }: HttpHead): HookCallError | undefined {
  return DELIVERED.has(status) ? undefined : new HttpStatusError(status);
}

async function verify(signed: SignedMessage, reply: HttpReply): Promise<void> {
  try {
    await signed.verify(reply);
  } catch (cause) {
    if (!isVerificationError(cause)) throw cause;
    throw new HookCallError(toNoVerdictKind(cause.reason), `the reply was refused: ${cause.message}`, { cause });
  }
}
