import { HookgateError } from "../errors.ts";
import type { ReplayStore } from "./replay.ts";

/** One part of a {@link createShardedReplayStore}. */
export interface ReplayPart {
  /** @returns undefined when `expiresAtMs` has passed by its clock */
  insert(key: string, expiresAtMs: number): Promise<boolean | undefined>;
}

const SHARD_COUNT = 16;

/**
 * Makes a replay store of 16 parts.
 * @param partAt - The part of a number, 0 to 15.
 */
export function createShardedReplayStore(partAt: (shard: number) => ReplayPart): ReplayStore {
  return {
    async insert(key, expiresAtMs) {
      const isNew = await partAt(toShard(key, SHARD_COUNT)).insert(key, expiresAtMs);
      if (isNew === undefined) throw new HookgateError("ERR_OVERLOADED", "the replay store's clock is past the expiry");
      return isNew;
    },
  };
}

/**
 * Which of so many parts of a store a key belongs to: FNV-1a over all of it, since the beginning of an id may be the time.
 * How it is computed may not change while keys live, or they are looked for in the wrong part.
 * @param shardCount - A power of two.
 */
function toShard(key: string, shardCount: number): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01_00_01_93);
  // The low bits of FNV alone would hang on the last characters.
  return ((hash >>> 16) ^ hash) & (shardCount - 1);
}
