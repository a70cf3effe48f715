import type { ObservedDecision } from "../../src/chain/index.ts";
import type { DecisionChunk } from "./decision-chunks.ts";
import type { DecisionRecord, ListOptions, PayloadMode, RecorderStatus, RecordPage } from "../../src/records/index.ts";

/** How records are kept on Node. */
export interface RecordSettings {
  readonly payload?: PayloadMode | undefined;
  /** Paths such as `arguments.password`. */
  readonly masks?: readonly string[] | undefined;
  readonly maxPayloadBytes?: number | undefined;
  readonly maxWaiting?: number | undefined;
  /** A SQLite database, in which records can be looked up. */
  readonly sqlite?:
    | {
        readonly path: string;
        readonly maxAgeMs?: number | undefined;
        readonly maxRecords?: number | undefined;
      }
    | undefined;
  /** Lines of JSON in files that rotate. */
  readonly file?:
    | { readonly path: string; readonly maxBytes?: number | undefined; readonly maxFiles?: number | undefined }
    | undefined;
  /** A collector that is posted lines of JSON. */
  readonly http?:
    | {
        readonly url: string;
        readonly headers?: Readonly<Record<string, string>> | undefined;
        readonly timeoutMs?: number | undefined;
      }
    | undefined;
  /** Lines of JSON on stdout. @default false */
  readonly console?: boolean | undefined;
}

/** What the thread of records is asked. */
export type Question =
  | { readonly type: "list"; readonly options: ListOptions }
  | { readonly type: "get"; readonly id: string }
  | { readonly type: "flush" }
  | { readonly type: "close" };

/** What is sent to the thread of records. */
export type ToThread =
  | { readonly type: "decisions"; readonly chunk: DecisionChunk; readonly lost: number }
  | { readonly type: "watch"; readonly isWatched: boolean }
  | { readonly type: "ask"; readonly number: number; readonly question: Question };

/** What the thread of records sends. */
export type FromThread =
  /** The memory of the decisions comes back, to be used again. */
  | { readonly type: "taken"; readonly status: RecorderStatus; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: "status"; readonly status: RecorderStatus }
  | { readonly type: "records"; readonly records: readonly DecisionRecord[] }
  | { readonly type: "answer"; readonly number: number; readonly answer: unknown; readonly error?: string }
  | {
      readonly type: "log";
      readonly level: "info" | "warn" | "error";
      readonly message: string;
      readonly fields: Readonly<Record<string, string | number | boolean | undefined>>;
    };

/** What the answer to a question is. */
export interface Answers {
  readonly list: RecordPage;
  readonly get: string | undefined;
  readonly flush: RecorderStatus;
  readonly close: RecorderStatus;
}

/**
 * A decision as text: a list, in which names cost nothing; and between two changes only what came of the first is written.
 */
export function encodeDecision(decision: ObservedDecision, generation: number): string {
  const { id, point, atMs, ms, traceId, caller, input, action, reason, records, changes } = decision;
  const after = changes.length === 0 ? 0 : changes.map((change) => [change.index, change.after]);
  return JSON.stringify([generation, id, point, atMs, ms, traceId, caller, input, action, reason, records, after]);
}

type EncodedDecision = readonly [
  generation: number,
  id: string,
  point: string,
  atMs: number,
  ms: number,
  traceId: string,
  caller: string | null,
  input: ObservedDecision["input"],
  action: string,
  reason: string,
  records: ObservedDecision["records"],
  changes: 0 | readonly (readonly [index: number, after: object])[],
];

/** Reads what {@link encodeDecision} wrote, a list of it. */
export function decodeDecisions(
  text: string,
): readonly { readonly generation: number; readonly decision: ObservedDecision }[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other thread of this program wrote it
  return (JSON.parse(text) as readonly EncodedDecision[]).map((encoded) => {
    const [generation, id, point, atMs, ms, traceId, caller, input, action, reason, records, after] = encoded;
    let before: object = input;
    const changes = (after === 0 ? [] : after).map(([index, next]) => {
      const change = { index, before, after: next };
      before = next;
      return change;
    });
    const rest = { id, point, atMs, ms, traceId, caller: caller ?? undefined, input, action, reason, records, changes };
    return { generation, decision: rest };
  });
}
