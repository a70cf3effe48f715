import type { Log } from "../log.ts";

/** What hookgate calls itself; a test keeps it equal to the manifest. */
export const USER_AGENT = "hookgate/0.1.0";

/** Headers that are the transport's own, the signature's, or the connection's. */
const RESERVED: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "hook-signature",
  "hook-timeout-ms",
  "host",
  "idempotency-key",
  "keep-alive",
  "proxy-connection",
  "te",
  "traceparent",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
]);

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The headers that every request to a hook has. A configured one never replaces one of ours: it is left out, and the log
 * says so.
 * @throws {TypeError} when a name or a value cannot be a header; it names the header and never shows the value
 */
export function createFixedHeaders(
  extra: Readonly<Record<string, string>>,
  { hook, log }: { readonly hook: string; readonly log: Log },
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [given, value] of Object.entries(extra)) {
    const name = given.toLowerCase();
    if (!NAME.test(name)) throw new TypeError(`headers: ${JSON.stringify(given)} is not a header name`);
    if (typeof value !== "string" || !VALUE.test(value)) {
      throw new TypeError(`headers: the value of ${JSON.stringify(given)} is not a header value`);
    }
    if (RESERVED.has(name)) log.warn("a configured header is not sent: it is hookgate's own", { hook, header: name });
    else headers[name] = value;
  }
  return {
    ...headers,
    accept: "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": USER_AGENT,
  };
}

/** What differs from request to request. */
export interface RequestMark {
  /** The headers that every request has, from {@link createFixedHeaders}. */
  readonly fixed: Readonly<Record<string, string>>;
  /** The call's id, a UUID; the same on a retry. */
  readonly id: string;
  /** What is left of the deadline, in milliseconds. */
  readonly remainingMs: number;
  /** The trace the call belongs to. @default one named after the call's id */
  readonly traceparent?: string | undefined;
}

/**
 * The headers of one request, but for its signature. A trace that nobody began is named after the call's
 * id, so that the logs of both sides can be matched.
 * @see {@link https://www.w3.org/TR/trace-context/#traceparent-header}
 */
export function createRequestHeaders({ fixed, id, remainingMs, traceparent }: RequestMark): Record<string, string> {
  const headers: Record<string, string> = { ...fixed };
  headers["idempotency-key"] = id;
  headers["traceparent"] = traceparent ?? toTraceparent(id);
  if (Number.isFinite(remainingMs)) headers["hook-timeout-ms"] = String(Math.max(1, Math.floor(remainingMs)));
  return headers;
}

function toTraceparent(id: string): string {
  // The time makes the first half of the id; the second is random, and so is not all zeros.
  const span = id.slice(19, 23) + id.slice(24);
  return `00-${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${span}-${span}-01`;
}
