import * as z from "zod";

/** A step of a JSON Patch, as pages show it. */
interface StepView {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** One hook of a record, as pages show it. */
export interface EntryView {
  readonly hook: string;
  readonly source: string;
  readonly outcome: string;
  readonly kind?: string | undefined;
  readonly error?: string | undefined;
  readonly ms: number;
  readonly attempt: number;
  readonly failed_open?: boolean | undefined;
  readonly cached?: boolean | undefined;
  readonly would?: string | undefined;
  readonly changes?: readonly StepView[] | undefined;
  readonly changes_truncated?: boolean | undefined;
}

/** A record, as pages show it. */
export interface RecordView {
  readonly id: string;
  readonly time: string;
  readonly trace_id: string;
  readonly generation: number;
  readonly caller?: string | undefined;
  readonly meta?: unknown;
  readonly session?: string | undefined;
  readonly point: string;
  readonly tool?: string | undefined;
  readonly tool_call_id?: string | undefined;
  readonly input_sha256: string;
  readonly input?: unknown;
  readonly input_truncated?: boolean | undefined;
  readonly action: string;
  readonly reason: string;
  readonly ms: number;
  readonly hooks: readonly EntryView[];
  readonly hooks_truncated?: boolean | undefined;
  /** Its place in its chain. */
  readonly seq?: number | undefined;
  /** How many decisions before it were not recorded. */
  readonly lost?: number | undefined;
}

const entrySchema: z.ZodType<EntryView> = z.object({
  hook: z.string(),
  source: z.string(),
  outcome: z.string(),
  kind: z.string().optional(),
  error: z.string().optional(),
  ms: z.number(),
  attempt: z.number(),
  failed_open: z.boolean().optional(),
  cached: z.boolean().optional(),
  would: z.string().optional(),
  changes: z.array(z.object({ op: z.string(), path: z.string(), value: z.unknown().optional() })).optional(),
  changes_truncated: z.boolean().optional(),
});

const recordSchema: z.ZodType<RecordView> = z.object({
  id: z.string(),
  time: z.string(),
  trace_id: z.string(),
  generation: z.number(),
  caller: z.string().optional(),
  meta: z.unknown().optional(),
  session: z.string().optional(),
  point: z.string(),
  tool: z.string().optional(),
  tool_call_id: z.string().optional(),
  input_sha256: z.string(),
  input: z.unknown().optional(),
  input_truncated: z.boolean().optional(),
  action: z.string(),
  reason: z.string(),
  ms: z.number(),
  hooks: z.array(entrySchema),
  hooks_truncated: z.boolean().optional(),
  seq: z.number().optional(),
  lost: z.number().optional(),
});

/**
 * Reads a record as it is kept. It may be of another version, or not be what was written: what cannot be read is undefined.
 */
export function parseRecord(text: string): RecordView | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
