/**
 * A UUID version 7: the time in milliseconds, then 74 random bits. Ids sort by time and do not repeat.
 * @param nowMs - Milliseconds since the epoch, 0 to 2^48 - 1.
 * @see {@link https://www.rfc-editor.org/rfc/rfc9562#section-5.7}
 */
export function createUuidV7(nowMs: number): string {
  if (nowMs !== prefixAtMs) {
    const time = Math.trunc(nowMs).toString(16).padStart(12, "0");
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
    prefixAtMs = nowMs;
  }
  // A version 4 id has its random bits where version 7 has them, and engines make it from a pool of random bytes.
  return prefix + crypto.randomUUID().slice(15);
}

/** How every id of one millisecond begins. */
let prefix = "";
let prefixAtMs = Number.NaN;
