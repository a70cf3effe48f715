import type { DecisionRecord } from "./record.ts";
import type { ChainReport } from "./verify.ts";

/** Which records are wanted. */
export interface RecordFilter {
  readonly session?: string | undefined;
  readonly tool?: string | undefined;
  /** The decision's action, such as `deny_tool`. */
  readonly outcome?: string | undefined;
  /** Only those at or after this time, in milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
}

/** Options of {@link RecordStore.list}. */
export interface ListOptions extends RecordFilter {
  /** The most records, 1 to 500. */
  readonly maxRecords: number;
  /** Only those before this cursor, which is the `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of records, newest first. */
export interface RecordPage {
  /** Each as JSON text, as it is kept. */
  readonly records: readonly string[];
  /** The cursor of the next page; absent when there is none. */
  readonly next?: string;
}

/** Records that can be looked up. */
export interface RecordStore {
  list(options: ListOptions): Promise<RecordPage>;
  /** The record of an id, as JSON text. */
  get(id: string): Promise<string | undefined>;
}

/** The most records of a page. */
export const MAX_PAGE_RECORDS = 500;

/** Whether a record is one of those wanted. */
export function matchesFilter(record: DecisionRecord, { session, tool, outcome, sinceMs }: RecordFilter): boolean {
  if (session !== undefined && record.session !== session) return false;
  if (tool !== undefined && record.tool !== tool) return false;
  if (outcome !== undefined && record.action !== outcome) return false;
  return sinceMs === undefined || Date.parse(record.time) >= sinceMs;
}

/** Records as they are kept, for looking at them without a gateway. */
export interface KeptRecords {
  /** Where they are. */
  readonly path: string;
  /** Looks records up; absent where they can only be read through. */
  readonly store: RecordStore | undefined;
  /** Every record as one line of JSON, oldest first. */
  all(): AsyncIterable<string> | Iterable<string>;
  verify(): Promise<ChainReport>;
  close(): void;
}
