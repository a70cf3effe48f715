import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { ListOptions, RecordPage, RecordSink, RecordStore } from "../../src/records/index.ts";
import { RecordDatabase, type Retention } from "./record-database.ts";

/** Options of {@link createSqliteSink}. */
export interface SqliteSinkOptions extends Retention {
  /** The database file; its directory is made when it is not there. */
  readonly path: string;
}

/** Keeps records in a SQLite database, where they can be looked up. */
export function createSqliteSink({ path, ...retention }: SqliteSinkOptions): RecordSink & RecordStore {
  let database: RecordDatabase | undefined;
  const opened = (): RecordDatabase => {
    if (database === undefined) {
      mkdirSync(dirname(path), { recursive: true });
      database = new RecordDatabase(path);
    }
    return database;
  };
  return {
    name: "sqlite",
    open: async () => opened().state("head"),
    write: async (batch) => opened().write(batch, retention),
    list: async (options: ListOptions): Promise<RecordPage> => opened().list(options),
    get: async (id: string): Promise<string | undefined> => opened().get(id),
    async close() {
      database?.close();
      database = undefined;
    },
  };
}
