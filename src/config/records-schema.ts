import * as z from "zod";

/** The `records` object of a config file. */
export interface RecordsConfig {
  readonly enabled: boolean;
  /** What of payloads is recorded. */
  readonly record: {
    readonly payload: "hash" | "masked" | "full";
    /** Paths such as `arguments.password`. */
    readonly mask: readonly string[];
    readonly max_payload_bytes: number;
  };
  readonly max_waiting: number;
  readonly sqlite?: { readonly path: string; readonly max_age_days: number; readonly max_records: number };
  readonly file?: { readonly path: string; readonly max_bytes: number; readonly max_files: number };
  readonly http?: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly timeout_ms: number;
  };
  /** Whether each record is a line of JSON on the program's console. */
  readonly console?: boolean;
  /** The binding of a queue. */
  readonly queue?: string;
}

/** A kind of place that records can go to. */
export type RecordPlace = "sqlite" | "file" | "http" | "console" | "queue";

/** The `metrics` object of a config file. */
export interface MetricsConfig {
  readonly enabled: boolean;
}

/** Whether records are kept in a database, as they are where no other place is named. */
export function keepsDatabase({ sqlite, file, http }: RecordsConfig): boolean {
  return sqlite !== undefined || (file === undefined && http === undefined);
}

const sqliteSchema = z.strictObject({
  path: z
    .string()
    .min(1)
    .default("hookgate-records.db")
    .describe("The database file; a relative one is relative to this file."),
  max_age_days: z.number().min(0.001).max(3650).default(30).describe("Older records are deleted."),
  max_records: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .default(1_000_000)
    .describe("The oldest records beyond so many are deleted."),
});

const fileSchema = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe("Where lines of JSON are written; full files are the same name with .1, .2 and so on."),
  max_bytes: z.int().min(1024).default(67_108_864).describe("A file that would be longer is put aside."),
  max_files: z.int().min(1).max(1000).default(10).describe("How many files there may be; the oldest is deleted."),
});

const httpSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe("The collector, which is posted lines of JSON (application/x-ndjson)."),
  headers: z.record(z.string(), z.string()).default({}).describe("Sent with every batch; secrets as ${env:NAME}."),
  timeout_ms: z.int().min(1).max(600_000).default(10_000).describe("How long the collector may take for a batch."),
});

/** Where and how decisions are recorded. */
export const recordsSchema: z.ZodType<RecordsConfig> = z
  .strictObject({
    enabled: z.boolean().default(true).describe("false records nothing."),
    record: z
      .strictObject({
        payload: z
          .enum(["hash", "masked", "full"])
          .default("hash")
          .describe("What of payloads is kept: their SHA-256 alone, all but what `mask` names, or everything."),
        mask: z
          .array(z.string())
          .default([])
          .describe('What is not kept, such as "arguments.password", "messages[*].content" or "**.password".'),
        max_payload_bytes: z.int().min(1).max(16_777_216).default(16_384).describe("Longer payloads are not kept."),
      })
      .prefault({})
      .describe("What of each decision is kept."),
    max_waiting: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .describe("How many decisions may wait to be written; beyond them the oldest are dropped and counted."),
    sqlite: sqliteSchema
      .exactOptional()
      .describe(
        "A SQLite database, in which records can be looked up. The default on Node where no other place is named.",
      ),
    file: fileSchema.exactOptional().describe("Lines of JSON in files that rotate."),
    http: httpSchema.exactOptional().describe("A collector that is posted batches."),
    console: z.boolean().exactOptional().describe("true writes each record as a line of JSON to the console."),
    queue: z
      .string()
      .min(1)
      .exactOptional()
      .describe("On Cloudflare Workers: the binding of the queue that each record is sent to."),
  })
  .describe("Records of decisions. Without it nothing is recorded.");

/** Counts of what happens. */
export const metricsSchema: z.ZodPrefault<z.ZodType<MetricsConfig>> = z
  .strictObject({ enabled: z.boolean().default(true).describe("Whether there is /metrics, on Node.") })
  .describe("Counts of what happens, for Prometheus.")
  .prefault({});
