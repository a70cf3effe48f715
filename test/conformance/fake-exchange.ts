import { isHookCallError } from "../../src/errors.ts";
import { createHttpTransport } from "../../src/transport/http.ts";
import type { Greeting, OutgoingMessage, Transport } from "../../src/transport/contract.ts";
import {
  ExchangeError,
  type HttpExchange,
  type HttpHead,
  type HttpReply,
  type HttpRequest,
} from "../../src/transport/http-exchange.ts";
import type { HttpOptions } from "../../src/transport/http-options.ts";
import { OwnScope } from "../../src/transport/schedule.ts";
import type { Case } from "./case.ts";

/** A clock that stands still until it is told otherwise. */
export class FakeClock {
  #nowMs = 1000;
  readonly #timers = new Map<object, { readonly atMs: number; readonly run: () => void }>();

  readonly now = (): number => this.#nowMs;

  readonly schedule = (run: () => void, delayMs: number): (() => void) => {
    const key = {};
    this.#timers.set(key, { atMs: this.#nowMs + delayMs, run });
    return () => this.#timers.delete(key);
  };

  /** How many timers are armed. */
  get armed(): number {
    return this.#timers.size;
  }

  /** Lets time pass, and what is due happen in its order. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      await settle();
      const [due] = [...this.#timers].toSorted(([, a], [, b]) => a.atMs - b.atMs);
      if (due === undefined || due[1].atMs > untilMs) break;
      this.#timers.delete(due[0]);
      this.#nowMs = Math.max(this.#nowMs, due[1].atMs);
      due[1].run();
    }
    this.#nowMs = untilMs;
    await settle();
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
}

/** One JSON-RPC message as it was sent. */
export interface Sent {
  readonly id?: string;
  readonly method: string;
  readonly params: unknown;
}

/** One request that was sent, with its body read. */
export interface SentRequest extends HttpRequest {
  readonly message: Sent;
  /** The messages of a batch. */
  readonly batch: readonly Sent[];
}

/** What a fake endpoint answers: a reply, an error to fail with, or nothing at all. */
export type Answer = HttpReply | Error | "nothing";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Answers requests as a case says, and keeps what was sent. */
export class FakeExchange implements HttpExchange {
  readonly sent: SentRequest[] = [];
  answer: (request: SentRequest, index: number) => Answer;
  #waiting: (() => void)[] = [];
  isClosed = false;

  constructor(answer: FakeExchange["answer"] = (request) => toResult(request)) {
    this.answer = answer;
  }

  /** The methods that were called, in their order. */
  get methods(): readonly string[] {
    return this.sent.map(({ message }) => message.method);
  }

  send(request: HttpRequest): Promise<HttpReply> {
    const value: unknown = JSON.parse(decoder.decode(request.body));
    const batch = Array.isArray(value) ? value.map(toSent) : [];
    // Its own accessors and methods are those of a class.
    const { url, headers, body, signal, maxBodyBytes } = request;
    const sent = {
      url,
      headers,
      body,
      signal,
      maxBodyBytes,
      wantsBody: (head: HttpHead) => request.wantsBody(head),
      message: Array.isArray(value) ? { method: "batch", params: null } : toSent(value),
      batch,
    };
    this.sent.push(sent);
    const answer = this.answer(sent, this.sent.length - 1);
    return new Promise((resolve, reject) => {
      const give = (result: Answer): void => {
        if (result instanceof Error) reject(result);
        else if (result !== "nothing") resolve(result);
      };
      // What is answered with nothing is held until the case lets it go.
      if (answer === "nothing") this.#waiting.push(() => give(toResult(sent)));
      else give(answer);
      request.signal.addEventListener("abort", () => reject(toError(request.signal.reason)));
    });
  }

  /** Answers what was held back, oldest first. */
  release(count = this.#waiting.length): void {
    for (const give of this.#waiting.splice(0, count)) give();
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function toSent(value: unknown): Sent {
  if (typeof value !== "object" || value === null || !("method" in value)) throw new Error("not a message");
  const params = "params" in value ? value.params : undefined;
  const id = "id" in value ? { id: String(value.id) } : {};
  return { method: String(value.method), params, ...id };
}

/** A reply with this body. */
export function toReply(
  body: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): HttpReply {
  const all: Readonly<Record<string, string>> = { "content-type": "application/json", ...headers };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { head: { status, header: (name) => all[name] }, body: encoder.encode(text) };
}

/** The reply with a result to a request. */
export function toResult({ message }: SentRequest, result: unknown = {}): HttpReply {
  return toReply({ jsonrpc: "2.0", id: message.id, result });
}

/** A transport over a fake exchange, and a clock that moves it. */
export interface FakeStage {
  readonly clock: FakeClock;
  readonly exchange: FakeExchange;
  readonly transport: Transport;
  /** Calls with a deadline of 5 s unless told another. */
  call(message?: Partial<OutgoingMessage>, timeoutMs?: number): FakeCall;
}

/** One call, and what it can be cut with. */
export interface FakeCall {
  readonly scope: OwnScope;
  readonly result: Promise<unknown>;
}

/** A greeting that takes any answer. */
export const GREETING: Greeting = { method: "hook.hello", params: '{"name":"gate"}', accept: () => {} };

/** Makes a transport over a fake exchange. */
export function createFakeStage(options: Partial<HttpOptions> & { readonly exchange?: FakeExchange } = {}): FakeStage {
  const clock = new FakeClock();
  const exchange = options.exchange ?? new FakeExchange();
  const transport = createHttpTransport({
    name: "gate",
    url: "https://hooks.test/hook",
    unsigned: true,
    isBinding: true,
    now: clock.now,
    epochNow: () => 1_700_000_000_000 + clock.now(),
    random: () => 0,
    schedule: clock.schedule,
    ...options,
    exchange,
  });
  return {
    clock,
    exchange,
    transport,
    call(message, timeoutMs = 5000) {
      const scope = new OwnScope(timeoutMs, clock);
      const result = transport.call({ method: "hook.before_tool", params: "{}", ...message }, scope);
      void result.finally(() => scope.dispose()).catch(() => {});
      return { scope, result };
    },
  };
}

/** A case of the HTTP transport. */
export function httpCase(id: string, run: () => Promise<void> | void): Case {
  return { id: `http/${id}`, source: "Hooks over HTTP, section 1", run: async () => run() };
}

/** How a call ended: its kind of no-verdict, or the result it has. */
export async function kindOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    (value) => `a result: ${JSON.stringify(value)}`,
    (error: unknown) => (isHookCallError(error) ? error.kind : String(error)),
  );
}

/** What a function throws; undefined when it does not. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A connection that went away when the request was written. */
export const reset = (): Error => new ExchangeError("reset", { retry: "idempotent" });

/** A connection that was never made. */
export const refused = (): Error => new ExchangeError("refused", { retry: "safe" });

/** Answers the greeting with this result, and everything else with what `answer` says. */
export function greeted(hello: unknown, answer: FakeExchange["answer"]): FakeExchange {
  return new FakeExchange((request, index) =>
    request.message.method === "hook.hello" ? toResult(request, hello) : answer(request, index),
  );
}

/** An id as a transport makes one. */
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
