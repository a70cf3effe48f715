import * as z from "zod";
import { type Approval, approvalSchema } from "../approvals/approval.ts";
import { HookCallError, HookgateError, type HookgateErrorCode, isHookCallError } from "../errors.ts";
import type {
  ApprovalCallOptions,
  ApprovalCancelInput,
  ApprovalDecisionInput,
  ApprovalList,
  ApprovalListOptions,
  ApprovalWaitOptions,
  GatewayApprovals,
} from "./approval-options.ts";
import { parseJson, readError, redact } from "./envelope.ts";
import { readEvents } from "./event-stream.ts";
import { type Answer, exchange, type ExchangeOptions, isRedirect, readAnswer, toUnreachable } from "./exchange.ts";
import { chunksOf, type GatewayFetch, type GatewayResponse } from "./fetch.ts";

/** Options of {@link createGatewayApprovals}. */
export interface GatewayApprovalsOptions {
  /** Where the gateway's paths begin. */
  readonly base: string;
  readonly token: string | undefined;
  readonly fetch: GatewayFetch;
  readonly maxReplyBytes: number;
  /** @throws {HookgateError} `ERR_CLOSED` when there are to be no more calls */
  readonly assertOpen: () => void;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. @default Date.now */
  readonly epochNow?: (() => number) | undefined;
  /** Lets time pass, or less of it when the signal aborts. @default the platform's timer */
  readonly pause?: ((delayMs: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
}

/** Asks a gateway about its human approvals. */
export function createGatewayApprovals(options: GatewayApprovalsOptions): GatewayApprovals {
  return new ApprovalsClient(options);
}

const TIMEOUT_MS = 10_000;
/** How long one request waits, in seconds; it may take {@link TIMEOUT_MS} more. */
const WAIT_SECONDS = 55;
/** How long a stream may be silent, in milliseconds: a sign of life comes every 15 s. */
const SILENCE_MS = 60_000;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
/** How much longer than an approval's time is waited for the answer that it is over, in milliseconds. */
const LATE_MS = 60_000;

/** Statuses that say that the caller, or the approval, is at fault. */
const STATUSES: ReadonlyMap<number, HookgateErrorCode> = new Map([
  [400, "ERR_INVALID_PARAMS"],
  [401, "ERR_UNAUTHORIZED"],
  [403, "ERR_FORBIDDEN"],
  [404, "ERR_NOT_FOUND"],
  [405, "ERR_METHOD_NOT_FOUND"],
  [409, "ERR_CONFLICT"],
  [410, "ERR_GONE"],
  [413, "ERR_BODY_TOO_LARGE"],
]);

/** The JSON-RPC code of a path that is not there, where an approval that is not there has another. */
const NO_PATH = -32601;

const reasonSchema = z.looseObject({ data: z.looseObject({ reason: z.string() }) });
const nextSchema = z.string().nullable();
const restFields = { next: nextSchema, unreadable: z.int().min(0).exactOptional() };
const listSchema = z.object({ approvals: z.array(approvalSchema), ...restFields });
const grantsSchema = z.object({ grants: z.array(approvalSchema), ...restFields });

interface Ask {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

class ApprovalsClient implements GatewayApprovals {
  readonly #options: GatewayApprovalsOptions;

  constructor(options: GatewayApprovalsOptions) {
    this.#options = options;
  }

  async list({ status, limit, cursor, ...options }: ApprovalListOptions = {}): Promise<ApprovalList> {
    const path = `/v1/approvals${toQuery({ status, limit, cursor })}`;
    const { next, ...page } = parse(listSchema, await this.#ask({ method: "GET", path }, options));
    return { ...page, ...(next !== null && { next }) };
  }

  async get(id: string, options: ApprovalCallOptions = {}): Promise<Approval> {
    return this.#approval({ method: "GET", path: toPath(id) }, options);
  }

  async decide(id: string, input: ApprovalDecisionInput, options: ApprovalCallOptions = {}): Promise<Approval> {
    return this.#approval({ method: "POST", path: `${toPath(id)}/decision`, body: input }, options);
  }

  async cancel(id: string, input: ApprovalCancelInput = {}, options: ApprovalCallOptions = {}): Promise<Approval> {
    return this.#approval({ method: "POST", path: `${toPath(id)}/cancel`, body: input }, options);
  }

  async wait(id: string, { signal, timeoutMs = Infinity }: ApprovalWaitOptions = {}): Promise<Approval> {
    const { now, epochNow = Date.now, pause = platformPause } = this.#options;
    let endsAtMs = now() + timeoutMs;
    let isKnown = false;
    for (let failures = 0; ;) {
      const startedAtMs = now();
      const seconds = Math.max(0, Math.min(WAIT_SECONDS, Math.ceil((endsAtMs - startedAtMs) / 1000)));
      const path = `${toPath(id)}?wait=${seconds}`;
      try {
        const approval = await this.#approval(
          { method: "GET", path },
          { signal, timeoutMs: seconds * 1000 + TIMEOUT_MS },
        );
        const tookMs = now() - startedAtMs;
        if (approval.status !== "pending" || seconds === 0 || now() >= endsAtMs) return approval;
        isKnown = true;
        failures = 0;
        endsAtMs = Math.min(endsAtMs, now() + Date.parse(approval.expires) - epochNow() + LATE_MS);
        // A gateway that is about to stop answers at once.
        if (tookMs < seconds * 1000) await pause(Math.min(MIN_PAUSE_MS, endsAtMs - now()), signal);
      } catch (error) {
        if (!isHookCallError(error) || !isKnown || now() >= endsAtMs) throw error;
        failures += 1;
        await pause(Math.min(MIN_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS, endsAtMs - now()), signal);
      }
    }
  }

  async grants({ limit, cursor, ...options }: Omit<ApprovalListOptions, "status"> = {}): Promise<ApprovalList> {
    const path = `/v1/grants${toQuery({ limit, cursor })}`;
    const answer = await this.#ask({ method: "GET", path }, options);
    const { grants: approvals, next, ...rest } = parse(grantsSchema, answer);
    return { approvals, ...rest, ...(next !== null && { next }) };
  }

  async revoke(id: string, options: ApprovalCallOptions = {}): Promise<Approval> {
    return this.#approval({ method: "DELETE", path: toPath(id, "/v1/grants") }, options);
  }

  async *watch({ signal }: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<Approval> {
    const stop = new AbortController();
    const onAbort = (): void => stop.abort();
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted === true) onAbort();
    try {
      const { body } = await this.#open(stop.signal);
      // What changes from now on is in the stream, whatever the lists below say.
      yield* this.#pending(stop.signal);
      for await (const { event, data } of readEvents(bounded(body, stop))) {
        if (event === "missed") yield* this.#pending(stop.signal);
        if (event === "approval") yield parse(approvalSchema, parseJson(data));
      }
    } catch (error) {
      if (signal?.aborted === true) return;
      throw toUnreachable(error);
    } finally {
      signal?.removeEventListener("abort", onAbort);
      stop.abort();
    }
  }

  async *#pending(signal: AbortSignal): AsyncGenerator<Approval> {
    for (let cursor: string | undefined; ;) {
      const { approvals, next } = await this.list({ status: "pending", cursor, signal });
      yield* approvals;
      if (next === undefined) return;
      cursor = next;
    }
  }

  /** Opens the stream. The signal goes on to cut it; the time is for its beginning. */
  #open(signal: AbortSignal): Promise<GatewayResponse> {
    const { base, fetch } = this.#options;
    this.#options.assertOpen();
    return exchange(
      async () => {
        const init = { method: "GET", headers: this.#headers(), signal, redirect: "manual" } as const;
        const response = await fetch(`${base}/v1/approvals/events`, init);
        if (response.status === 200) return response;
        throw this.#toError(await readAnswer(response, this.#options.maxReplyBytes));
      },
      { timeoutMs: TIMEOUT_MS, signal },
    );
  }

  async #approval(ask: Ask, options: ApprovalCallOptions): Promise<Approval> {
    return parse(approvalSchema, await this.#ask(ask, options));
  }

  async #ask({ method, path, body }: Ask, { signal, timeoutMs = TIMEOUT_MS }: ApprovalCallOptions): Promise<unknown> {
    const { base, fetch, maxReplyBytes, assertOpen } = this.#options;
    assertOpen();
    const headers = { ...this.#headers(), ...(body !== undefined && { "content-type": "application/json" }) };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const bounds: ExchangeOptions = { timeoutMs, signal };
    const answer = await exchange(async (cut) => {
      const init = { method, headers, ...sent, signal: cut, redirect: "manual" } as const;
      return readAnswer(await fetch(`${base}${path}`, init), maxReplyBytes);
    }, bounds);
    if (answer.status !== 200) throw this.#toError(answer);
    if (!answer.isJson) throw new HookCallError("content_type", "the gateway's answer is not JSON");
    return parseJson(answer.text);
  }

  #headers(): Readonly<Record<string, string>> {
    const { token } = this.#options;
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  #toError(answer: Answer): HookgateError {
    const { status, text } = answer;
    if (isRedirect(answer)) return new HookCallError("redirect", "the gateway's URL redirects, which is not followed");
    const error = readError(text);
    const message = error === undefined ? `the gateway answered ${status}` : redact(error.message, this.#options.token);
    const code = STATUSES.get(status);
    if (code !== undefined) return new HookgateError(error?.code === NO_PATH ? "ERR_METHOD_NOT_FOUND" : code, message);
    if (reasonSchema.safeParse(error).data?.data.reason === "store_unavailable") {
      return new HookCallError("store_unavailable", message);
    }
    return new HookCallError(status === 429 || status === 503 ? "overloaded" : "http_status", message);
  }
}

/** The chunks of a stream, which is cut when nothing comes for too long. */
async function* bounded(body: GatewayResponse["body"], stop: AbortController): AsyncGenerator<Uint8Array> {
  const silent = new HookCallError("timeout", `the gateway was silent for ${SILENCE_MS} ms`);
  let isSilent = false;
  const start = (): ReturnType<typeof setTimeout> =>
    setTimeout(() => {
      isSilent = true;
      stop.abort(silent);
    }, SILENCE_MS);
  let timer = start();
  try {
    for await (const chunk of chunksOf(body)) {
      clearTimeout(timer);
      yield chunk;
      timer = start();
    }
  } catch (error) {
    throw isSilent ? silent : error;
  } finally {
    clearTimeout(timer);
  }
}

function platformPause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", settle);
      resolve();
    };
    const timer = setTimeout(settle, Math.max(0, delayMs));
    signal?.addEventListener("abort", settle);
    if (signal?.aborted === true) settle();
  });
}

function toPath(id: string, under = "/v1/approvals"): string {
  if (id === "" || id.length > 300) throw new TypeError("id: expected the id of an approval");
  return `${under}/${encodeURIComponent(id)}`;
}

function toQuery(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

function parse<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const at = (issue?.path ?? []).map(String).join(".");
  throw new HookCallError("bad_result", `the answer is no approval: ${at}: ${issue?.message ?? "not valid"}`);
}
