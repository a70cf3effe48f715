const TIMEOUT_HEADER = "hook-timeout-ms";

/** What an answer needs for its way back, at most. */
const WAY_MS = 100;

/**
 * How long the caller waits, less what the answer needs for its way: another gateway, or anyone who says so. Without it
 * the caller would give up on an answer that is about to come.
 * @returns undefined when the caller has not said, or not in whole milliseconds
 */
export function readTimeout(headers: Headers): number | undefined {
  const text = headers.get(TIMEOUT_HEADER);
  if (text === null || !/^\d{1,10}$/.test(text)) return undefined;
  return withMargin(Number(text), WAY_MS);
}

/** A deadline that is kept before another one, by a tenth of it and at most `marginMs`; in milliseconds, at least 1. */
export function withMargin(timeoutMs: number, marginMs: number): number {
  return Math.max(1, timeoutMs - Math.min(marginMs, timeoutMs / 10));
}
