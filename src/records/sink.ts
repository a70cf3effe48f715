import type { ChainState, Sealed } from "./seal.ts";

/** Where records are kept. */
export interface RecordSink {
  /** What it is called in messages, such as `sqlite`. */
  readonly name: string;
  /** A longer record is lost, in bytes of its line. @default no bound */
  readonly maxRecordBytes?: number | undefined;
  /** Where its chain stands; undefined when it has none yet. */
  open(): Promise<ChainState | undefined>;
  /**
   * Keeps a batch. It is given the next one only when this one is done; when it rejects, the records are offered again
   * later, for as long as there is room for them.
   */
  write(batch: readonly Sealed[]): Promise<void>;
  close(): Promise<void>;
}

/** Makes a sink of a function that takes one line of JSON a record, such as a console. */
export function createLineSink(name: string, write: (line: string) => void): RecordSink {
  return {
    name,
    open: () => Promise.resolve(undefined),
    write(batch) {
      for (const { text } of batch) write(text);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}
