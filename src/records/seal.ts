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

/** A record with its place, and the text that is hashed. */
interface Placed {
  readonly record: SealedRecord;
  readonly canonical: string;
}

function place(record: DecisionRecord, { chain, seq, hash: prev }: ChainState, lost: number): Placed {
  const sealed: SealedRecord = { ...record, chain, seq: seq + 1, prev, ...(lost > 0 && { lost }) };
  return { record: sealed, canonical: toCanonicalJson(sealed) };
}

function finish({ record, canonical }: Placed, hash: string): Sealed {
  return { record, hash, text: toSealedText(canonical, hash) };
}

/** The line of a record, of its canonical JSON and its hash. */
export function toSealedText(canonical: string, hash: string): string {
  return `${canonical.slice(0, -1)},"hash":"${hash}"}`;
}

/** Gives a record its place behind the last one of a chain. */
export async function sealRecord(
  record: DecisionRecord,
  state: ChainState,
  { hash, lost }: { readonly hash: HashText; readonly lost: number },
): Promise<Sealed> {
  const placed = place(record, state, lost);
  const hashed = hash(placed.canonical);
  return finish(placed, typeof hashed === "string" ? hashed : await hashed);
}

/** Does it at once, for chains that several requests add to: none may wait for another. */
export function sealRecordNow(
  record: DecisionRecord,
  state: ChainState,
  { hash, lost }: { readonly hash: (text: string) => string; readonly lost: number },
): Sealed {
  const placed = place(record, state, lost);
  return finish(placed, hash(placed.canonical));
}

/** The chain's state behind a sealed record. */
export function behind({ record, hash }: Sealed): ChainState {
  return { chain: record.chain, seq: record.seq, hash };
}
