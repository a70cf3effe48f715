import { resolve } from "node:path";
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { keepsDatabase, type RecordsConfig } from "../../src/config/index.ts";
import { type ChainReport, ChainVerifier, type KeptRecords } from "../../src/records/index.ts";
import type { Log } from "../../src/log.ts";
import { RecordDatabase } from "./record-database.ts";
import { readFileBounds, readRecordFiles } from "./record-file.ts";
import { createThreadRecorder, type ThreadRecording } from "./thread-recorder.ts";

/** Where the paths of a config are relative to, and who is told of trouble. */
export interface OpenRecordsOptions {
  readonly baseDir: string;
  readonly log?: Log | undefined;
}

const DAY_MS = 86_400_000;
const DEFAULT_DATABASE = { path: "hookgate-records.db", max_age_days: 30, max_records: 1_000_000 };

/** Records decisions as a config says; undefined when it says not to. */
export function openRecording(
  config: RecordsConfig | undefined,
  { baseDir, log }: OpenRecordsOptions,
): ThreadRecording | undefined {
  if (config?.enabled !== true) return undefined;
  const { record, file, http, max_waiting: maxWaiting } = config;
  const sqlite = databaseOf(config);
  return createThreadRecorder({
    payload: record.payload,
    masks: record.mask,
    maxPayloadBytes: record.max_payload_bytes,
    maxWaiting,
    sqlite: sqlite && {
      path: resolve(baseDir, sqlite.path),
      maxAgeMs: sqlite.max_age_days * DAY_MS,
      maxRecords: sqlite.max_records,
    },
    file: file && { path: resolve(baseDir, file.path), maxBytes: file.max_bytes, maxFiles: file.max_files },
    console: config.console,
    http: http && { url: http.url, headers: http.headers, timeoutMs: http.timeout_ms },
    log,
  });
}

function databaseOf(config: RecordsConfig): RecordsConfig["sqlite"] {
  return config.sqlite ?? (keepsDatabase(config) ? DEFAULT_DATABASE : undefined);
}

/** Opens the records a config keeps, or those in a file; undefined when there are none. */
export function openKeptRecords(
  config: RecordsConfig | undefined,
  { baseDir, file }: { readonly baseDir: string; readonly file?: string | undefined },
): KeptRecords | undefined {
  const sqlite = config && databaseOf(config);
  const named = file ?? (sqlite ?? config?.file)?.path;
  if (named === undefined) return undefined;
  const path = resolve(file === undefined ? baseDir : ".", named);
  if (!existsSync(path)) return undefined;
  const isLines = file === undefined ? sqlite === undefined : /\.(?:jsonl|ndjson|log)$/.test(file);
  return isLines ? openLines(path) : openDatabase(path);
}

const sha256 = (text: string): string => hash("sha256", text, "hex");

function openDatabase(path: string): KeptRecords {
  const database = new RecordDatabase(path, { isReadOnly: true });
  return {
    path,
    store: { list: async (options) => database.list(options), get: async (id) => database.get(id) },
    all: () => database.all(),
    verify: () => verifyAll(database.all(), new ChainVerifier(sha256, database.bounds())),
    close: () => database.close(),
  };
}

function openLines(path: string): KeptRecords {
  return {
    path,
    store: undefined,
    all: () => readRecordFiles(path),
    verify: async () => verifyAll(readRecordFiles(path), new ChainVerifier(sha256, await readFileBounds(path))),
    close() {},
  };
}

async function verifyAll(
  texts: AsyncIterable<string> | Iterable<string>,
  verifier: ChainVerifier,
): Promise<ChainReport> {
  for await (const text of texts) await verifier.add(text);
  return verifier.end();
}
