/**
 * Which of so many parts of a store a key belongs to: FNV-1a over all of it, since the beginning of an id may be the time.
 * How it is computed may not change while keys live, or they are looked for in the wrong part.
 * @param shardCount - A power of two.
 */
export function toShard(key: string, shardCount: number): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01_00_01_93);
  // The low bits of FNV alone would hang on the last characters.
  return ((hash >>> 16) ^ hash) & (shardCount - 1);
}
