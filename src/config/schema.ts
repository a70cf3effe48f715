import * as z from "zod";
import { type MetricsConfig, metricsSchema, type RecordsConfig, recordsSchema } from "./records-schema.ts";
import { type GatewayConfig, gatewaySchema } from "./gateway-schema.ts";
import {
  enabledSchema,
  prioritySchema,
  type ProcessConfig,
  processSchema,
  respondRequiresApprovalSchema,
} from "./process-schema.ts";

/** What holds for every hook. Deadlines of one call are in milliseconds; 0, less or absent keeps the default. */
export interface HookDefaults {
  readonly observer_timeout_ms?: number | undefined;
  readonly interceptor_timeout_ms?: number | undefined;
  readonly approval_timeout_ms?: number | undefined;
  readonly respond_requires_approval?: boolean | undefined;
}

/** A hook that is part of hookgate. */
export interface BuiltinConfig {
  readonly enabled: boolean;
  readonly priority: number;
  readonly config?: unknown;
}

/** The `hooks` object of a config file. */
export interface HooksConfig {
  readonly enabled: boolean;
  readonly defaults: HookDefaults;
  readonly builtins: Readonly<Record<string, BuiltinConfig>>;
  readonly processes: Readonly<Record<string, ProcessConfig>>;
}

/** A config file, with every default filled in. */
export interface ConfigFile {
  readonly hooks: HooksConfig;
  readonly gateway: GatewayConfig;
  /** Absent: nothing is recorded. */
  readonly records?: RecordsConfig;
  readonly metrics: MetricsConfig;
}

const MAX_TIMEOUT_MS = 2_147_483_647;

function timeout(what: string, defaultMs: number): z.ZodExactOptional<z.ZodInt> {
  return z
    .int()
    .max(MAX_TIMEOUT_MS)
    .exactOptional()
    .describe(`Deadline of ${what}, in milliseconds. 0, less or absent: ${defaultMs}.`);
}

const builtinSchema = z
  .strictObject({
    enabled: enabledSchema,
    priority: prioritySchema,
    config: z.unknown().exactOptional().describe("The hook's own settings."),
  })
  .describe("A hook that is part of hookgate; the key is its name.");

const hooksSchema = z
  .strictObject({
    enabled: z.boolean().default(true).describe("false loads no hook at all."),
    defaults: z
      .strictObject({
        observer_timeout_ms: timeout("telling one observer of one event", 500),
        interceptor_timeout_ms: timeout("one interceptor", 5000),
        approval_timeout_ms: timeout("one approver", 60_000),
        respond_requires_approval: respondRequiresApprovalSchema,
      })
      .prefault({})
      .describe("What holds for every hook."),
    builtins: z.record(z.string(), builtinSchema).default({}).describe("Hooks that are part of hookgate."),
    processes: z.record(z.string(), processSchema).default({}).describe("Hooks that live elsewhere."),
  })
  .describe("The hooks, as in a PicoClaw config file.");

/** The schema of a config file. A whole PicoClaw config file fits it: what else is in it is not looked at. */
export const fileSchema: z.ZodType<ConfigFile> = z.looseObject({
  $schema: z.string().exactOptional().describe("Where this schema is, for editors."),
  hooks: hooksSchema,
  gateway: gatewaySchema,
  records: recordsSchema.exactOptional(),
  metrics: metricsSchema,
});

/** The JSON Schema (draft 7, which editors know best) of a config file. */
export function toConfigJsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(fileSchema, {
    target: "draft-7",
    io: "input",
    override({ jsonSchema }) {
      // Every integer of zod is bounded by what a double holds, which tells a reader nothing.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.default !== undefined && typeof jsonSchema.default === "object") delete jsonSchema.default;
    },
  });
  return { title: "hookgate config", ...schema };
}
