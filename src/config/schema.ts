import * as z from "zod";
import { MAX_DELAY_MS } from "../wait.ts";
import { type ApprovalsConfig, approvalsSchema } from "./approvals-schema.ts";
import { type YamlConfig, yamlSchema } from "./yaml-schema.ts";
import { type MetricsConfig, metricsSchema, type RecordsConfig, recordsSchema } from "./records-schema.ts";
import { type GatewayConfig, gatewaySchema } from "./gateway-schema.ts";
import { APPROVAL_BUDGET_MS, INTERCEPTOR_BUDGET_MS } from "../picoclaw/index.ts";
import {
  concurrencySchema,
  type FailureConfig,
  failureShape,
  type OperationConfig,
  operationShape,
} from "./operation-schema.ts";
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
  /** What the interceptors of one call may take together, in milliseconds. */
  readonly interceptor_budget_ms?: number | undefined;
  /** What the approvers of one call may take together, in milliseconds. */
  readonly approval_budget_ms?: number | undefined;
  /** What a no-verdict of an interceptor means where the hook does not say. */
  readonly interceptors?: FailureConfig | undefined;
  /** What a no-verdict of an approver means where the hook does not say. */
  readonly approvals?: FailureConfig | undefined;
}

/** A hook that is part of hookgate. */
export interface BuiltinConfig extends OperationConfig {
  readonly enabled: boolean;
  readonly priority: number;
  readonly config?: unknown;
  /** How many calls may be under way; no bound where it is absent. */
  readonly max_concurrency?: number;
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
  /** Absent: the hooks of `hooks.yaml` are not loaded. */
  readonly yaml?: YamlConfig;
  /** Absent: nothing is recorded. */
  readonly records?: RecordsConfig;
  readonly metrics: MetricsConfig;
  /** Absent: human approvals are kept where they are by default, once a hook asks for them. */
  readonly approvals?: ApprovalsConfig;
}

function timeout(what: string, defaultMs: number): z.ZodExactOptional<z.ZodInt> {
  return z
    .int()
    .max(MAX_DELAY_MS)
    .exactOptional()
    .describe(`Deadline of ${what}, in milliseconds. 0, less or absent: ${defaultMs}.`);
}

function budget(what: string, defaultMs: number): z.ZodExactOptional<z.ZodInt> {
  return z
    .int()
    .max(MAX_DELAY_MS)
    .exactOptional()
    .describe(
      `What ${what} of one call may take together, in milliseconds. 0, less or absent: ${defaultMs}, or the deadline of one where that is more.`,
    );
}

function failures(): z.ZodExactOptional<z.ZodType<FailureConfig>> {
  return z.strictObject(failureShape).exactOptional();
}

const builtinSchema = z
  .strictObject({
    enabled: enabledSchema,
    priority: prioritySchema,
    config: z.unknown().exactOptional().describe("The hook's own settings."),
    ...operationShape,
    max_concurrency: concurrencySchema("no bound"),
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
        interceptor_budget_ms: budget("the interceptors", INTERCEPTOR_BUDGET_MS),
        approval_budget_ms: budget("the approvers", APPROVAL_BUDGET_MS),
        interceptors: failures().describe("What a no-verdict of an interceptor means. Default: continue."),
        approvals: failures().describe(
          "What a no-verdict of an approver means. Default: deny. With continue a tool runs unapproved whenever its approver fails.",
        ),
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
  yaml: yamlSchema.exactOptional(),
  records: recordsSchema.exactOptional(),
  metrics: metricsSchema,
  approvals: approvalsSchema.exactOptional(),
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
  const { yaml, ...properties } = schema.properties ?? {};
  const description = "Whether, and how, the hooks of hooks.yaml are loaded. true takes every default.";
  const either = { description, anyOf: [{ type: "boolean" }, yaml] };
  return { title: "hookgate config", ...schema, properties: { ...properties, yaml: either } };
}
