const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Random bytes are asked for so many at a time: the asking costs more than the bytes. */
const POOL_BYTES = 2048;
const RANDOM_BYTES = 10;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;
let atMs = 0;
let time = "";

/**
 * The 32 hex digits of a UUIDv7: what is kept by ids that grow is kept for half the price.
 * @see {@link https://www.rfc-editor.org/rfc/rfc9562#section-5.7}
 */
export function createTimeId(): string {
  const nowMs = Date.now();
  if (nowMs !== atMs) {
    atMs = nowMs;
    time = nowMs.toString(16).padStart(12, "0");
  }
  if (used + RANDOM_BYTES > POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let id = time;
  for (let index = 0; index < RANDOM_BYTES; index += 1) {
    const byte = pool[used + index] ?? 0;
    id += HEX[index === 0 ? 0x70 | (byte & 0x0f) : index === 2 ? 0x80 | (byte & 0x3f) : byte] ?? "";
  }
  used += RANDOM_BYTES;
  return id;
}

/** An id of 32 hex digits as a UUID is written. */
export function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
