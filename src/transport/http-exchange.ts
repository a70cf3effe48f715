import { HookCallError, type NoVerdictKind } from "../errors.ts";
import type { Watch } from "./watch.ts";

/** The status and the headers of a reply. */
export interface HttpHead {
  readonly status: number;
  /** The value of a header; several of one name are joined with `", "`. `name` is in lower case. */
  header(name: string): string | undefined;
}

/** A reply, read to its end. */
export interface HttpReply {
  readonly head: HttpHead;
  /** The body without its transfer coding; empty when it was not wanted. */
  readonly body: Uint8Array;
}

/** One POST. */
export interface HttpRequest {
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Covers everything from the look-up of the name to the last byte of the body. */
  readonly signal: AbortSignal;
  /** Tells what `signal` tells, and spares making one where an exchange needs none. @default the signal is asked */
  readonly watch?: Pick<Watch, "listen"> | undefined;
  /** The longest body that is read. It is counted while it comes in, whatever the headers say. */
  readonly maxBodyBytes: number;
  /** Asked when the head is there. What is not wanted is not read, and its connection is not used again. */
  wantsBody(head: HttpHead): boolean;
}

/** Carries requests out; the host injects it. Redirects are not followed and no cookies are kept. */
export interface HttpExchange {
  /**
   * Carries out one request, once: it never sends it again by itself.
   * @throws {ExchangeError} when there is no whole reply
   * @throws what the signal was aborted with, when it was
   */
  send(request: HttpRequest): Promise<HttpReply>;
  /** Encodes a text in UTF-8, where the host does it faster than `TextEncoder`. @default `TextEncoder` does it */
  readonly encode?: ((text: string) => Uint8Array) | undefined;
  /** Closes every connection; requests in flight end with an {@link ExchangeError}. Idempotent; never rejects. */
  close(): Promise<void>;
}

/** What kept a reply from coming. */
export type ExchangeFailure =
  | "dns"
  | "refused"
  | "reset"
  | "tls"
  | "connect_timeout"
  | "forbidden_address"
  | "truncated"
  | "malformed"
  | "too_large"
  | "closed"
  | "unknown";

/**
 * Whether the same call may be sent again: `safe` when no byte of the request was written, `idempotent` when the
 * connection went away before a reply began, so that the other side may have acted on it, and `never` otherwise.
 */
export type Retry = "safe" | "idempotent" | "never";

const TEXTS: Readonly<Record<ExchangeFailure, string>> = {
  dns: "its name cannot be resolved",
  refused: "the connection was refused",
  reset: "the connection was closed before a reply came",
  tls: "there is no trusted TLS connection",
  connect_timeout: "the connection was not made in time",
  forbidden_address: "its address is not allowed",
  truncated: "the reply ended early",
  malformed: "the reply is not HTTP",
  too_large: "the reply is longer than allowed",
  closed: "the transport was closed",
  unknown: "the request failed",
};

/** A request without a whole reply. The message is a constant: an address in it would make the caller a port scanner. */
export class ExchangeError extends HookCallError {
  readonly failure: ExchangeFailure;
  readonly retry: Retry;

  constructor(failure: ExchangeFailure, options: { readonly retry: Retry; readonly cause?: unknown }) {
    const kind: NoVerdictKind = failure === "too_large" ? "too_large" : "unreachable";
    const text = TEXTS[failure];
    super(kind, kind === "too_large" ? text : `the hook cannot be reached: ${text}`, { cause: options.cause });
    this.failure = failure;
    this.retry = options.retry;
  }
}
