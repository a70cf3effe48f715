import { toCanonicalJson } from "./canonical.ts";
import type { DecisionRecord, HashText } from "./record.ts";

/** Where a chain of records stands. */
export interface ChainState {
  /** Names the chain: a UUID. */
  readonly chain: string;
  /** The number of the last record; 0 when there is none. */
  readonly seq: number;
  /** The hash of the last record; 64 zeros when there is none. */
  readonly hash: string;
}

/** A record with its place in a chain. */
export interface SealedRecord extends DecisionRecord {
  readonly chain: string;
  /** Counts the chain's records from 1, without a gap. */
  readonly seq: number;
  /** How many decisions before this one were not recorded. */
  readonly lost?: number;
  /** The hash of the record before. */
  readonly prev: string;
}

/** A sealed record and the text that is kept of it. */
export interface Sealed {
  readonly record: SealedRecord;
  /** SHA-256, in hex, of the record's canonical JSON. */
  readonly hash: string;
  /** One line of JSON: the record and, as `hash`, its hash. */
  readonly text: string;
}

/** The hash before the first record. */
export const NO_HASH: string = "0".repeat(64);

/** A chain without a record. */
export function createChain(): ChainState {
  return { chain: crypto.randomUUID(), seq: 0, hash: NO_HASH };
}

/** Gives a record its place behind the last one of a chain. */
export async function sealRecord(
  record: DecisionRecord,
  { chain, seq, hash: prev }: ChainState,
  { hash, lost }: { readonly hash: HashText; readonly lost: number },
): Promise<Sealed> {
  const sealed: SealedRecord = { ...record, chain, seq: seq + 1, prev, ...(lost > 0 && { lost }) };
  const canonical = toCanonicalJson(sealed);
  const hashed = hash(canonical);
  const own = typeof hashed === "string" ? hashed : await hashed;
  return { record: sealed, hash: own, text: `${canonical.slice(0, -1)},"hash":"${own}"}` };
}

/** The chain's state behind a sealed record. */
export function behind({ record, hash }: Sealed): ChainState {
  return { chain: record.chain, seq: record.seq, hash };
}
