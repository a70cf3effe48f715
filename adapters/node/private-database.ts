import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/**
 * Opens a SQLite file that only its owner may read, for several processes of one machine; it is made when it is not there.
 * @param isDurable - Whether a change is on the disk when it is done; otherwise the system writes it soon, which costs a
 * hundredth of it and outlives the process alone.
 * @throws what SQLite and the file system throw when the file cannot be opened
 */
export function openPrivately(path: string, isDurable: boolean): DatabaseSync {
  // SQLite would make it by the umask.
  if (path !== ":memory:") closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path);
  const synchronous = isDurable ? "FULL" : "NORMAL";
  database.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 3000;`);
  return database;
}

/** Runs work whose statements all take effect or none. */
export function transact<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
