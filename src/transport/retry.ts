import { backoffMs } from "./backoff.ts";
import { ExchangeError } from "./http-exchange.ts";
import { HttpStatusError } from "./http-reply.ts";

const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** What decides whether a failed attempt is repeated. */
export interface RetryContext {
  /** How many attempts have failed, 1 or more. */
  readonly failures: number;
  /** Whether the endpoint has said that doing the same twice is doing it once. */
  readonly isIdempotent: boolean;
  /** A number from 0 up to but not 1. */
  readonly random: number;
  /** The time, in milliseconds since the epoch, for a `retry-after` that is a date. */
  readonly epochMs: number;
}

/**
 * How long to wait before the same call is sent again, in milliseconds.
 * @returns undefined when it must not be: a verdict may exist, or nothing would be different
 */
export function retryDelayMs(error: unknown, context: RetryContext): number | undefined {
  const { failures, isIdempotent, random, epochMs } = context;
  if (error instanceof ExchangeError) {
    if (error.retry === "never" || (error.retry === "idempotent" && !isIdempotent)) return undefined;
    // The other side closed an idle connection: a new one works at once.
    return error.retry === "idempotent" ? 0 : backoffMs(failures, random);
  }
  if (error instanceof HttpStatusError && isIdempotent && RETRIED_STATUSES.has(error.status)) {
    return Math.max(backoffMs(failures, random), toDelayMs(error.retryAfter, epochMs));
  }
  return undefined;
}

/** A `retry-after` in milliseconds: seconds, or a date. */
function toDelayMs(value: string | undefined, epochMs: number): number {
  if (value === undefined) return 0;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - epochMs);
}
